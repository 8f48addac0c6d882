//! Objects in files, as the cluster would take them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::objects::ASSUMED;
use super::{Mesh, MeshConfig, MeshNetworks, Object, Objects};
use meshladder_capture::Kind;
use meshladder_capture::object;
use meshladder_capture::snapshot::{DocId, Snapshot};
use meshladder_text::text::Text;
use meshladder_text::tree::{Member, Node, Value, edit};
use meshladder_text::yaml;

/// Kinds that are in no namespace, beside those of the table.
const CLUSTER_SCOPED: [&str; 5] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "IngressClass",
    "PersistentVolume",
    "StorageClass",
];

/// What a mesh has unless its files say otherwise. It is in no file, so it is never evidence.
const INGRESS_GATEWAY: &str = "apiVersion: v1
kind: Pod
metadata: {name: istio-ingressgateway-assumed, namespace: istio-system, labels: {istio: ingressgateway}}
spec: {containers: [{name: istio-proxy, image: proxyv2, args: [proxy, router]}]}
status: {phase: Running}
---
apiVersion: v1
kind: Service
metadata: {name: istio-ingressgateway, namespace: istio-system}
spec:
  selector: {istio: ingressgateway}
  ports: [{port: 80, name: http2}, {port: 443, name: https}, {port: 31400, name: tcp}, {port: 15443, name: tls}]
";

/// What counts beside the sources that are judged.
#[derive(Clone, Debug, Default)]
pub struct MeshOverrides<'a> {
    /// The text of a `MeshConfig` that counts instead of the ConfigMap's.
    pub mesh_config: Option<&'a str>,
    /// The text of `MeshNetworks` that count instead of the ConfigMap's.
    pub mesh_networks: Option<&'a str>,
    /// The revision that is judged: Istio's objects with the label of another one are not its own.
    pub revision: Option<&'a str>,
    /// Sources that hold the objects of other clusters, each with the cluster's name.
    pub clusters: BTreeMap<String, String>,
}

impl Mesh {
    /// Reads all objects as the cluster would take them: what names no namespace in files is in
    /// `default`, and an object in files replaces the cluster's. With nothing but files workloads
    /// have the pods they would make, and the default ingress gateway is assumed.
    pub fn of_files(snapshot: &Snapshot, beside: &MeshOverrides<'_>) -> Self {
        Self::of_files_on(1, snapshot, beside)
    }

    /// As `of_files`, on several threads.
    pub fn of_files_on(threads: usize, snapshot: &Snapshot, beside: &MeshOverrides<'_>) -> Self {
        let mut objects = Objects::default();
        let mut clusters: BTreeMap<String, Objects> = BTreeMap::new();
        let problems = object::take_all(snapshot, threads, |doc, taken| {
            match beside.clusters.get(doc.split().0) {
                _ if beside
                    .revision
                    .is_some_and(|revision| is_of_another(&taken.node, revision)) => {}
                Some(cluster) => clusters
                    .entry(cluster.clone())
                    .or_default()
                    .take(doc, taken),
                None => objects.take(doc, taken),
            }
        });
        let is_file = |object: &Object| snapshot.is_files_in(object.doc.split().0);
        objects.each_mut(|object| {
            if is_file(object) {
                put_into_namespace(object);
            }
        });
        objects.sort();
        let mut judged = snapshot
            .sources()
            .filter(|(source, _)| !beside.clusters.contains_key(*source));
        if judged.all(|(source, _)| snapshot.is_files_in(source)) {
            assume(&mut objects);
        } else {
            objects.replace(is_file);
        }
        for cluster in clusters.values_mut() {
            cluster.each_mut(put_into_namespace);
            cluster.sort();
        }
        let mut mesh = Self {
            clusters: Arc::new(clusters),
            ..Self::of(objects, problems, snapshot)
        };
        let first = |text: &str| yaml::load(text).documents.into_iter().next();
        if let Some(config) = beside.mesh_config.and_then(first) {
            mesh.config = MeshConfig {
                networks: mesh.config.networks,
                ..MeshConfig::read(&config)
            };
        }
        if let Some(tree) = beside.mesh_networks.and_then(first) {
            mesh.config.networks = Some(MeshNetworks { tree, of: None });
        }
        mesh
    }
}

/// "only Istio CRs carrying that istio.io/rev (or none)"
fn is_of_another(object: &Node, revision: &str) -> bool {
    let label = object
        .at(["metadata", "labels", "istio.io/rev"])
        .and_then(Node::str);
    let group = object
        .str_at("apiVersion")
        .and_then(|version| version.split_once('/'))
        .map(|(group, _)| group);
    group.is_some_and(|group| group.ends_with(".istio.io"))
        && label.is_some_and(|label| label != revision)
}

fn assume(objects: &mut Objects) {
    let doc = DocId::new(ASSUMED);
    let with_pods: BTreeSet<Text> = objects
        .of_kind(Kind::Pod)
        .iter()
        .map(|pod| pod.id.namespace.clone())
        .collect();
    let workloads = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet]
        .into_iter()
        .flat_map(|kind| objects.of_kind(kind));
    let workloads = workloads.filter(|workload| !with_pods.contains(&workload.id.namespace));
    let pods: Vec<Node> = workloads.filter_map(pod_of).collect();
    for pod in &pods {
        object::each_under(pod, &mut |object| objects.add(&doc, object));
    }
    if objects
        .get(Kind::Service, "istio-system", "istio-ingressgateway")
        .is_none()
    {
        for node in &yaml::load(INGRESS_GATEWAY).documents {
            object::each_under(node, &mut |object| objects.add(&doc, object));
        }
    }
}

