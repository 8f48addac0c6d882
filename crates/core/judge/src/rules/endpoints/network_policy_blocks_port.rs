//! See the page beside this file.

mod wanted;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use super::called_service;
use crate::finding::{Confidence, Evidence, Rung, Severity};
use crate::rules::sync::repairs;
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::access_log::{self, AccessLine};
use meshladder_capture::snapshot::{DocId, Inputs, Part, ProxyRef};
use meshladder_mesh::network_policy::{ClosedEnd, Direction, End, Passage};
use meshladder_sim::trace::{EndpointFact, HopDirection};
use meshladder_sim::walk::Caller;

pub(super) static RULE: Rule = Rule {
    code: "ML0722",
    name: "network-policy-blocks-port",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "no NetworkPolicy keeps a caller from the port of the pods that it calls",
    needs: Inputs::of(&[Kind::Pod, Kind::NetworkPolicy]),
    uses: Inputs::of(&[
        Kind::Namespace,
        Kind::Service,
        Kind::EndpointSlice,
        Kind::VirtualService,
        Kind::Gateway,
        Kind::AuthorizationPolicy,
    ])
    .and(&[Part::Proxies, Part::Logs]),
    explains: &["ML0710", "ML0711", "ML0723", "ML0731", "ML08", "ML10"],
    docs: include_str!("network_policy_blocks_port.md"),
    check: Check::Either(check),
};

/// One connection that the call needs.
struct Way<'f> {
    from: End<'f>,
    to: End<'f>,
    port: u16,
    passage: Passage<'f>,
}

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    if facts.mesh.objects.of_kind(Kind::NetworkPolicy).is_empty() {
        return;
    }
    if let Some(case) = case {
        of_request(facts, case, out);
    } else {
        of_logs(facts, out);
        wanted::of_objects(facts, out);
    }
}

fn of_request(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    if !case.seen.is_none_or(is_of_connection) {
        return;
    }
    let ways = ways(facts, case);
    for way in &ways {
        out.examined();
        let Passage::Blocked(blocked) = &way.passage else {
            continue;
        };
        let failed = case
            .client_log
            .iter()
            .rfind(|line| is_to(line, way))
            .filter(|line| is_failure(line));
        if failed.is_none() && has_passed(case, way, blocked) {
            continue;
        }
        let others = ways.iter().filter(|other| other.port == way.port);
        let is_first = !out
            .findings
            .iter()
            .any(|finding| finding.subject == blocked[0].opening.policy.id);
        if is_first {
            let is_only_way = others.clone().all(|other| other.passage.is_blocked());
            tell(facts, Some(case), way, blocked, failed, out);
            let finding = out.findings.last_mut().expect("it was just told");
            if failed.is_none() && case.seen.is_none_or(|seen| seen.flags.is_empty()) {
                finding.confidence(Confidence::Likely);
            }
            if !is_only_way && failed.is_none() {
                finding.severity(Severity::Warning);
            }
        }
    }
    if case.seen.is_some_and(|seen| seen.has("UF"))
        && let Some(Passage::Unknown(fact, _)) = ways
            .iter()
            .map(|way| &way.passage)
            .find(|way| !is_allowed(way))
    {
        out.unknown(fact.clone());
    }
}

/// Nobody asked: what the proxies' logs say of connections that failed, each address by its last
/// line.
fn of_logs(facts: &Facts<'_>, out: &mut Sink) {
    for pod in facts.mesh.pods.iter().filter(|pod| pod.has_proxy) {
        let Some(stored) = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) else {
            continue;
        };
        let Some(log) = called_service::proxy_log(facts, stored) else {
            continue;
        };
        let outbound = access_log::lines(&log).filter(|line| line.cluster.starts_with("outbound|"));
        let last: BTreeMap<String, AccessLine> = outbound
            .map(|line| (line.upstream_host.clone(), line))
            .collect();
        for line in last.values() {
            out.examined();
            let Ok(address) = line.upstream_host.parse::<SocketAddr>() else {
                continue;
            };
            let way = way(facts, End::Pod(stored), address);
            if let (Passage::Blocked(blocked), true) = (&way.passage, is_failure(line)) {
                tell(facts, None, &way, blocked, Some(line), out);
            }
        }
    }
}

