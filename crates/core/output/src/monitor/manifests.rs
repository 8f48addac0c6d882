//! What installs the exporter, the rules and the dashboard in a cluster.

use std::collections::BTreeMap;

use super::value::{list, number, object, text, texts, truth, words};
use super::{dashboard, rules as prometheus_rules};
use crate::yaml;
use meshladder_text::tree::Node;

/// What differs from one installation to the next.
#[derive(Clone, Debug)]
pub struct Options {
    /// The namespace of everything that has one.
    pub namespace: String,
    /// The image that holds meshladder.
    pub image: String,
    /// Istio's own namespace.
    pub istio_namespace: String,
    /// The rights that the exporter needs.
    pub rights: Vec<Right>,
    /// For the rules.
    pub rules: prometheus_rules::Options,
}

/// A right: these verbs on this resource.
#[derive(Clone, Debug)]
pub struct Right {
    /// Empty for the core group.
    pub group: String,
    /// Such as `pods/portforward`.
    pub resource: String,
    /// Such as `list`.
    pub verbs: Vec<String>,
    /// Only in Istio's own namespace.
    pub in_istio: bool,
}

const NAME: &str = "meshladder";
const PORT: usize = 15099;

/// All objects, one document each.
pub fn to_yaml(options: &Options) -> String {
    let namespace = options.namespace.as_str();
    let istio = options.istio_namespace.as_str();
    let objects = [
        object([
            ("apiVersion", text("v1")),
            ("kind", text("ServiceAccount")),
            ("metadata", metadata(NAME, Some(namespace))),
        ]),
        role(options, None),
        binding(namespace, None),
        role(options, Some(istio)),
        binding(namespace, Some(istio)),
        deployment(options),
        service(namespace),
        service_monitor(namespace),
        prometheus_rules::prometheus_rule(&options.rules, namespace),
        dashboard_map(namespace),
    ];
    objects.map(|object| yaml::text(&object)).join("---\n")
}

/// Name, namespace and the labels that Kubernetes recommends.
pub(super) fn metadata(name: &str, namespace: Option<&str>) -> Node {
    let mut members = vec![("name", text(name)), ("labels", labels())];
    members.extend(namespace.map(|namespace| ("namespace", text(namespace))));
    object(members)
}

fn labels() -> Node {
    words([
        ("app.kubernetes.io/name", NAME),
        ("app.kubernetes.io/part-of", NAME),
    ])
}

fn head(api: &str, kind: &str, namespace: Option<&str>, spec: Vec<(&str, Node)>) -> Node {
    let mut members = vec![
        ("apiVersion", text(api)),
        ("kind", text(kind)),
        ("metadata", metadata(NAME, namespace)),
    ];
    members.extend(spec);
    object(members)
}

/// The rights in the whole cluster, or those in Istio's namespace.
fn role(options: &Options, istio: Option<&str>) -> Node {
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
    let rule = |((group, verbs), resources): (&(&str, &[String]), &Vec<&str>)| {
        let verbs = verbs.iter().map(String::as_str);
        object([
            ("apiGroups", texts([*group])),
            ("resources", texts(resources)),
            ("verbs", texts(verbs)),
        ])
    };
    let kind = if istio.is_some() {
        "Role"
    } else {
        "ClusterRole"
    };
    head(
        "rbac.authorization.k8s.io/v1",
        kind,
        istio,
        vec![("rules", list(grouped.iter().map(rule)))],
    )
}

fn binding(namespace: &str, istio: Option<&str>) -> Node {
    let (kind, of) = if istio.is_some() {
        ("RoleBinding", "Role")
    } else {
        ("ClusterRoleBinding", "ClusterRole")
    };
    let role = words([
        ("apiGroup", "rbac.authorization.k8s.io"),
        ("kind", of),
        ("name", NAME),
    ]);
    let subject = words([
        ("kind", "ServiceAccount"),
        ("name", NAME),
        ("namespace", namespace),
    ]);
    let spec = vec![("roleRef", role), ("subjects", list([subject]))];
    head("rbac.authorization.k8s.io/v1", kind, istio, spec)
}

