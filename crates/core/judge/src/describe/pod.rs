//! A pod: in the mesh or not, its ports, mutual TLS, policies, and what reaches it.

use super::{DescribeFacts, DescriptionSection, callers, few, policies, service};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Coverage, Need, Part};
use meshladder_mesh::Object;
use meshladder_mesh::ambient::{NodeAgent, Redirection};
use meshladder_mesh::injection::REVISION;
use meshladder_mesh::policies::Workload;
use meshladder_mesh::scope::is_router;
use meshladder_mesh::services::{Protocol, ServicePort, is_ready, ports, target_port};
use meshladder_mesh::views::{Pod, PodTemplate};
use meshladder_text::tree::Node;
use meshladder_text::tri::Tri;

/// What decides whether a new pod gets a proxy.
const DECIDE_INJECTION: [Kind; 3] = [Kind::Namespace, Kind::MutatingWebhook, Kind::ConfigMap];

pub(super) fn sections(facts: &DescribeFacts<'_>, pod: &Object) -> Vec<DescriptionSection> {
    let mut sections = vec![identity(facts, pod), sync(facts, pod), ports_of(facts, pod)];
    sections.push(policies::mutual_tls(facts, pod));
    sections.extend(policies::sections(facts, pod));
    sections.push(seen_by_callers(facts, pod));
    for service in facts.mesh.services_of(pod) {
        sections.extend(service::traffic(facts, service));
        sections.extend(service::exposed(facts, service));
    }
    sections.push(outbound(facts, pod));
    sections
}

/// Whether it is in the mesh, since when, by which revision; and if not, what decided.
fn identity(facts: &DescribeFacts<'_>, pod: &Object) -> DescriptionSection {
    let mut section = DescriptionSection::new("In the mesh");
    let proxy = proxy(pod);
    if let Some((list, container)) = proxy {
        let how = match list {
            _ if is_router(pod) => "a gateway",
            "initContainers" => "a native sidecar",
            _ => "a sidecar",
        };
        let since = pod
            .node
            .at(["status", "startTime"])
            .and_then(Node::str)
            .map(|at| format!(", since {at}"));
        let image = container
            .str_at("image")
            .map(|image| format!(", image {image}"));
        section.object(
            "yes",
            format!(
                "{how}{}{}",
                since.unwrap_or_default(),
                image.unwrap_or_default()
            ),
            pod,
        );
    } else if facts.mesh.is_of_ambient(pod) {
        ambient(facts, pod, &mut section);
    } else {
        let why = PodTemplate::of(pod)
            .map(|template| facts.mesh.injectors().injection(template).decided_by);
        let says = why
            .as_ref()
            .map(|why| format!(": {}", why.what))
            .unwrap_or_default();
        // What decided is told where all that could have decided was read.
        let why = why.filter(|_| facts.unread(&DECIDE_INJECTION).is_none());
        let says = if why.is_some() { says } else { String::new() };
        section.add(
            "no",
            format!("no proxy in it{says}"),
            why.map(|why| &why.object.id),
        );
    }
    let revision = pod.label(REVISION).or_else(|| pod.annotation(REVISION));
    let revision = revision
        .filter(|_| proxy.is_some())
        .map(|revision| format!("revision {revision}"));
    section.facts.extend(revision.map(|says| super::Fact {
        about: String::new(),
        says,
        by: None,
    }));
    if proxy.is_some() || !facts.mesh.is_of_ambient(pod) {
        expected(facts, pod, proxy.is_some(), &mut section);
    }
    let phase = pod
        .node
        .at(["status", "phase"])
        .and_then(Node::str)
        .unwrap_or("unknown phase");
    let ready = if is_ready(pod) { "ready" } else { "not ready" };
    section.add("state", format!("{phase}, {ready}"), None);
    let account = pod
        .spec_at(["serviceAccountName"])
        .and_then(Node::str)
        .unwrap_or("default");
    let domain = facts
        .mesh
        .config
        .trust_domains
        .first()
        .map_or("cluster.local", |domain| domain);
    section.add(
        "identity",
        format!("spiffe://{domain}/ns/{}/sa/{account}", pod.id.namespace),
        None,
    );
    section
}

