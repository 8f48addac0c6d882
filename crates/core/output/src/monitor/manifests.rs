//! What installs the exporter, the rules and the dashboard in a cluster.

use std::collections::BTreeMap;

use super::{dashboard, rules as prometheus_rules};
use crate::yaml;
use meshladder_text::tree::Value;
use serde::Serialize;

/// What differs from one installation to the next.
#[derive(Clone, Debug)]
pub struct InstallOptions {
    /// The namespace of everything that has one.
    pub namespace: String,
    /// The image that holds meshladder.
    pub image: String,
    /// Istio's own namespace.
    pub istio_namespace: String,
    /// The rights that the exporter needs.
    pub rights: Vec<InstallRight>,
    /// For the rules.
    pub rules: prometheus_rules::RuleOptions,
}

/// A right: these verbs on this resource.
#[derive(Clone, Debug)]
pub struct InstallRight {
    /// Empty for the core group.
    pub group: String,
    /// Such as `pods/portforward`.
    pub resource: String,
    /// Such as `list`.
    pub verbs: Vec<String>,
    /// Only in Istio's own namespace.
    pub in_istio: bool,
}

pub(super) const NAME: &str = "meshladder";
const PORT: u16 = 15099;

/// All objects, one document each.
pub fn to_yaml(options: &InstallOptions) -> String {
    let namespace = options.namespace.as_str();
    let istio = options.istio_namespace.as_str();
    let documents = [
        manifest(
            "v1",
            "ServiceAccount",
            Some(namespace),
            Value::object(NOTHING),
        ),
        role(options, None),
        binding(namespace, None),
        role(options, Some(istio)),
        binding(namespace, Some(istio)),
        deployment(options),
        service(namespace),
        service_monitor(namespace),
        prometheus_rules::to_operator(&options.rules, namespace),
        dashboard_map(namespace),
    ];
    documents.join("---\n")
}

const NOTHING: [(&str, Value); 0] = [];

/// An object of Kubernetes; `rest` is all that stands beside its metadata.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct KubernetesObject<'a, T> {
    pub(super) api_version: &'static str,
    pub(super) kind: &'static str,
    pub(super) metadata: ObjectMetadata<'a>,
    #[serde(flatten)]
    pub(super) rest: T,
}

#[derive(Serialize)]
pub(super) struct ObjectMetadata<'a> {
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<&'a str>,
    labels: BTreeMap<&'static str, &'static str>,
}

impl<'a> ObjectMetadata<'a> {
    /// Name, namespace and the labels that Kubernetes recommends.
    pub(super) fn new(namespace: Option<&'a str>) -> Self {
        Self {
            name: NAME,
            namespace,
            labels: BTreeMap::from([(NAME_LABEL, NAME), ("app.kubernetes.io/part-of", NAME)]),
        }
    }
}

fn manifest(
    api_version: &'static str,
    kind: &'static str,
    namespace: Option<&str>,
    rest: Value,
) -> String {
    yaml::of(&KubernetesObject {
        api_version,
        kind,
        metadata: ObjectMetadata::new(namespace),
        rest,
    })
}

/// The label by which the exporter's pods are found.
const NAME_LABEL: &str = "app.kubernetes.io/name";

/// The rights in the whole cluster, or those in Istio's namespace.
fn role(options: &InstallOptions, istio: Option<&str>) -> String {
    let mut grouped: BTreeMap<(&str, &[String]), Vec<&str>> = BTreeMap::new();
    for right in options
        .rights
        .iter()
        .filter(|right| right.in_istio == istio.is_some())
    {
        grouped
            .entry((&right.group, &right.verbs))
            .or_default()
            .push(&right.resource);
    }
    let mut rules = Vec::new();
    for ((group, verbs), resources) in grouped {
        rules.push(Value::object([
            ("apiGroups", Value::list([group])),
            ("resources", resources.into()),
            ("verbs", Value::list(verbs)),
        ]));
    }
    let kind = if istio.is_some() {
        "Role"
    } else {
        "ClusterRole"
    };
    manifest(
        "rbac.authorization.k8s.io/v1",
        kind,
        istio,
        Value::object([("rules", rules)]),
    )
}

fn binding(namespace: &str, istio: Option<&str>) -> String {
    let (kind, of) = if istio.is_some() {
        ("RoleBinding", "Role")
    } else {
        ("ClusterRoleBinding", "ClusterRole")
    };
    let role = Value::object([
        ("apiGroup", "rbac.authorization.k8s.io"),
        ("kind", of),
        ("name", NAME),
    ]);
    let subject = Value::object([
        ("kind", "ServiceAccount"),
        ("name", NAME),
        ("namespace", namespace),
    ]);
    let spec = Value::object([("roleRef", role), ("subjects", Value::list([subject]))]);
    manifest("rbac.authorization.k8s.io/v1", kind, istio, spec)
}

