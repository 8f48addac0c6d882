//! Rights: the least that each command needs, and which of them somebody has.

use std::collections::{BTreeMap, BTreeSet};

use meshladder_capture::Kind;
use meshladder_capture::kind::Depth;
use meshladder_capture::snapshot::{Inputs, Need, Part};
use meshladder_judge::rules::{self, Lens, Rule};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::api::Cluster;

/// All that somebody may do in a namespace.
const RULES_REVIEW: &str = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";

/// Whether somebody may do one thing.
const ACCESS_REVIEW: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// What rights are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// `check`
    Check,
    /// `why`
    Why,
    /// `trace`
    Trace,
    /// `authz check`
    Authz,
    /// `logs`
    Logs,
    /// `analyze`
    Analyze,
    /// `proxy-status`
    ProxyStatus,
    /// `proxy-config`
    ProxyConfig,
    /// `snapshot`
    Snapshot,
    /// `log-level`
    LogLevel,
    /// `describe`
    Describe,
    /// `diff`
    Diff,
    /// `monitor serve`
    Monitor,
    /// `canary`
    Canary,
    /// `flags --prometheus`, of a Service in the cluster
    Flags,
}

/// A right: these verbs on this resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// Empty for the core group.
    pub group: String,
    /// Such as `pods/portforward`.
    pub resource: String,
    /// `get`, `list`, `create`
    pub verbs: Vec<&'static str>,
    /// Only in Istio's own namespace.
    pub in_istio: bool,
    /// What is lost without it.
    pub without: &'static str,
}

impl Purpose {
    /// All, in the order in which they are told.
    pub const ALL: [Self; 15] = [
        Self::Check,
        Self::Why,
        Self::Trace,
        Self::Authz,
        Self::Logs,
        Self::Analyze,
        Self::ProxyStatus,
        Self::ProxyConfig,
        Self::Snapshot,
        Self::LogLevel,
        Self::Describe,
        Self::Diff,
        Self::Monitor,
        Self::Canary,
        Self::Flags,
    ];

    /// The command.
    pub fn word(self) -> &'static str {
        match self {
            Self::Check => "check",
            Self::Why => "why",
            Self::Trace => "trace",
            Self::Authz => "authz",
            Self::Logs => "logs",
            Self::Analyze => "analyze",
            Self::ProxyStatus => "proxy-status",
            Self::ProxyConfig => "proxy-config",
            Self::Snapshot => "snapshot",
            Self::LogLevel => "log-level",
            Self::Describe => "describe",
            Self::Diff => "diff",
            Self::Monitor => "monitor",
            Self::Canary => "canary",
            Self::Flags => "flags",
        }
    }

    /// The kinds of fact it reads.
    pub fn needs(self) -> BTreeSet<Need> {
        let of = |lens: Lens<'_>| {
            let is_asked = |rule: &&Rule| match lens {
                Lens::Objects => rule.is_of_objects(),
                Lens::Mesh | Lens::Request(_) => rule.is_of_traffic(),
            };
            let rules = rules::all().filter(is_asked);
            rules.flat_map(|rule| rule.inputs(lens)).collect()
        };
        match self {
            Self::Check | Self::Why | Self::Trace | Self::Authz | Self::Logs | Self::Describe => {
                of(Lens::Mesh)
            }
            // What runs all day and is read by many stays away from Secrets: what only they can
            // tell is skipped.
            Self::Monitor => {
                let mut needs: BTreeSet<Need> = of(Lens::Mesh);
                needs.remove(&Need::Objects(Kind::Secret));
                needs
            }
            Self::Diff => {
                let istiod = Need::Part(Part::Istiod);
                WORKLOADS.iter().chain([istiod]).collect()
            }
            Self::Canary => WEIGHTS.iter().collect(),
            Self::Flags => [Need::Objects(Kind::Service)].into(),
            Self::Analyze => of(Lens::Objects),
            Self::ProxyStatus => [Need::Objects(Kind::Pod), Need::Part(Part::Istiod)].into(),
            Self::ProxyConfig | Self::LogLevel => WORKLOADS.iter().collect(),
            Self::Snapshot => {
                let read = Kind::ALL
                    .iter()
                    .filter(|kind| kind.depth() != Depth::Nothing);
                let parts = [Part::Istiod, Part::Proxies, Part::Logs].map(Need::Part);
                read.map(|kind| Need::Objects(*kind)).chain(parts).collect()
            }
        }
    }

    /// The rights it needs, by group and resource.
    pub fn rights(self) -> Vec<Right> {
        let mut rights: Vec<Right> = self.needs().iter().filter_map(of_need).collect();
        let on = |resource: &str, verbs: &[&'static str], without: &'static str| Right {
            group: String::new(),
            resource: resource.to_owned(),
            verbs: verbs.to_vec(),
            in_istio: self == Self::ProxyStatus,
            without,
        };
        if matches!(self, Self::Canary | Self::Flags) {
            rights.push(on(
                "services/proxy",
                &["get"],
                "Prometheus in the cluster; --prometheus URL does without it",
            ));
        }
        if !matches!(self, Self::Analyze | Self::Canary | Self::Flags) {
            // A WebSocket is opened by a GET, which older servers judge by `get` and newer ones by
            // `create` as well.
            rights.push(on(
                "pods/portforward",
                &["create", "get"],
                "what proxies and istiods say; pods/exec does too",
            ));
        }
        if matches!(
            self,
            Self::Check
                | Self::Why
                | Self::Trace
                | Self::Authz
                | Self::Logs
                | Self::Snapshot
                | Self::LogLevel
                | Self::Describe
                | Self::Monitor
        ) {
            rights.push(on("pods/log", &["get"], "what proxies logged"));
        }
        if self == Self::LogLevel {
            let metrics = on("pods", &["get"], "how much CPU it costs");
            rights.push(Right {
                group: "metrics.k8s.io".to_owned(),
                ..metrics
            });
        }
        rights.sort();
        rights
    }
}

