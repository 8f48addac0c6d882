//! Gathers what is known of a request.

use std::collections::BTreeSet;

use crate::logs;
use crate::rules::{Case, Facts, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::access_log::{self, AccessLine, FormatList, LogFormat};
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::{Coverage, DocId, Need};
use meshladder_mesh::scope::is_router;
use meshladder_mesh::{Mesh, PodFacts, ServiceFacts};
use meshladder_sim::trace::{Branch, EndKind, Trace};
use meshladder_sim::walk::{Call, Caller, Scheme};

/// A request with both its ends and what they logged.
pub(super) fn build<'a>(
    facts: &Facts<'a>,
    call: &'a Call,
    trace: &'a Trace,
    seen: Option<&'a Symptom>,
) -> Case<'a> {
    let mesh = facts.mesh;
    let client = client(mesh, call);
    let service = service(mesh, call);
    let host = service.map_or_else(
        || call.to.host.trim_end_matches('.').to_ascii_lowercase(),
        |service| mesh.domain.service(&service.name, &service.namespace),
    );
    let sender = trace
        .sender()
        .map(|hop| (hop.proxy.namespace.as_str(), hop.proxy.pod.as_str()));
    let sender = sender.or_else(|| client.map(|pod| (pod.namespace.as_str(), pod.name.as_str())));
    let servers: Vec<&PodFacts> = pods_on_path(mesh, call, trace)
        .filter(|pod| !client.is_some_and(|c| c.name == pod.name && c.namespace == pod.namespace))
        .collect();
    let of_mesh = logs::of_mesh(mesh).0;
    let log_of = |pod: (&str, &str), ids: &BTreeSet<String>| {
        log_of(facts, pod, (call, &host), &of_mesh, ids)
    };
    let client_log = sender
        .map(|pod| log_of(pod, &BTreeSet::new()))
        .unwrap_or_default();
    // A route may rewrite host and path; the id of a request stays.
    let ids = client_log
        .iter()
        .map(|line| line.request_id.clone())
        .filter(|id| !id.is_empty())
        .collect();
    let server_log = servers
        .iter()
        .flat_map(|pod| log_of((&pod.namespace, &pod.name), &ids))
        .collect();
    let is_bare = client.is_some_and(|client| !client.has_proxy);
    let witnesses = if is_bare {
        witnesses(facts, &servers)
    } else {
        Vec::new()
    };
    Case {
        call,
        trace,
        seen,
        client,
        gateways: gateways(mesh, call, trace),
        service,
        host,
        servers,
        client_log,
        server_log,
        witnesses,
    }
}

/// The lines of other proxies that called the servers; in a large mesh nobody is asked.
fn witnesses(facts: &Facts<'_>, servers: &[&PodFacts]) -> Vec<AccessLine> {
    const MOST_LOGS: usize = 64;
    let proxies: Vec<&PodFacts> = facts.mesh.pods.iter().filter(|pod| pod.has_proxy).collect();
    if proxies.len() > MOST_LOGS {
        return Vec::new();
    }
    let is_called = |line: &AccessLine| {
        let address = line
            .upstream_host
            .rsplit_once(':')
            .and_then(|(address, _)| address.parse().ok());
        address.is_some_and(|address| servers.iter().any(|server| server.ips.contains(&address)))
            && line.cluster.starts_with("outbound|")
    };
    let mut told = Vec::new();
    for proxy in proxies {
        let id = format!("logs/{}/{}/istio-proxy.log", proxy.namespace, proxy.name);
        if let Ok(log) = facts.snapshot.open(&DocId::new(id)) {
            told.extend(access_log::lines(&log).filter(is_called));
        }
    }
    told
}

/// The gateways that may take a call from outside: the one of its walk, else those that a Gateway
/// gives its port, else any.
fn gateways<'a>(mesh: &'a Mesh, call: &Call, trace: &Trace) -> Vec<&'a PodFacts> {
    if call.from != Caller::Outside {
        return Vec::new();
    }
    if let Some(hop) = trace.sender() {
        let met = mesh.pod(&hop.proxy.namespace, &hop.proxy.pod);
        return met.into_iter().collect();
    }
    let stored = |pod: &PodFacts| mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name);
    let all: Vec<&PodFacts> = mesh
        .pods
        .iter()
        .filter(|pod| stored(pod).is_some_and(is_router))
        .collect();
    let takes = |pod: &&&PodFacts| {
        stored(pod).is_some_and(|pod| mesh.server_for(pod, call.to.port, &call.to.host).is_some())
    };
    let taking: Vec<&PodFacts> = all.iter().filter(takes).copied().collect();
    if taking.is_empty() { all } else { taking }
}

/// Whom the request may reach, and what may keep it from there: without these no walk is known to
/// end well.
const WAY: [Kind; 5] = [
    Kind::Pod,
    Kind::Service,
    Kind::Namespace,
    Kind::EndpointSlice,
    Kind::NetworkPolicy,
];