/// A dropped connection is one that is never made: no answer, `UF` after the connect timeout, `UT`
/// when the route's own is shorter, `DC` when the caller's is.
fn is_of_connection(seen: &Symptom) -> bool {
    let flagged = seen
        .flags
        .iter()
        .any(|flag| ["UF", "UT", "DC", "URX"].contains(&flag.as_str()));
    flagged || (seen.flags.is_empty() && [0, 502, 503, 504].contains(&seen.code))
}

fn is_failure(line: &AccessLine) -> bool {
    line.flags.iter().any(|flag| flag == "UF")
}

fn is_allowed(passage: &Passage<'_>) -> bool {
    matches!(passage, Passage::Allowed(_))
}

fn is_to(line: &AccessLine, way: &Way<'_>) -> bool {
    let address = line.upstream_host.parse::<SocketAddr>();
    address.is_ok_and(|address| {
        address.port() == way.port && addresses(way.to).contains(&address.ip())
    })
}

/// Whether a request of the caller came through since the policies are there: then they are not
/// enforced, or not as they are read. A connection that was kept alive comes through too, so a
/// failure to connect that was seen weighs more.
fn has_passed(case: &Case<'_>, way: &Way<'_>, blocked: &[ClosedEnd<'_>]) -> bool {
    let policies = blocked.iter().flat_map(|end| &end.policies);
    let made = policies
        .filter_map(|part| {
            part.policy
                .node
                .at(["metadata", "creationTimestamp"])?
                .str()
        })
        .max();
    let callers = addresses(way.from);
    let is_of_caller = |line: &AccessLine| {
        line.remote
            .parse::<SocketAddr>()
            .is_ok_and(|at| callers.contains(&at.ip()))
    };
    let mut lines: Box<dyn Iterator<Item = &AccessLine>> = match way.from {
        End::Unknown(_) => Box::new(case.client_log.iter()),
        _ => Box::new(case.server_log.iter().filter(|line| is_of_caller(line))),
    };
    let is_seen = case.seen.is_some_and(|seen| seen.has("UF"));
    !is_seen && made.is_some_and(|made| lines.any(|line| line.start.as_str() > made))
}

fn addresses(end: End<'_>) -> Vec<IpAddr> {
    match end {
        End::Pod(pod) => meshladder_mesh::ips(&pod.node),
        End::Address(address) => vec![address],
        End::Unknown(_) => Vec::new(),
    }
}

fn way<'f>(facts: &Facts<'f>, from: End<'f>, to: SocketAddr) -> Way<'f> {
    let passage = facts
        .mesh
        .connection(from, End::Address(to.ip()), to.port(), "TCP");
    let pod = facts
        .mesh
        .pod_at(to.ip())
        .and_then(|pod| facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name));
    Way {
        from,
        to: pod.map_or(End::Address(to.ip()), End::Pod),
        port: to.port(),
        passage,
    }
}

/// From each proxy to the endpoints that it may choose, and to the first of them.
fn ways<'f>(facts: &Facts<'f>, case: &Case<'_>) -> Vec<Way<'f>> {
    let sends = case
        .trace
        .hops
        .iter()
        // What ztunnel and tunnels carry goes to another port.
        .filter(|hop| hop.direction != HopDirection::Inbound && !hop.is_ztunnel);
    let between = sends.flat_map(|hop| {
        let ProxyRef { namespace, pod, .. } = &hop.proxy;
        let pod = facts.mesh.objects.get(Kind::Pod, namespace, pod);
        let direct = |endpoint: &&EndpointFact| !endpoint.is_tunnelled();
        let sockets = hop.endpoints.iter().filter(direct);
        let sockets = sockets.filter_map(|endpoint| endpoint.socket);
        let addresses = sockets.map(SocketAddr::from);
        let addresses = addresses.filter(|address| !address.ip().is_loopback());
        addresses.filter_map(move |address| Some(way(facts, End::Pod(pod?), address)))
    });
    first_way(facts, case).into_iter().chain(between).collect()
}