impl Right {
    /// Whether it can be granted in a namespace.
    fn is_in_namespace(&self) -> bool {
        self.kind()
            .is_none_or(meshladder_capture::Kind::is_namespaced)
    }

    /// Whether what it shows of Istio's own namespace counts for every other: istiods are pods
    /// there, and objects of some kinds are for the whole mesh.
    fn counts_in_root(&self) -> bool {
        self.resource.split('/').next() == Some("pods")
            || self.kind().is_some_and(|kind| ROOT_KINDS.contains(&kind))
    }

    fn kind(&self) -> Option<Kind> {
        let is = |kind: &&Kind| kind.plural() == self.resource && kind.group() == self.group;
        Kind::ALL.iter().find(is).copied()
    }
}

/// What a target such as `deploy/cart` is found by.
pub(crate) const WORKLOADS: Inputs = Inputs::of(&[
    Kind::Pod,
    Kind::Service,
    Kind::Deployment,
    Kind::ReplicaSet,
    Kind::StatefulSet,
    Kind::DaemonSet,
    Kind::Job,
])
.and(&[Part::Proxies]);

/// What decides how traffic to a service is split.
const WEIGHTS: Inputs = Inputs::of(&[
    Kind::Service,
    Kind::VirtualService,
    Kind::DestinationRule,
    Kind::Sidecar,
    Kind::ServiceEntry,
    Kind::HttpRoute,
    Kind::K8sGateway,
    Kind::ConfigMap,
]);

fn of_need(need: &Need) -> Option<Right> {
    let Need::Objects(kind) = need else {
        return None;
    };
    let is_named = kind.depth() == Depth::Named;
    Some(Right {
        group: kind.group().to_owned(),
        resource: kind.plural().to_owned(),
        verbs: if is_named {
            vec!["get", "list"]
        } else {
            vec!["list"]
        },
        in_istio: is_named,
        without: without(*kind),
    })
}

fn without(kind: Kind) -> &'static str {
    match kind {
        Kind::Secret => "whether a gateway's certificate is there; only names and types are read",
        Kind::ConfigMap => "the mesh's settings and injection templates",
        Kind::Event => "what Kubernetes complained of",
        Kind::Node => "zones and regions",
        Kind::Pod => "nearly everything",
        _ => "the rules that look at them",
    }
}

/// Rights, and where they are to be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// In this namespace; everywhere where none is named.
    pub namespace: Option<String>,
    /// What may be done there.
    pub rights: Vec<Right>,
}

