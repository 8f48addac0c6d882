//! Objects in files, as the cluster would take them.

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

/// The document that such objects are said to be in.
const ASSUMED: &str = "k8s/assumed.yaml";

impl Stored {
    /// Whether it is in no file and only assumed.
    pub fn is_assumed(&self) -> bool {
        self.doc.as_str() == ASSUMED
    }
}

impl Mesh {
    /// Reads all objects as the cluster would take them: what names no namespace is in `default`, and the default
    /// ingress gateway is assumed. `config` is the text of a `MeshConfig` that counts instead of the ConfigMap's.
    pub fn of_files(snapshot: &Snapshot, config: Option<&str>) -> Self {
        let mut objects = Objects::default();
        let problems = object::each_with_id(snapshot, |doc, object| objects.add(doc, object));
        objects.each_mut(put_into_namespace);
        objects.sort();
        if objects.get("Service", "istio-system", "istio-ingressgateway").is_none() {
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
