//! What a rule meets: the Services it looks at, and who should stand behind them.

use super::service_selects_no_pods::meant_pods;
use crate::finding::{Evidence, Finding, Fix, Risk};
use crate::rules::{Case, Facts};
use meshladder_capture::Kind;
use meshladder_capture::envoy::clusters::{self, ClusterStatuses};
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::{DocId, Document, Shape};
use meshladder_mesh::scope::Scope;
use meshladder_mesh::selector::has_labels;
use meshladder_mesh::services::{number, ports};
use meshladder_mesh::traffic::routes;
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_text::shell;
use meshladder_text::tree::{Node, Value};

/// A Service as a rule meets it.
#[derive(Clone, Debug)]
pub(in crate::rules) struct CalledService<'f> {
    pub(in crate::rules) service: &'f Object,
    /// The port that is asked for; none for all.
    pub(in crate::rules) port: Option<u16>,
    /// The subset's name; empty without one.
    pub(in crate::rules) subset: String,
}

impl<'f> CalledService<'f> {
    /// `cart.shop.svc.cluster.local`
    pub(in crate::rules) fn host(&self, facts: &Facts<'_>) -> String {
        facts
            .mesh
            .domain
            .service(&self.service.id.name, &self.service.id.namespace)
    }

    /// The labels of the subset that the request is sent to.
    pub(in crate::rules) fn subset_labels(
        &self,
        facts: &Facts<'f>,
        case: Option<&Case<'_>>,
    ) -> Option<&'f Node> {
        if self.subset.is_empty() {
            return None;
        }
        let client = match case {
            Some(case) => client_scope(facts, case)?,
            None => facts.mesh.namespace_scope(&self.service.id.namespace),
        };
        let (_, subset) = facts
            .mesh
            .destination_rule(client, &self.host(facts))?
            .subset(&self.subset)?;
        subset.get("labels")
    }

    /// The pods that the Service, and the subset, selects and that are not on their way out.
    pub(in crate::rules) fn pods(&self, mesh: &'f Mesh, subset: Option<&Node>) -> Vec<&'f Object> {
        let stays = |pod: &Object| {
            let phase = pod
                .node
                .at(["status", "phase"])
                .and_then(Node::str)
                .unwrap_or_default();
            !matches!(phase, "Succeeded" | "Failed")
                && pod.node.at(["metadata", "deletionTimestamp"]).is_none()
        };
        let wanted = |pod: &&Object| {
            stays(pod) && subset.is_none_or(|labels| has_labels(labels, pod.labels()))
        };
        mesh.selected_pods(self.service)
            .into_iter()
            .filter(wanted)
            .collect()
    }

    /// The workloads whose pods the Service, and the subset, would select. A ReplicaSet stands for
    /// a Deployment that could not be read.
    pub(in crate::rules) fn workloads(
        &self,
        mesh: &'f Mesh,
        subset: Option<&Node>,
    ) -> Vec<&'f Object> {
        let Some(selector) = selector(self.service) else {
            return Vec::new();
        };
        let kinds = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet].into_iter();
        let all =
            kinds.flat_map(|kind| mesh.objects.in_namespace(kind, &self.service.id.namespace));
        let sets = mesh
            .objects
            .in_namespace(Kind::ReplicaSet, &self.service.id.namespace);
        let lone = sets.filter(|set| mesh.maker_of(set).is_none());
        all.chain(lone)
            .filter(|workload| {
                let labels = template_labels(workload);
                has_labels(selector, labels)
                    && subset.is_none_or(|subset| has_labels(subset, labels))
            })
            .collect()
    }
}

/// The Services that a request is sent to, port and subset included; without a request all there
/// are.
pub(in crate::rules) fn services<'f>(
    facts: &Facts<'f>,
    case: Option<&Case<'_>>,
) -> Vec<CalledService<'f>> {
    let mesh = facts.mesh;
    let Some(case) = case else {
        let all = mesh
            .objects
            .of_kind(Kind::Service)
            .iter()
            .filter(|service| !is_control_plane(service));
        return all
            .map(|service| CalledService {
                service,
                port: None,
                subset: String::new(),
            })
            .collect();
    };
    let of_cluster = |cluster: &str| {
        let name = ClusterName::parse(cluster)?;
        let service = mesh.service_of_host(name.host)?;
        Some(CalledService {
            service,
            port: name.port.parse().ok(),
            subset: name.subset.to_owned(),
        })
    };
    let mut called: Vec<CalledService<'f>> = case.clusters().filter_map(of_cluster).collect();
    // A call from outside that no gateway is known to have met may not have come in.
    if case.is_unmet() {
        called.extend(doors(facts, case));
    }
    if called.is_empty() {
        let service = case
            .service
            .and_then(|service| mesh.service(&service.namespace, &service.name));
        let port = Some(case.call.to.port);
        called.extend(service.map(|service| CalledService {
            service,
            port,
            subset: String::new(),
        }));
    }
    called
}