/// Objects of these kinds in Istio's root namespace count for every namespace: "If the root
/// namespace is set to the Istio root namespace, the policy applies to all namespaces in a mesh".
const ROOT_KINDS: [Kind; 8] = [
    Kind::AuthorizationPolicy,
    Kind::DestinationRule,
    Kind::EnvoyFilter,
    Kind::PeerAuthentication,
    Kind::RequestAuthentication,
    Kind::Sidecar,
    Kind::Telemetry,
    Kind::WasmPlugin,
];

/// The least rights for a purpose. With a namespace only what can be granted in it, and in Istio's
/// own what counts for it.
pub fn grants(purpose: Purpose, namespace: Option<&str>, istio_namespace: &str) -> Vec<Grant> {
    let (mut istio, wide): (Vec<_>, Vec<_>) = purpose
        .rights()
        .into_iter()
        .partition(|right| right.in_istio);
    let mut grants = Vec::new();
    match namespace {
        None => grants.push(Grant {
            namespace: None,
            rights: wide,
        }),
        Some(namespace) => {
            let inside: Vec<Right> = wide.into_iter().filter(Right::is_in_namespace).collect();
            if namespace == istio_namespace {
                istio.extend(inside);
            } else {
                istio.extend(
                    inside
                        .iter()
                        .filter(|right| right.counts_in_root())
                        .cloned(),
                );
                grants.push(Grant {
                    namespace: Some(namespace.to_owned()),
                    rights: inside,
                });
            }
        }
    }
    istio.sort();
    grants.push(Grant {
        namespace: Some(istio_namespace.to_owned()),
        rights: istio,
    });
    grants.retain(|grant| !grant.rights.is_empty());
    grants
}

/// The least rights for a purpose, as YAML; see [`grants`].
pub fn yaml(purpose: Purpose, namespace: Option<&str>, istio_namespace: &str) -> String {
    let name = format!("meshladder-{}", purpose.word());
    let mut documents = Vec::new();
    for grant in grants(purpose, namespace, istio_namespace) {
        let kind = if grant.namespace.is_some() {
            "Role"
        } else {
            "ClusterRole"
        };
        documents.push(role(kind, &name, grant.namespace.as_deref(), &grant.rights));
    }
    documents.join("---\n")
}

fn role(kind: &str, name: &str, namespace: Option<&str>, rights: &[Right]) -> String {
    let place = namespace
        .map(|namespace| format!("  namespace: {namespace}\n"))
        .unwrap_or_default();
    let mut text = format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: {kind}\nmetadata:\n  name: {name}\n{place}rules:\n"
    );
    let mut grouped: BTreeMap<(&str, &[&str]), Vec<&str>> = BTreeMap::new();
    for right in rights {
        grouped
            .entry((&right.group, &right.verbs))
            .or_default()
            .push(&right.resource);
    }
    for ((group, verbs), resources) in grouped {
        let resources = resources.join(", ");
        let verbs = verbs.join(", ");
        text.extend([format!(
            "- apiGroups: [\"{group}\"]\n  resources: [{resources}]\n  verbs: [{verbs}]\n"
        )]);
    }
    text
}

/// What the API server says somebody may do, by namespace; asked for once, and only after a
/// refusal.
#[derive(Debug, Default)]
pub(crate) struct Reviews(Mutex<BTreeMap<String, Option<Vec<Value>>>>);

impl Cluster {
    /// Whether a right is given in a namespace; none when the server does not know or does not
    /// tell.
    pub(crate) async fn allows(
        &self,
        verb: &str,
        group: &str,
        resource: &str,
        namespace: &str,
    ) -> Option<bool> {
        let mut reviews = self.reviews.0.lock().await;
        if !reviews.contains_key(namespace) {
            let asked = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": namespace}});
            let answer = self.post_json(RULES_REVIEW, &asked).await.ok();
            // "incomplete is true when the rules returned by this call are incomplete"
            let told = answer.filter(|answer| answer["status"]["incomplete"] != true);
            let told =
                told.and_then(|answer| answer["status"]["resourceRules"].as_array().cloned());
            reviews.insert(namespace.to_owned(), told);
        }
        let rules = reviews.get(namespace)?.as_ref()?;
        Some(
            rules
                .iter()
                .any(|rule| rule_grants(rule, verb, group, resource)),
        )
    }
}

