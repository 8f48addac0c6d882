//! See the page beside this file.

use std::collections::BTreeMap;

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::envoy::dump::{Dump, ResourceState, Section};
use meshladder_capture::snapshot::{DocId, Inputs, Part, ProxyRef};
use meshladder_mesh::scope::is_router;
use meshladder_mesh::services::{Protocol, ServicePort, ports};
use meshladder_mesh::{Object, PodFacts};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0525",
    name: "headless-service-takes-port",
    aka: &[],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "no headless TCP Service takes a port of HTTP Services for itself",
    needs: Inputs::of(&[Kind::Service]).and(&[Part::Proxies]),
    uses: Inputs::of(&[Kind::Pod]),
    explains: &["ML06", "ML07", "ML10"],
    docs: include_str!("headless_service_takes_port.md"),
    check: Check::Either(check),
};

/// Proxies of one mesh have the same listener there, unless a Sidecar says otherwise.
const LOOKED_AT: usize = 3;

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let services = || facts.mesh.objects.of_kind(Kind::Service).iter();
    let headless =
        |service: &&Object| service.spec_at(["clusterIP"]).and_then(Node::str) == Some("None");
    let mut http: BTreeMap<u16, Vec<&Object>> = BTreeMap::new();
    for service in services() {
        for port in ports(service).filter(|port| port.protocol.is_http()) {
            http.entry(port.number).or_default().push(service);
        }
    }
    for service in services().filter(headless) {
        for port in ports(service).filter(|port| port.protocol == Protocol::Tcp) {
            out.examined();
            let Some(shared) = http.get(&port.number) else {
                continue;
            };
            let host = facts
                .mesh
                .domain
                .service(&service.id.name, &service.id.namespace);
            let cluster = format!("outbound|{}||{host}", port.number);
            let is_met = |case: &Case<'_>| {
                !cluster.ends_with(&case.host) && case.clusters().any(|c| c == cluster)
            };
            if case.is_some_and(|case| !is_met(case)) {
                continue;
            }
            if let Some(proof) =
                proxies(facts, case).find_map(|proxy| taken(facts, &proxy, port.number, &cluster))
            {
                tell(service, &port, shared, proof, out);
            }
        }
    }
}

/// The proxies whose listeners are looked at: the caller's, or any few.
fn proxies<'f>(
    facts: &Facts<'f>,
    case: Option<&Case<'_>>,
) -> impl Iterator<Item = ProxyRef> + use<'f> {
    let of = |namespace: &str, pod: &str| ProxyRef {
        source: String::new(),
        namespace: namespace.to_owned(),
        pod: pod.to_owned(),
    };
    let first = case.and_then(|case| Some(case.trace.hops.first()?.proxy.clone()));
    let is_asked = case.is_some();
    let mesh = facts.mesh;
    let is_sidecar = move |pod: &&PodFacts| {
        let stored = mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name);
        pod.has_proxy && !is_asked && !stored.is_some_and(is_router)
    };
    let any = mesh.pods.iter().filter(is_sidecar).take(LOOKED_AT);
    first
        .into_iter()
        .chain(any.map(move |pod| of(&pod.namespace, &pod.name)))
}

/// Whether the listener for every address of a port is a TCP proxy to that cluster.
fn taken(facts: &Facts<'_>, proxy: &ProxyRef, port: u16, cluster: &str) -> Option<Evidence> {
    let document = facts
        .snapshot
        .open(&DocId::of_proxy(proxy, "config_dump.json"))
        .ok()?;
    let dump = Dump::index(&document.text, &[Section::Listeners]).ok()?;
    let name = format!("0.0.0.0_{port}");
    let listener = dump
        .of(Section::Listeners)
        .find(|one| one.name == name && one.state == ResourceState::Active)?;
    let text = listener.raw?.text();
    let is_tcp = !text.contains("http_connection_manager") && text.contains(cluster);
    is_tcp.then(|| {
        Evidence::offset(
            &document.id,
            listener.entry.offset(),
            format!("the listener of every address leads to {cluster}"),
        )
    })
}

fn tell(
    service: &Object,
    port: &ServicePort<'_>,
    shared: &[&Object],
    proof: Evidence,
    out: &mut Sink,
) {
    let first = shared
        .first()
        .map(|service| service.id.to_string())
        .unwrap_or_default();
    let more = if shared.len() > 1 {
        format!(" and {} more", shared.len() - 1)
    } else {
        String::new()
    };
    let message = format!(
        "{} is headless, has no pod and speaks TCP on port {}, so proxies send it all calls to that port, also those \
         to {first}{more}, which speak HTTP there",
        service.id, port.number
    );
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, port.node, "TCP, and no address"),
    );
    finding.see(proof);
    finding.hits(service.id.clone());
    finding
        .hits
        .extend(shared.iter().map(|service| service.id.clone()));
    finding.fix(Fix::advice(
        "give the headless Service another port, or pods: proxies then listen on their addresses",
    ));
}