/// Whether ztunnel has it, what decided, and which one it is.
fn ambient(facts: &DescribeFacts<'_>, pod: &Object, section: &mut DescriptionSection) {
    let enrolment = facts.mesh.ambient_enrolment(pod);
    let (by, _) = enrolment.decided_by;
    let node = Pod::of(pod).node_name().map_or("", |node| node.value);
    let ztunnel = facts.mesh.node_agent(NodeAgent::Ztunnel, node);
    match enrolment.redirection {
        Redirection::Enabled => {
            section.object("yes", "ambient: ztunnel takes its traffic", by);
        }
        Redirection::Pending => {
            section.object("no", "redirected, and ztunnel has not taken it over", by);
        }
        Redirection::None => section.object("no", "not captured", by),
    }
    match ztunnel {
        Some(ztunnel) => section.object("ztunnel", format!("that of {node}"), ztunnel.object),
        None => section.add("ztunnel", format!("none on {node}"), None),
    }
}

/// A pod that would be made otherwise today.
fn expected(
    facts: &DescribeFacts<'_>,
    pod: &Object,
    has_proxy: bool,
    section: &mut DescriptionSection,
) {
    let Some(template) = PodTemplate::of(pod) else {
        return;
    };
    if facts.unread(&DECIDE_INJECTION).is_some() {
        return;
    }
    let injection = facts.mesh.injectors().injection(template);
    match (&injection.expected, has_proxy) {
        (Tri::Yes, false) => {
            section.object(
                "now",
                "a new pod of its kind would get a proxy",
                injection.decided_by.object,
            );
        }
        (Tri::No, true) if !is_router(pod) => {
            section.object(
                "now",
                format!("a new pod would get none: {}", injection.decided_by.what),
                injection.decided_by.object,
            );
        }
        _ => {}
    }
}

fn proxy(pod: &Object) -> Option<(&'static str, &Node)> {
    ["containers", "initContainers"]
        .into_iter()
        .find_map(|list| {
            let found = pod
                .spec_list(list)
                .iter()
                .find(|container| container.str_at("name") == Some("istio-proxy"));
            found.map(|container| (list, container))
        })
}

fn sync(facts: &DescribeFacts<'_>, pod: &Object) -> DescriptionSection {
    let mut section = DescriptionSection::new("Configuration");
    let streams = facts.fleet.streams_of(&pod.id.namespace, &pod.id.name);
    for stream in streams {
        let types: Vec<String> = stream
            .types
            .iter()
            .map(|(name, watch)| format!("{name} {}", watch.sync.word()))
            .collect();
        section.add(
            format!("from {}", stream.istiod),
            format!("{}, Istio {}", types.join(", "), stream.version),
            None,
        );
        for (name, watch) in stream
            .types
            .iter()
            .filter(|(_, watch)| !watch.error.is_empty())
        {
            section.add(format!("{name} refused"), &watch.error, None);
        }
    }
    if section.facts.is_empty() && proxy(pod).is_some() {
        let need = Need::Part(Part::Istiod);
        let says = match facts.snapshot.coverage(&need) {
            _ if facts.fleet.istiods.is_empty() => {
                "unknown: no istiod was asked for its streams".to_owned()
            }
            lost @ Coverage::Lost(_) => format!("unknown without all {}", lost.lack(&need)),
            _ => "no istiod that was asked has a stream of it".to_owned(),
        };
        section.add("", says, None);
    }
    section
}