/// Whether a fact that could not be read may be why the request went as it did: any, after a
/// failure; after a success that somebody asks about all the same, objects that were refused;
/// before anything was seen, those on its way.
pub(super) fn wants(case: &Case<'_>, need: &Need, coverage: &Coverage) -> bool {
    let (Need::Objects(kind), Coverage::Denied(_) | Coverage::Lost(_)) = (need, coverage) else {
        return bad_end(case).is_some();
    };
    bad_end(case).is_some() || case.seen.is_some() || WAY.contains(kind)
}

/// The failure that was seen, or else that the walk comes to; none when all went well.
pub(super) fn bad_end(case: &Case<'_>) -> Option<Symptom> {
    if let Some(seen) = case.seen {
        return (!seen.is_success()).then(|| seen.clone());
    }
    let fails = |branch: &&Branch| branch.end.kind != EndKind::Forwarded && branch.end.code >= 400;
    let end = &case.trace.branches.first().filter(fails)?.end;
    Some(Symptom {
        code: end.code,
        flags: end.flags.iter().map(ToString::to_string).collect(),
        details: None,
    })
}

fn client<'a>(mesh: &'a Mesh, call: &Call) -> Option<&'a PodFacts> {
    match &call.from {
        Caller::Pod { namespace, name } => mesh.pod(namespace, name),
        _ => None,
    }
}

fn service<'a>(mesh: &'a Mesh, call: &Call) -> Option<&'a ServiceFacts> {
    let namespace = if let Caller::Pod { namespace, .. } = &call.from {
        namespace
    } else {
        "default"
    };
    let host = call.to.host.trim_end_matches('.').to_ascii_lowercase();
    let by_address = || {
        let address = call.to.host.parse().ok()?;
        mesh.services
            .iter()
            .find(|service| service.cluster_ips.contains(&address))
    };
    mesh.service_named(&host, namespace).or_else(by_address)
}

/// The client, the pods that the Service selects, and those behind the endpoints of the walk.
pub(super) fn pods_on_path<'a>(
    mesh: &'a Mesh,
    call: &'a Call,
    trace: &'a Trace,
) -> impl Iterator<Item = &'a PodFacts> {
    let selected = service(mesh, call)
        .into_iter()
        .flat_map(|service| mesh.pods_of(service));
    let endpoints = trace
        .hops
        .iter()
        .flat_map(|hop| &hop.endpoints)
        .filter_map(|endpoint| mesh.pod_at(endpoint.socket?.0));
    let address = call
        .to
        .host
        .parse()
        .ok()
        .and_then(|address| mesh.pod_at(address));
    let all: std::collections::BTreeMap<(&str, &str), &PodFacts> = client(mesh, call)
        .into_iter()
        .chain(selected)
        .chain(endpoints)
        .chain(address)
        .map(|pod| ((pod.namespace.as_str(), pod.name.as_str()), pod))
        .collect();
    all.into_values()
}

fn log_of(
    facts: &Facts<'_>,
    pod: (&str, &str),
    (call, host): (&Call, &str),
    of_mesh: &[LogFormat],
    ids: &BTreeSet<String>,
) -> Vec<AccessLine> {
    let (namespace, name) = pod;
    let id = DocId::new(format!("logs/{namespace}/{name}/istio-proxy.log"));
    let Ok(doc) = facts.snapshot.open(&id) else {
        return Vec::new();
    };
    // What the proxy says of itself counts more than what it should have been told.
    let mut formats = logs::of_proxies(facts.snapshot, &[pod]).0;
    formats.extend(of_mesh.iter().cloned());
    let formats = FormatList::new(formats);
    access_log::lines_in(&doc, &formats)
        .filter(|line| fits(line, call, host) || ids.contains(&line.request_id))
        .collect()
}

/// Whether a connection is to the port that was asked about, and to that host where the line says.
fn is_connection_to(line: &AccessLine, call: &Call, name: &str) -> bool {
    let port = call.to.port.to_string();
    let Some(cluster) = ClusterName::parse(&line.cluster) else {
        let ends = |address: &str| address.rsplit_once(':').is_some_and(|(_, own)| own == port);
        return ends(&line.local);
    };
    let is_host = cluster.host.is_empty() || cluster.host == name || cluster.host == call.to.host;
    cluster.port == port && is_host
}

/// Whether a logged request is of the kind that was asked about; `name` is its host in full.
fn fits(line: &AccessLine, call: &Call, name: &str) -> bool {
    let host = |authority: &str| {
        authority
            .rsplit_once(':')
            .map_or(authority, |(host, _)| host)
            .to_ascii_lowercase()
    };
    // Of TCP, and of TLS that the application itself speaks, a proxy sees connections only.
    if line.method.is_empty() && call.to.scheme != Scheme::Http {
        return is_connection_to(line, call, name);
    }
    let path = call.to.path.split(['?', '#']).next().unwrap_or_default();
    let given = call
        .headers
        .iter()
        .find(|(name, _)| name == "host")
        .map_or(&call.to.host, |(_, value)| value);
    let (given, logged) = (host(given), host(&line.authority));
    // A service has several names, so it is enough that one starts the other.
    let same_host = given == logged
        || given.starts_with(&format!("{logged}."))
        || logged.starts_with(&format!("{given}."));
    line.method == call.method && line.path_only() == path && same_host
}
