//! Objects in files, as the cluster would take them.

use super::objects::ASSUMED;
use super::{Mesh, MeshConfig, Objects, Stored};
use crate::doc::tree::{Member, Node, Value};
use crate::doc::yaml;
use crate::model::object;
use crate::snapshot::{DocId, Snapshot};

/// Kinds that are in no namespace.
const CLUSTER_SCOPED: [&str; 11] = [
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "GatewayClass",
    "IngressClass",
    "MutatingWebhookConfiguration",
    "Namespace",
    "Node",
    "PersistentVolume",
    "StorageClass",
    "ValidatingWebhookConfiguration",
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

impl Mesh {
    /// Reads all objects as the cluster would take them: what names no namespace in files is in `default`, and an object
    /// in files replaces the cluster's. With nothing but files the default ingress gateway is assumed. `config` is the
    /// text of a `MeshConfig` that counts instead of the ConfigMap's.
    pub fn of_files(snapshot: &Snapshot, config: Option<&str>) -> Self {
        Self::of_files_on(1, snapshot, config)
    }

    /// The same on several threads.
    pub fn of_files_on(threads: usize, snapshot: &Snapshot, config: Option<&str>) -> Self {
        let mut objects = Objects::default();
        let problems = object::take_all(snapshot, threads, |doc, taken| objects.take(doc, taken));
        let is_file = |object: &Stored| snapshot.is_files_in(object.doc.split().0);
        objects.each_mut(|object| {
            if is_file(object) {
                put_into_namespace(object);
            }
        });
        objects.sort();
        if !snapshot.is_files() {
            objects.replace(is_file);
        } else if objects.get("Service", "istio-system", "istio-ingressgateway").is_none() {
            let assumed = DocId::new(ASSUMED);
            for node in &yaml::load(INGRESS_GATEWAY).documents {
                object::each_under(node, &mut |object| objects.add(&assumed, object));
            }
        }
        let mut mesh = Self::of(objects, problems, snapshot);
        if let Some(config) = config.and_then(|text| yaml::load(text).documents.into_iter().next()) {
            mesh.config = MeshConfig::read(&config);
        }
        mesh
    }
}

fn put_into_namespace(object: &mut Stored) {
    if CLUSTER_SCOPED.contains(&object.id.kind.as_str()) {
        object.id.namespace.clear();
    } else if object.id.namespace.is_empty() {
        "default".clone_into(&mut object.id.namespace);
        let Value::Object(members) = &mut object.node.value else { return };
        let Some(metadata) = members.iter_mut().find(|member| &*member.key == "metadata") else { return };
        let Value::Object(fields) = &mut metadata.value.value else { return };
        fields.retain(|member| &*member.key != "namespace");
        let value = Node { value: Value::String("default".into()), span: metadata.value.span.clone() };
        fields.push(Member { key: "namespace".into(), key_span: value.span.clone(), value });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{Builder, Meta};

    #[test]
    fn an_object_in_files_replaces_the_clusters() {
        let mut builder = Builder::new();
        builder.source("1", Meta { form: "files", ..Meta::default() });
        builder.source("2", Meta { form: "bundle", ..Meta::default() });
        let object = |name: &str, host: &str| {
            format!(
                "apiVersion: networking.istio.io/v1\nkind: DestinationRule\nmetadata: {{name: {name}, namespace: default}}\nspec: {{host: {host}}}\n"
            )
        };
        let file = object("a", "new").replace(", namespace: default", "");
        builder.add(DocId::new("1/k8s/a.yaml"), "a.yaml", file.into());
        let cluster = object("a", "old") + "---\n" + &object("b", "old");
        builder.add(DocId::new("2/k8s/all.yaml"), "all.yaml", cluster.into());
        let mesh = Mesh::of_files(&builder.finish(), None);
        let rules = mesh.objects.of_kind("DestinationRule").iter();
        let hosts: Vec<_> =
            rules.map(|rule| (rule.id.name.as_str(), rule.spec_at(["host"]).and_then(Node::str))).collect();
        assert_eq!(hosts, [("a", Some("new")), ("b", Some("old"))]);
        assert!(mesh.objects.get("Service", "istio-system", "istio-ingressgateway").is_none(), "nothing is assumed");
    }
}