fn ports_of(facts: &DescribeFacts<'_>, pod: &Object) -> DescriptionSection {
    let mut section = DescriptionSection::new("Ports");
    let containers = pod.spec_list("containers").iter();
    let declared: Vec<String> = containers
        .filter(|container| container.str_at("name") != Some("istio-proxy"))
        .flat_map(|container| {
            let name = container.str_at("name").unwrap_or_default();
            let ports = container.get("ports").map_or(&[][..], Node::items).iter();
            ports.filter_map(move |port| {
                Some(format!("{} ({name})", port.get("containerPort")?.to_json()))
            })
        })
        .collect();
    section.add(
        "containers",
        if declared.is_empty() {
            "declare none".to_owned()
        } else {
            few(&declared)
        },
        None,
    );
    let services = facts.mesh.services_of(pod);
    if services.is_empty() {
        let says = facts.unless_unread(&[Kind::Service], "none selects this pod");
        section.add("Services", says, None);
    }
    for service in services {
        for port in ports(service) {
            let target = target_port(&port, pod)
                .map_or_else(|| "a port it does not have".to_owned(), |n| n.to_string());
            section.object(
                format!("{}:{} → {target}", service.id.name, port.number),
                format!("{}, {}", port.protocol.word(), why(&port)),
                service,
            );
        }
    }
    section
}

/// What makes Istio take a port for what it takes it for.
pub(super) fn why(port: &ServicePort<'_>) -> String {
    let says_nothing = Protocol::of_port(0, port.name, None, "TCP") == Protocol::Sniffed;
    match port.app_protocol {
        _ if port.protocol == Protocol::Udp => "which proxies leave alone".to_owned(),
        Some(protocol) => format!("by appProtocol {protocol}"),
        None if port.protocol == Protocol::Tcp && says_nothing => {
            format!("by its number {}", port.number)
        }
        None if port.name.is_empty() => "the port has no name: by its first bytes".to_owned(),
        None if says_nothing => format!(
            "its name {} tells no protocol: by its first bytes",
            port.name
        ),
        None => format!("by its name {}", port.name),
    }
}

/// Its own endpoints of every Service that selects it.
fn seen_by_callers(facts: &DescribeFacts<'_>, pod: &Object) -> DescriptionSection {
    let hosts: Vec<String> = facts
        .mesh
        .services_of(pod)
        .into_iter()
        .map(|of| service::host(facts, of))
        .collect();
    callers::section(
        facts,
        &hosts,
        facts.mesh.pod(&pod.id.namespace, &pod.id.name),
    )
}

/// What it may call.
fn outbound(facts: &DescribeFacts<'_>, pod: &Object) -> DescriptionSection {
    let mut section = DescriptionSection::new("Calls of its own");
    if proxy(pod).is_none() {
        return section;
    }
    let scope = facts.mesh.scope(pod);
    let sidecar = facts
        .mesh
        .sidecar_of(&Workload::of(pod))
        .filter(|_| !is_router(pod));
    if let Some(sidecar) = sidecar {
        section.object("knows", "only the hosts that a Sidecar lets in", sidecar);
    } else {
        let says = "every host that is exported to its namespace";
        let says = facts.unless_unread(&[Kind::Sidecar], says);
        section.add("knows", says, None);
    }
    let (is_registry_only, by) = facts.mesh.is_registry_only(scope);
    let says = if is_registry_only {
        "refused (REGISTRY_ONLY)"
    } else {
        "let through (ALLOW_ANY)"
    };
    section.add(
        "unknown hosts",
        facts.unless_unread(&[Kind::Sidecar, Kind::ConfigMap], says),
        by.map(|(sidecar, _)| &sidecar.id)
            .or(facts.mesh.config.object.as_ref()),
    );
    let tls = if facts.mesh.config.auto_mtls {
        "mutual TLS wherever the server has a proxy"
    } else {
        "plain text unless a DestinationRule says otherwise"
    };
    let tls = facts.unless_unread(&[Kind::ConfigMap], tls);
    section.add("mTLS", tls, facts.mesh.config.object.as_ref());
    section
}