/// For a caller that no proxy speaks for, and for one whose proxy does not tell where it sends the
/// call.
fn first_way<'f>(facts: &Facts<'f>, case: &Case<'_>) -> Vec<Way<'f>> {
    let first = case.trace.hops.first();
    if first.is_some_and(|hop| hop.is_ztunnel) {
        return Vec::new();
    }
    let port = case.call.to.port;
    let (from, service) = match (&case.call.from, case.client, first) {
        (Caller::Outside, _, Some(gateway)) => {
            let is_gateway =
                |pod: &&meshladder_mesh::PodFacts| gateway.proxy.is_of(&pod.namespace, &pod.name);
            let mut services = facts.mesh.services.iter();
            let leads = services.find(|service| {
                service.ports.iter().any(|(number, _)| *number == port)
                    && facts.mesh.pods_of(service).any(|pod| is_gateway(&pod))
            });
            (End::Unknown("a caller outside the cluster"), leads)
        }
        (_, Some(client), hop)
            if hop.is_none_or(|hop| {
                hop.direction == HopDirection::Inbound || hop.endpoints.is_empty()
            }) =>
        {
            let Some(pod) = facts
                .mesh
                .objects
                .get(Kind::Pod, &client.namespace, &client.name)
            else {
                return Vec::new();
            };
            let called = case.service.map(|s| (&s.namespace, &s.name));
            (
                End::Pod(pod),
                facts
                    .mesh
                    .services
                    .iter()
                    .find(|s| Some((&s.namespace, &s.name)) == called),
            )
        }
        _ => return Vec::new(),
    };
    let reaches = service
        .map(|service| facts.mesh.reach_service(from, service, port, "TCP"))
        .unwrap_or_default();
    reaches
        .into_iter()
        .map(|reach| Way {
            from,
            to: reach.to,
            port: reach.port,
            passage: reach.passage,
        })
        .collect()
}

fn tell(
    facts: &Facts<'_>,
    case: Option<&Case<'_>>,
    way: &Way<'_>,
    blocked: &[ClosedEnd<'_>],
    failed: Option<&AccessLine>,
    out: &mut Sink,
) {
    let first = &blocked[0];
    let policy = first.opening.policy;
    let (from, to) = (named(facts, way.from), named(facts, way.to));
    let message = match first.direction {
        Direction::Egress => format!(
            "{} does not let {from} call out to {to} (TCP {})",
            policy.id, way.port
        ),
        Direction::Ingress => format!(
            "{} does not let {from} in to {to} (TCP {})",
            policy.id, way.port
        ),
    };
    let message = format!("{message}, so connections are not answered and time out");
    let lists = first
        .policies
        .iter()
        .find(|part| part.policy.id == policy.id)
        .unwrap_or(&first.policies[0]);
    let all = Evidence::of(
        lists.policy,
        lists.node,
        format!("all that {} lets through", lists.policy.id),
    );
    let near = first
        .nearest
        .as_ref()
        .map(|near| Evidence::of(near.policy, near.field, near.what.clone()));
    let finding = out.find(
        policy.id.clone(),
        message,
        near.clone().unwrap_or_else(|| all.clone()),
    );
    if near.is_some() {
        finding.see(all);
    }
    if let Some(line) = failed {
        let shows = format!("a connection to {} that failed", line.upstream_host);
        finding.see(Evidence::line(&DocId::new(&line.doc), line.number, shows));
    }
    for end in [way.from, way.to] {
        if let End::Pod(pod) = end {
            finding.hits(pod.id.clone());
        }
    }
    if let Some(service) = case.and_then(|case| case.service) {
        finding.hits(meshladder_mesh::ObjectRef::of(
            Kind::Service,
            &service.namespace,
            &service.name,
        ));
    }
    repairs(finding, blocked);
}

/// `shop/cart`
fn named(facts: &Facts<'_>, end: End<'_>) -> String {
    match end {
        End::Pod(pod) => format!(
            "{}/{}",
            pod.id.namespace,
            called_service::workload_ref(facts.mesh, pod).name
        ),
        End::Address(address) => address.to_string(),
        End::Unknown(what) => what.to_owned(),
    }
}