/// The Services by which a call from outside comes in: those with its port that open the cluster,
/// and stand before its gateways or were meant to.
fn doors<'f>(facts: &Facts<'f>, case: &Case<'_>) -> Vec<CalledService<'f>> {
    let port = case.call.to.port;
    let is_open = |service: &&Object| {
        let kind = service.spec_at(["type"]).and_then(Node::str);
        matches!(kind, Some("LoadBalancer" | "NodePort"))
            && ports(service).any(|own| own.number == port)
    };
    let stands_before = |service: &&Object| {
        let is_gateway = |pod: &Object| {
            let mut gateways = case.gateways.iter();
            gateways.any(|own| own.namespace == pod.id.namespace && own.name == pod.id.name)
        };
        meant_pods(facts.mesh, service).into_iter().any(is_gateway)
    };
    if case.gateways.is_empty() {
        return Vec::new();
    }
    let services = facts.mesh.objects.of_kind(Kind::Service).iter();
    let doors = services.filter(is_open).filter(stands_before);
    doors
        .map(|service| CalledService {
            service,
            port: Some(port),
            subset: String::new(),
        })
        .collect()
}

/// Those services, and without a request also every subset that a route sends requests to.
pub(in crate::rules) fn services_and_subsets<'f>(
    facts: &Facts<'f>,
    case: Option<&Case<'_>>,
) -> Vec<CalledService<'f>> {
    let mut called = services(facts, case);
    if case.is_none() {
        called.extend(routed_subsets(facts.mesh));
    }
    called
}

/// The subsets that routes lead to, each once; a destination of several without a weight gets
/// nothing.
fn routed_subsets(mesh: &Mesh) -> Vec<CalledService<'_>> {
    let mut found = std::collections::BTreeMap::new();
    for service in mesh.objects.of_kind(Kind::VirtualService) {
        for route in routes(service) {
            let list = route.get("route").map_or(&[][..], Node::items);
            let gets = |entry: &&Node| {
                list.len() == 1 || entry.get("weight").and_then(number).is_some_and(|w| w > 0)
            };
            for to in list
                .iter()
                .filter(gets)
                .filter_map(|entry| entry.get("destination"))
            {
                let host = mesh
                    .domain
                    .fqdn(to.str_at("host").unwrap_or_default(), &service.id.namespace);
                let (Some(subset), Some(service)) =
                    (to.str_at("subset"), mesh.service_of_host(&host))
                else {
                    continue;
                };
                let called = CalledService {
                    service,
                    port: None,
                    subset: subset.to_owned(),
                };
                found
                    .entry((service.id.clone(), called.subset.clone()))
                    .or_insert(called);
            }
        }
    }
    found.into_values().collect()
}

/// istiod has a rung of its own.
fn is_control_plane(service: &Object) -> bool {
    selector(service).is_some_and(|selector| selector.str_at("app") == Some("istiod"))
}

/// The pod whose proxy sends the request on: the client's, or the gateway's.
pub(in crate::rules) fn client_pod<'f>(facts: &Facts<'f>, case: &Case<'_>) -> Option<&'f Object> {
    let sender = case.trace.sender().map(|hop| &hop.proxy);
    let of_hop = sender.map(|proxy| (proxy.namespace.as_str(), proxy.pod.as_str()));
    let of_client = case
        .client
        .map(|pod| (pod.namespace.as_str(), pod.name.as_str()));
    let (namespace, name) = of_hop.or(of_client)?;
    facts.mesh.objects.get(Kind::Pod, namespace, name)
}

/// What that proxy imports.
pub(in crate::rules) fn client_scope<'f>(facts: &Facts<'f>, case: &Case<'_>) -> Option<Scope<'f>> {
    client_pod(facts, case).map(|pod| facts.mesh.scope(pod))
}

/// The Service or ServiceEntry whose endpoints that proxy uses for a host.
pub(in crate::rules) fn owner<'f>(
    facts: &Facts<'f>,
    case: &Case<'_>,
    host: &str,
) -> Option<&'f Object> {
    match client_scope(facts, case) {
        Some(scope) => facts.mesh.registry(scope, host).into_iter().next(),
        None => facts.mesh.registered(host).next(),
    }
}

/// A Service's selector, when it has one.
pub(in crate::rules) fn selector(service: &Object) -> Option<&Node> {
    service
        .spec_at(["selector"])
        .filter(|selector| !selector.members().is_empty())
}

/// The labels that a workload gives to its pods.
pub(in crate::rules) fn template_labels(workload: &Object) -> Option<&Node> {
    workload.spec_at(["template", "metadata", "labels"])
}

/// `app=cart,version=v2`
pub(in crate::rules) fn labels_in_words(labels: &Node) -> String {
    let pairs = labels
        .members()
        .iter()
        .map(|m| format!("{}={}", m.key, m.value.str().unwrap_or_default()));
    pairs.collect::<Vec<_>>().join(",")
}