impl Cluster {
    /// Whether the authorizer itself says yes to a right in a namespace, or everywhere; none when it
    /// does not answer. The rules of a namespace cannot tell that: a RoleBinding to a ClusterRole
    /// shows rights to cluster-scoped kinds that it does not give.
    pub(crate) async fn may(
        &self,
        right: &Right,
        verb: &str,
        namespace: Option<&str>,
    ) -> Option<bool> {
        let (resource, subresource) = right
            .resource
            .split_once('/')
            .unwrap_or((&right.resource, ""));
        let asked = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {
                "namespace": namespace.unwrap_or_default(),
                "verb": verb,
                "group": right.group,
                "resource": resource,
                "subresource": subresource,
            }},
        });
        let answer = self.post_json(ACCESS_REVIEW, &asked).await.ok()?;
        answer["status"]["allowed"].as_bool()
    }
}

fn rule_grants(rule: &Value, verb: &str, group: &str, resource: &str) -> bool {
    let has = |key: &str, wanted: &str| {
        let all = rule[key]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str);
        all.into_iter().any(|given| given == "*" || given == wanted)
    };
    let sub = resource.split_once('/').map(|(_, sub)| format!("*/{sub}"));
    let named = rule["resourceNames"]
        .as_array()
        .is_some_and(|names| !names.is_empty());
    has("verbs", verb)
        && has("apiGroups", group)
        && (has("resources", resource) || sub.is_some_and(|sub| has("resources", &sub)))
        && !named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_grants_what_it_names_and_what_a_star_stands_for() {
        let rule = json!({"verbs": ["list"], "apiGroups": [""], "resources": ["pods", "*/log"]});
        assert!(rule_grants(&rule, "list", "", "pods"));
        assert!(rule_grants(&rule, "list", "", "pods/log"));
        assert!(
            !rule_grants(&rule, "get", "", "pods") && !rule_grants(&rule, "list", "apps", "pods")
        );
        let all = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]});
        assert!(rule_grants(&all, "create", "", "pods/exec"));
        let one = json!({"verbs": ["list"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["cart"]});
        assert!(!rule_grants(&one, "list", "", "pods"));
    }

    #[test]
    fn no_command_asks_to_change_anything() {
        for purpose in Purpose::ALL {
            for right in purpose.rights() {
                let reads = right
                    .verbs
                    .iter()
                    .all(|verb| ["get", "list"].contains(verb));
                assert!(reads || right.resource == "pods/portforward", "{right:?}");
            }
        }
    }

    #[test]
    fn raising_log_levels_needs_pods_their_ports_and_their_logs() {
        let role = yaml(Purpose::LogLevel, Some("shop"), "istio-system");
        for part in [
            "resources: [pods/portforward]",
            "resources: [pods/log]",
            "apiGroups: [\"metrics.k8s.io\"]",
        ] {
            assert!(role.contains(part), "{part} in {role}");
        }
        assert!(
            !role.contains("secrets") && !role.contains("configmaps"),
            "{role}"
        );
    }

    #[test]
    fn analyze_needs_nothing_but_lists() {
        assert!(
            Purpose::Analyze
                .rights()
                .iter()
                .all(|right| right.verbs.contains(&"list"))
        );
        assert!(!yaml(Purpose::Analyze, None, "istio-system").contains("portforward"));
    }

    #[test]
    fn who_wants_the_status_of_proxies_opens_ports_in_istios_namespace_only() {
        let role = yaml(Purpose::ProxyStatus, None, "istio-system");
        let (cluster, istio) = role.split_once("---\n").expect("two roles");
        assert!(cluster.contains("ClusterRole") && !cluster.contains("portforward"));
        assert!(istio.contains("kind: Role\n") && istio.contains("pods/portforward"));
    }

    #[test]
    fn in_a_namespace_nothing_is_asked_for_that_is_in_none() {
        let role = yaml(Purpose::Check, Some("shop"), "istio-system");
        assert!(
            role.contains("kind: Role\n")
                && role.contains("namespace: shop\n")
                && !role.contains("ClusterRole")
        );
        assert!(!role.contains("nodes") && !role.contains("webhookconfigurations"));
        let (_, istio) = role.split_once("---\n").expect("a second role for istiod");
        for resource in [
            "namespace: istio-system",
            "configmaps",
            "pods/portforward",
            "pods/log",
        ] {
            assert!(istio.contains(resource), "{resource} in {istio}");
        }
    }
}