/// A pod as the workload's template makes it, with the workload's name.
fn pod_of(workload: &Object) -> Option<Node> {
    let template = workload.spec_at(["template"])?;
    let span = template.span;
    let member = |key: &str, value: Value| {
        let value = Node { value, span };
        Member {
            key: key.into(),
            key_span: span,
            value,
        }
    };
    let text = |text: &str| Value::String(text.into());
    let mut metadata = vec![
        member("name", text(&workload.id.name)),
        member("namespace", text(&workload.id.namespace)),
    ];
    let own = template
        .get("metadata")
        .map_or(&[][..], Node::members)
        .iter();
    metadata.extend(
        own.filter(|field| ["labels", "annotations"].contains(&&*field.key))
            .cloned(),
    );
    let spec = template
        .get("spec")
        .map_or(Value::Object(Box::default()), |spec| spec.value.clone());
    let members = [
        member("apiVersion", text("v1")),
        member("kind", text("Pod")),
        member("metadata", Value::Object(metadata.into())),
        member("spec", spec),
        member(
            "status",
            Value::Object([member("phase", text("Running"))].into()),
        ),
    ];
    Some(Node {
        value: Value::Object(members.into()),
        span,
    })
}

fn put_into_namespace(object: &mut Object) {
    let is_wide = match object.kind() {
        Some(kind) => !kind.is_namespaced(),
        None => CLUSTER_SCOPED.contains(&object.id.kind.as_str()),
    };
    if is_wide {
        object.id.namespace = Text::default();
    } else if object.id.namespace.is_empty() {
        object.id.namespace = "default".into();
        let Value::Object(members) = &mut object.node.value else {
            return;
        };
        let Some(metadata) = members.iter_mut().find(|member| &*member.key == "metadata") else {
            return;
        };
        let Value::Object(fields) = &mut metadata.value.value else {
            return;
        };
        let value = Node {
            value: Value::String("default".into()),
            span: metadata.value.span,
        };
        let member = Member {
            key: "namespace".into(),
            key_span: value.span,
            value,
        };
        edit(fields, |fields| {
            fields.retain(|member| &*member.key != "namespace");
            fields.push(member);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshladder_capture::snapshot::{Builder, Meta};

    fn files(yaml: &str) -> Mesh {
        let mut builder = Builder::new();
        builder.add(DocId::new("k8s/a.yaml"), "a.yaml", yaml.into());
        Mesh::of_files(&builder.finish(), &MeshOverrides::default())
    }

    const DEPLOYMENT: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: cart}
spec: {template: {metadata: {labels: {app: cart}}, spec: {containers: [{name: app}]}}}
";

    #[test]
    fn a_workload_in_files_has_the_pod_it_would_make_unless_pods_are_listed_too() {
        let mesh = files(DEPLOYMENT);
        let pod = mesh
            .objects
            .get(Kind::Pod, "default", "cart")
            .expect("it is assumed");
        assert!(
            pod.is_assumed()
                && pod.label("app") == Some("cart")
                && pod.spec_list("containers").len() == 1
        );
        let listed = files(&format!(
            "{DEPLOYMENT}---\nkind: Pod\nmetadata: {{name: cart-1}}\n"
        ));
        let names: Vec<_> = listed
            .objects
            .in_namespace(Kind::Pod, "default")
            .map(|pod| pod.id.name.as_str())
            .collect();
        assert_eq!(names, ["cart-1"]);
    }

    #[test]
    fn the_objects_of_another_cluster_are_kept_apart() {
        let mut builder = Builder::new();
        for (source, name) in [("1", "here"), ("2", "there")] {
            let yaml = format!("kind: Service\napiVersion: v1\nmetadata: {{name: {name}}}\n");
            builder.add(
                DocId::new("k8s/a.yaml").in_source(source),
                "a.yaml",
                yaml.into_bytes(),
            );
        }
        let clusters = BTreeMap::from([("2".to_owned(), "west".to_owned())]);
        let mesh = Mesh::of_files(
            &builder.finish(),
            &MeshOverrides {
                clusters,
                ..MeshOverrides::default()
            },
        );
        assert!(
            mesh.service("default", "here").is_some() && mesh.service("default", "there").is_none()
        );
        assert!(
            mesh.clusters["west"]
                .get(Kind::Service, "default", "there")
                .is_some()
        );
    }

    #[test]
    fn an_object_in_files_replaces_the_clusters() {
        let mut builder = Builder::new();
        builder.source(
            "1",
            Meta {
                form: "files",
                ..Meta::default()
            },
        );
        builder.source(
            "2",
            Meta {
                form: "bundle",
                ..Meta::default()
            },
        );
        let object = |name: &str, host: &str| {
            format!(
                "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {{name: {name}, namespace: default}}\nspec: {{host: {host}}}\n"
            )
        };
        let file = object("a", "new").replace(", namespace: default", "");
        builder.add(DocId::new("1/k8s/a.yaml"), "a.yaml", file.into());
        let cluster = object("a", "old") + "---\n" + &object("b", "old");
        builder.add(DocId::new("2/k8s/all.yaml"), "all.yaml", cluster.into());
        let mesh = Mesh::of_files(&builder.finish(), &MeshOverrides::default());
        let rules = mesh.objects.of_kind(Kind::DestinationRule).iter();
        let hosts: Vec<_> = rules
            .map(|rule| {
                (
                    rule.id.name.as_str(),
                    rule.spec_at(["host"]).and_then(Node::str),
                )
            })
            .collect();
        assert_eq!(hosts, [("a", Some("new")), ("b", Some("old"))]);
        assert!(
            mesh.objects
                .get(Kind::Service, "istio-system", "istio-ingressgateway")
                .is_none(),
            "nothing is assumed"
        );
    }
}