/// Whether a Boolean is set.
pub(in crate::rules) fn is_true(node: Option<&Node>) -> bool {
    node.is_some_and(|node| node.value == Value::Bool(true))
}

/// The Service and the pods suffer.
pub(in crate::rules) fn hit(
    finding: &mut Finding,
    service: &Object,
    pods: &[&Object],
    case: Option<&Case<'_>>,
) {
    finding.hits(service.id.clone());
    for pod in pods {
        finding.hits(pod.id.clone());
    }
    if let Some(client) = case.and_then(|case| case.client) {
        finding.hits(client.reference());
    }
}

/// The object to change when a pod is at fault.
pub(in crate::rules) fn workload_ref(mesh: &Mesh, pod: &Object) -> ObjectRef {
    let facts = mesh.pod(&pod.id.namespace, &pod.id.name);
    facts.map_or_else(|| pod.id.clone(), meshladder_mesh::PodFacts::workload)
}

/// Starts a pod's workload anew.
pub(in crate::rules) fn restart(mesh: &Mesh, pod: &Object) -> Fix {
    let ObjectRef {
        kind,
        namespace,
        name,
    } = workload_ref(mesh, pod);
    let command = match kind.as_str() {
        "Deployment" | "StatefulSet" | "DaemonSet" => shell::command(
            "kubectl rollout restart {}/{} -n {}",
            &[&kind.to_lowercase(), &name, &namespace],
        ),
        _ => shell::command("kubectl delete pod {} -n {}", &[&pod.id.name, &namespace]),
    };
    Fix::command(Risk::Disruptive, command)
}

/// One host of a cluster, as a proxy has it.
#[derive(Clone, Debug)]
pub(in crate::rules) struct Host {
    pub(in crate::rules) address: String,
    pub(in crate::rules) port: u64,
    pub(in crate::rules) ejected: bool,
    pub(in crate::rules) priority: u64,
    pub(in crate::rules) locality: String,
}

/// `/clusters` of a proxy.
pub(in crate::rules) fn clusters_of(
    facts: &Facts<'_>,
    namespace: &str,
    pod: &str,
) -> Option<Document> {
    let mut proxies = facts.snapshot.proxies_with(Shape::Clusters);
    let (_, id) = proxies.find(|(proxy, _)| proxy.namespace == namespace && proxy.pod == pod)?;
    facts.snapshot.open(id).ok()
}

/// The hosts that a proxy has for a cluster, with what shows them.
pub(in crate::rules) fn hosts_of(doc: &Document, cluster: &str) -> Option<(Vec<Host>, Evidence)> {
    let json = clusters::as_json(&doc.text).ok()?;
    let all = ClusterStatuses::read(&json).ok()?;
    let shows = format!("what the proxy has for {cluster}");
    if all.empty.iter().any(|name| name == cluster) {
        return Some((Vec::new(), Evidence::document(&doc.id, shows)));
    }
    let mut hosts = Vec::new();
    let mut at = None;
    for host in all.hosts.iter().filter(|host| all.name(host) == cluster) {
        at = at.or_else(|| all.statuses.get(host.status).map(|status| status.offset()));
        hosts.push(Host {
            address: host.address.host().into_owned(),
            port: host.address.port(),
            ejected: host.ejected(),
            priority: host.priority(),
            locality: host.locality(),
        });
    }
    let is_as_it_stands = matches!(json, std::borrow::Cow::Borrowed(_));
    let evidence = match at {
        Some(at) if is_as_it_stands => Evidence::offset(&doc.id, at, shows),
        _ => Evidence::document(&doc.id, shows),
    };
    (!hosts.is_empty()).then_some((hosts, evidence))
}

/// The log of a pod's proxy.
pub(in crate::rules) fn proxy_log(facts: &Facts<'_>, pod: &Object) -> Option<Document> {
    facts
        .snapshot
        .open(&DocId::new(format!(
            "logs/{}/{}/istio-proxy.log",
            pod.id.namespace, pod.id.name
        )))
        .ok()
}

/// Counts in words: `1 pod`, `3 pods`.
pub(in crate::rules) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// Whether pods of another cluster serve it: those that were read, or those that the caller's proxy
/// was told of.
pub(super) fn is_served_elsewhere(
    facts: &Facts<'_>,
    case: Option<&Case<'_>>,
    service: &Object,
    labels: &Node,
) -> bool {
    facts.mesh.is_made_elsewhere(&service.id.namespace, labels) || case.is_some_and(goes_elsewhere)
}

/// Whether an endpoint that the caller's proxy may choose is of another cluster.
pub(super) fn goes_elsewhere(case: &Case<'_>) -> bool {
    let mut endpoints = case
        .trace
        .sender()
        .into_iter()
        .flat_map(|hop| &hop.endpoints);
    endpoints.any(|endpoint| endpoint.elsewhere.is_some())
}