fn deployment(options: &InstallOptions) -> String {
    let pod = Value::object([
        ("serviceAccountName", Value::from(NAME)),
        ("securityContext", pod_security()),
        // It holds nothing that needs a goodbye.
        ("terminationGracePeriodSeconds", Value::from(1_u32)),
        ("containers", Value::list([container(options)])),
        (
            "volumes",
            Value::list([Value::object([
                ("name", Value::from("tmp")),
                ("emptyDir", Value::nested(["sizeLimit"], "4Gi")),
            ])]),
        ),
    ]);
    let template_labels = Value::object([
        (NAME_LABEL, NAME),
        ("app.kubernetes.io/part-of", NAME),
        // It watches the mesh, and must answer while the mesh does not.
        ("sidecar.istio.io/inject", "false"),
    ]);
    let template = Value::object([
        ("metadata", Value::object([("labels", template_labels)])),
        ("spec", pod),
    ]);
    let spec = Value::object([
        ("replicas", Value::from(1_u32)),
        ("strategy", Value::object([("type", "Recreate")])),
        ("selector", Value::nested(["matchLabels", NAME_LABEL], NAME)),
        ("template", template),
    ]);
    manifest(
        "apps/v1",
        "Deployment",
        Some(&options.namespace),
        Value::object([("spec", spec)]),
    )
}

fn pod_security() -> Value {
    Value::object([
        ("runAsNonRoot", Value::Bool(true)),
        ("runAsUser", Value::from(65532_u32)),
        ("runAsGroup", Value::from(65532_u32)),
        ("fsGroup", Value::from(65532_u32)),
        (
            "seccompProfile",
            Value::object([("type", "RuntimeDefault")]),
        ),
    ])
}

fn container(options: &InstallOptions) -> Value {
    let (listen, istio) = (format!("0.0.0.0:{PORT}"), options.istio_namespace.as_str());
    let args = [
        "monitor",
        "serve",
        "--listen",
        &listen,
        "--every",
        "60s",
        "--istio-namespace",
        istio,
    ];
    let security = Value::object([
        ("allowPrivilegeEscalation", Value::Bool(false)),
        ("readOnlyRootFilesystem", Value::Bool(true)),
        (
            "capabilities",
            Value::object([("drop", Value::list(["ALL"]))]),
        ),
    ]);
    let probe = Value::object([
        (
            "httpGet",
            Value::object([
                ("path", Value::from("/healthz")),
                ("port", Value::from("metrics")),
            ]),
        ),
        ("periodSeconds", Value::from(10_u32)),
    ]);
    let resources = Value::object([
        (
            "requests",
            Value::object([("cpu", "100m"), ("memory", "256Mi")]),
        ),
        ("limits", Value::object([("memory", "1Gi")])),
    ]);
    Value::object([
        ("name", Value::from(NAME)),
        ("image", Value::from(&options.image)),
        ("args", Value::list(args)),
        (
            "ports",
            Value::list([Value::object([
                ("name", Value::from("metrics")),
                ("containerPort", Value::from(PORT)),
            ])]),
        ),
        ("readinessProbe", probe),
        (
            "livenessProbe",
            Value::object([
                ("tcpSocket", Value::nested(["port"], "metrics")),
                ("periodSeconds", Value::from(30_u32)),
            ]),
        ),
        ("resources", resources),
        ("securityContext", security),
        (
            "volumeMounts",
            Value::list([Value::object([("name", "tmp"), ("mountPath", "/tmp")])]),
        ),
    ])
}

fn service(namespace: &str) -> String {
    let port = Value::object([
        ("name", Value::from("metrics")),
        ("port", Value::from(PORT)),
        ("targetPort", Value::from("metrics")),
    ]);
    let spec = Value::object([
        ("selector", Value::object([(NAME_LABEL, NAME)])),
        ("ports", Value::list([port])),
    ]);
    manifest(
        "v1",
        "Service",
        Some(namespace),
        Value::object([("spec", spec)]),
    )
}

fn service_monitor(namespace: &str) -> String {
    // The labels `namespace` and `pod` are the proxy's, not the exporter's.
    let endpoint = Value::object([
        ("port", Value::from("metrics")),
        ("path", Value::from("/metrics")),
        ("interval", Value::from("60s")),
        ("honorLabels", Value::Bool(true)),
    ]);
    let spec = Value::object([
        ("selector", Value::nested(["matchLabels", NAME_LABEL], NAME)),
        ("endpoints", Value::list([endpoint])),
    ]);
    manifest(
        "monitoring.coreos.com/v1",
        "ServiceMonitor",
        Some(namespace),
        Value::object([("spec", spec)]),
    )
}

/// Grafana's sidecar takes dashboards from ConfigMaps with this label.
fn dashboard_map(namespace: &str) -> String {
    let mut metadata = ObjectMetadata::new(Some(namespace));
    metadata.name = "meshladder-dashboard";
    metadata.labels.insert("grafana_dashboard", "1");
    yaml::of(&KubernetesObject {
        api_version: "v1",
        kind: "ConfigMap",
        metadata,
        rest: Value::nested(["data", "meshladder.json"], dashboard::to_json()),
    })
}
