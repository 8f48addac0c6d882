//! What installs the exporter, the rules and the dashboard in a cluster.

use std::collections::{BTreeMap, BTreeSet};

use super::value::{list, number, object, text, texts, truth, words};
use super::{dashboard, rules as prometheus_rules};
use crate::doc::tree::Node;
use crate::render::yaml;
use crate::rules;

/// What differs from one installation to the next.
#[derive(Clone, Debug)]
pub struct Options {
    /// The namespace of everything that has one.
    pub namespace: String,
    /// The image that holds meshladder.
    pub image: String,
    /// For the rules.
    pub rules: prometheus_rules::Options,
}

const NAME: &str = "meshladder";
const PORT: usize = 15099;

/// All objects, one document each.
pub fn to_yaml(options: &Options) -> String {
    let namespace = options.namespace.as_str();
    let objects = [
        object([
            ("apiVersion", text("v1")),
            ("kind", text("ServiceAccount")),
            ("metadata", metadata(NAME, Some(namespace))),
        ]),
        cluster_role(),
        cluster_role_binding(namespace),
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
    words([("app.kubernetes.io/name", NAME), ("app.kubernetes.io/part-of", NAME)])
}

fn head(api: &str, kind: &str, namespace: Option<&str>, spec: Vec<(&str, Node)>) -> Node {
    let mut members = vec![("apiVersion", text(api)), ("kind", text(kind)), ("metadata", metadata(NAME, namespace))];
    members.extend(spec);
    object(members)
}

/// Reading, of what rules need and nothing else. Secrets stay closed: what only they can tell is skipped.
fn cluster_role() -> Node {
    let mut kinds: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for path in rules::all().flat_map(|rule| rule.needs.iter().chain(rule.uses)) {
        let Some(kind) = path.strip_prefix("k8s/").and_then(|path| path.strip_suffix(".json")) else { continue };
        let (plural, group) = kind.split_once('.').unwrap_or((kind, ""));
        if plural != "secrets" {
            kinds.entry(group).or_default().insert(plural);
        }
    }
    let rule = |group: &str, resources: Node, verbs: &[&str]| {
        object([("apiGroups", texts([group])), ("resources", resources), ("verbs", texts(verbs))])
    };
    let read = kinds.iter().map(|(group, plurals)| rule(group, texts(plurals), &["get", "list"]));
    // Logs, and the debug ports of proxies and istiod.
    let inside = [rule("", texts(["pods/log"]), &["get"]), rule("", texts(["pods/portforward"]), &["create"])];
    head("rbac.authorization.k8s.io/v1", "ClusterRole", None, vec![("rules", list(read.chain(inside)))])
}

fn cluster_role_binding(namespace: &str) -> Node {
    let role = words([("apiGroup", "rbac.authorization.k8s.io"), ("kind", "ClusterRole"), ("name", NAME)]);
    let subject = words([("kind", "ServiceAccount"), ("name", NAME), ("namespace", namespace)]);
    let spec = vec![("roleRef", role), ("subjects", list([subject]))];
    head("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", None, spec)
}

fn deployment(options: &Options) -> Node {
    let pod = object([
        ("serviceAccountName", text(NAME)),
        ("securityContext", pod_security()),
        // It holds nothing that needs a goodbye.
        ("terminationGracePeriodSeconds", number(1)),
        ("containers", list([container(&options.image)])),
        ("volumes", list([object([("name", text("tmp")), ("emptyDir", object([("sizeLimit", text("4Gi"))]))])])),
    ]);
    let template_labels = words([
        ("app.kubernetes.io/name", NAME),
        ("app.kubernetes.io/part-of", NAME),
        // It watches the mesh, and must answer while the mesh does not.
        ("sidecar.istio.io/inject", "false"),
    ]);
    let template = object([("metadata", object([("labels", template_labels)])), ("spec", pod)]);
    let spec = object([
        ("replicas", number(1)),
        ("strategy", words([("type", "Recreate")])),
        ("selector", object([("matchLabels", words([("app.kubernetes.io/name", NAME)]))])),
        ("template", template),
    ]);
    head("apps/v1", "Deployment", Some(&options.namespace), vec![("spec", spec)])
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

fn container(image: &str) -> Node {
    let security = object([
        ("allowPrivilegeEscalation", truth(false)),
        ("readOnlyRootFilesystem", truth(true)),
        ("capabilities", object([("drop", texts(["ALL"]))])),
    ]);
    let probe = object([
        ("httpGet", object([("path", text("/healthz")), ("port", text("metrics"))])),
        ("periodSeconds", number(10)),
    ]);
    let resources =
        object([("requests", words([("cpu", "100m"), ("memory", "256Mi")])), ("limits", words([("memory", "1Gi")]))]);
    object([
        ("name", text(NAME)),
        ("image", text(image)),
        ("args", texts(["monitor", "serve", "--listen", &format!("0.0.0.0:{PORT}"), "--every", "60s"])),
        ("ports", list([object([("name", text("metrics")), ("containerPort", number(PORT))])])),
        ("readinessProbe", probe),
        ("livenessProbe", object([("tcpSocket", object([("port", text("metrics"))])), ("periodSeconds", number(30))])),
        ("resources", resources),
        ("securityContext", security),
        ("volumeMounts", list([words([("name", "tmp"), ("mountPath", "/tmp")])])),
    ])
}

fn service(namespace: &str) -> Node {
    let port = object([("name", text("metrics")), ("port", number(PORT)), ("targetPort", text("metrics"))]);
    let spec = object([("selector", words([("app.kubernetes.io/name", NAME)])), ("ports", list([port]))]);
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
        ("selector", object([("matchLabels", words([("app.kubernetes.io/name", NAME)]))])),
        ("endpoints", list([endpoint])),
    ]);
    head("monitoring.coreos.com/v1", "ServiceMonitor", Some(namespace), vec![("spec", spec)])
}

/// Grafana's sidecar takes dashboards from ConfigMaps with this label.
fn dashboard_map(namespace: &str) -> Node {
    let labelled =
        words([("app.kubernetes.io/name", NAME), ("app.kubernetes.io/part-of", NAME), ("grafana_dashboard", "1")]);
    let name = format!("{NAME}-dashboard");
    object([
        ("apiVersion", text("v1")),
        ("kind", text("ConfigMap")),
        ("metadata", object([("name", text(name)), ("namespace", text(namespace)), ("labels", labelled)])),
        ("data", object([("meshladder.json", text(dashboard::to_json()))])),
    ])
}