fn deployment(options: &Options) -> Node {
    let pod = object([
        ("serviceAccountName", text(NAME)),
        ("securityContext", pod_security()),
        // It holds nothing that needs a goodbye.
        ("terminationGracePeriodSeconds", number(1)),
        ("containers", list([container(options)])),
        (
            "volumes",
            list([object([
                ("name", text("tmp")),
                ("emptyDir", object([("sizeLimit", text("4Gi"))])),
            ])]),
        ),
    ]);
    let template_labels = words([
        ("app.kubernetes.io/name", NAME),
        ("app.kubernetes.io/part-of", NAME),
        // It watches the mesh, and must answer while the mesh does not.
        ("sidecar.istio.io/inject", "false"),
    ]);
    let template = object([
        ("metadata", object([("labels", template_labels)])),
        ("spec", pod),
    ]);
    let spec = object([
        ("replicas", number(1)),
        ("strategy", words([("type", "Recreate")])),
        (
            "selector",
            object([("matchLabels", words([("app.kubernetes.io/name", NAME)]))]),
        ),
        ("template", template),
    ]);
    head(
        "apps/v1",
        "Deployment",
        Some(&options.namespace),
        vec![("spec", spec)],
    )
}

fn pod_security() -> Node {
    object([
        ("runAsNonRoot", truth(true)),
        ("runAsUser", number(65532)),
        ("runAsGroup", number(65532)),
        ("fsGroup", number(65532)),
        ("seccompProfile", words([("type", "RuntimeDefault")])),
    ])
}

fn container(options: &Options) -> Node {
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
    let security = object([
        ("allowPrivilegeEscalation", truth(false)),
        ("readOnlyRootFilesystem", truth(true)),
        ("capabilities", object([("drop", texts(["ALL"]))])),
    ]);
    let probe = object([
        (
            "httpGet",
            object([("path", text("/healthz")), ("port", text("metrics"))]),
        ),
        ("periodSeconds", number(10)),
    ]);
    let resources = object([
        ("requests", words([("cpu", "100m"), ("memory", "256Mi")])),
        ("limits", words([("memory", "1Gi")])),
    ]);
    object([
        ("name", text(NAME)),
        ("image", text(&options.image)),
        ("args", texts(args)),
        (
            "ports",
            list([object([
                ("name", text("metrics")),
                ("containerPort", number(PORT)),
            ])]),
        ),
        ("readinessProbe", probe),
        (
            "livenessProbe",
            object([
                ("tcpSocket", object([("port", text("metrics"))])),
                ("periodSeconds", number(30)),
            ]),
        ),
        ("resources", resources),
        ("securityContext", security),
        (
            "volumeMounts",
            list([words([("name", "tmp"), ("mountPath", "/tmp")])]),
        ),
    ])
}

fn service(namespace: &str) -> Node {
    let port = object([
        ("name", text("metrics")),
        ("port", number(PORT)),
        ("targetPort", text("metrics")),
    ]);
    let spec = object([
        ("selector", words([("app.kubernetes.io/name", NAME)])),
        ("ports", list([port])),
    ]);
    head("v1", "Service", Some(namespace), vec![("spec", spec)])
}

fn service_monitor(namespace: &str) -> Node {
    // The labels `namespace` and `pod` are the proxy's, not the exporter's.
    let endpoint = object([
        ("port", text("metrics")),
        ("path", text("/metrics")),
        ("interval", text("60s")),
        ("honorLabels", truth(true)),
    ]);
    let spec = object([
        (
            "selector",
            object([("matchLabels", words([("app.kubernetes.io/name", NAME)]))]),
        ),
        ("endpoints", list([endpoint])),
    ]);
    head(
        "monitoring.coreos.com/v1",
        "ServiceMonitor",
        Some(namespace),
        vec![("spec", spec)],
    )
}

/// Grafana's sidecar takes dashboards from ConfigMaps with this label.
fn dashboard_map(namespace: &str) -> Node {
    let labelled = words([
        ("app.kubernetes.io/name", NAME),
        ("app.kubernetes.io/part-of", NAME),
        ("grafana_dashboard", "1"),
    ]);
    let name = format!("{NAME}-dashboard");
    object([
        ("apiVersion", text("v1")),
        ("kind", text("ConfigMap")),
        (
            "metadata",
            object([
                ("name", text(name)),
                ("namespace", text(namespace)),
                ("labels", labelled),
            ]),
        ),
        (
            "data",
            object([("meshladder.json", text(dashboard::to_json()))]),
        ),
    ])
}
