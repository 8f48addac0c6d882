//! How a request ended, as the proxies' logs and the walk tell it. A server's line is the best
//! witness: a client that logs `via_upstream` only relays.

use crate::finding::{Evidence, Fix, Op};
use crate::rules::{Case, Facts, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::access_log::AccessLine;
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::DocId;
use meshladder_mesh::host::covers;
use meshladder_mesh::policies::Workload;
use meshladder_mesh::services::{self, ServicePort};
use meshladder_mesh::traffic::hosts;
use meshladder_mesh::{Object, PodFacts};
use meshladder_sim::trace::{Branch, EndKind, Hop, HopDirection, StepOutcome};
use meshladder_sim::walk::Caller;
use meshladder_text::tree::{Node, Value};

/// One account of how the request ended.
#[derive(Debug)]
pub(in crate::rules) struct Account<'r> {
    pub(in crate::rules) side: Side,
    pub(in crate::rules) code: u16,
    pub(in crate::rules) flags: Vec<&'r str>,
    /// Response code details; for TCP why the connection was ended.
    pub(in crate::rules) details: &'r str,
    /// The pod whose proxy tells it.
    pub(in crate::rules) pod: Option<&'r PodFacts>,
    /// The line of its log; none when only the walk tells it.
    pub(in crate::rules) line: Option<&'r AccessLine>,
    pub(in crate::rules) proof: Evidence,
}

/// Whose proxy tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rules) enum Side {
    /// The caller's, or a gateway's.
    Client,
    /// The called pod's.
    Server,
}

impl Account<'_> {
    pub(in crate::rules) fn has(&self, flag: &str) -> bool {
        self.flags.contains(&flag)
    }

    /// Whether the server's proxy tells how its own application answered.
    pub(in crate::rules) fn is_of_application(&self) -> bool {
        self.side == Side::Server
            && self
                .line
                .is_some_and(|line| line.cluster.starts_with("inbound|"))
    }
}

/// Every account of an end like the one that was seen: the servers' logs first, then the client's,
/// then the walk. Without anything seen the last line of each log counts. Nothing after a success.
pub(in crate::rules) fn of<'r>(facts: &Facts<'r>, case: &'r Case<'_>) -> Vec<Account<'r>> {
    if case.seen.is_some_and(Symptom::is_success) {
        return Vec::new();
    }
    let of_log = |lines: &'r [AccessLine], side: Side| {
        alike(case, lines, side)
            .into_iter()
            .map(move |line| logged(facts, line, side))
    };
    let walked = case
        .trace
        .branches
        .iter()
        .filter(|branch| branch.end.kind != EndKind::Forwarded);
    let walked =
        walked.filter(|branch| fits(case, branch.end.code, &branch.end.flags, Side::Server));
    of_log(&case.server_log, Side::Server)
        .chain(of_log(&case.client_log, Side::Client))
        .chain(walked.map(|branch| foreseen(facts, case, branch)))
        .collect()
}

/// The lines that fit, as far as they are like the last of them: a log also keeps what was the
/// matter before.
fn alike<'r>(case: &Case<'_>, lines: &'r [AccessLine], side: Side) -> Vec<&'r AccessLine> {
    let of_end =
        |line: &&AccessLine| case.seen.is_none() || fits(case, line.code, &line.flags, side);
    let mut lines: Vec<&AccessLine> = lines.iter().filter(of_end).collect();
    if let Some(last) = lines.iter().max_by_key(|line| &line.start).copied() {
        let same = |line: &AccessLine| {
            line.code == last.code && line.flags == last.flags && line.details == last.details
        };
        lines.retain(|line| same(line) && (case.seen.is_some() || line.start == last.start));
    }
    lines
}

/// Whether an end is the one that was seen: flags of the client's proxy rule out answers that it
/// only relayed, but for `URX`, which counts relayed answers.
fn fits(case: &Case<'_>, code: u16, flags: &[impl AsRef<str>], side: Side) -> bool {
    let Some(seen) = case.seen else { return true };
    let relayed = side == Side::Server && seen.flags.iter().all(|flag| flag == "URX");
    let shared = flags.iter().any(|flag| seen.has(flag.as_ref()));
    code == seen.code && (seen.flags.is_empty() || relayed || shared)
}

fn logged<'r>(facts: &Facts<'r>, line: &'r AccessLine, side: Side) -> Account<'r> {
    let details = if line.details.is_empty() {
        &line.termination
    } else {
        &line.details
    };
    Account {
        side,
        code: line.code,
        flags: line.flags.iter().map(String::as_str).collect(),
        details,
        pod: pod_logging(facts, line),
        line: Some(line),
        proof: line_shows(line),
    }
}

/// The pod whose proxy logged a line.
pub(in crate::rules) fn pod_logging<'r>(
    facts: &Facts<'r>,
    line: &AccessLine,
) -> Option<&'r PodFacts> {
    let id = DocId::new(line.doc.as_str());
    let mut parts = id.split().1.split('/').skip(1);
    facts.mesh.pod(parts.next()?, parts.next()?)
}

/// The last thing that the caller's proxy logged of the request, when it is a connection that
/// nobody took: TLS that fails is another matter. Who gives up before the connection does leaves
/// `DC` or `UT`, and the proxy has no address of its own on a connection that was never made.
pub(in crate::rules) fn unconnected<'r>(case: &'r Case<'_>) -> Option<&'r AccessLine> {
    const NOT_TAKEN: [&str; 4] = [
        "connection_timeout",
        "delayed_connect_error",
        "connection_refused",
        "remote_connection_failure",
    ];
    /// What takes less may be a timeout that is too short.
    const LONG_MS: u64 = 1000;
    let is_other = |seen: &Symptom| {
        let is_known = ["UF", "URX", "UT"].iter().any(|flag| seen.has(flag));
        !is_known && seen.code != 0 && seen.is_of_a_proxy()
    };
    if case
        .seen
        .is_some_and(|seen| is_other(seen) || seen.is_success())
    {
        return None;
    }
    let of_end = |line: &&AccessLine| fits(case, line.code, &line.flags, Side::Client);
    let last = case.client_log.iter().filter(of_end);
    let last = last.max_by_key(|line| &line.start);
    let line = last.or_else(|| case.witnesses.iter().max_by_key(|line| &line.start))?;
    let why = format!("{} {}", line.details, line.failure);
    let is_long = line.duration.is_some_and(|ms| ms >= LONG_MS);
    let is_untaken = line.has("UF")
        && !why.contains("TLS_error")
        && NOT_TAKEN.iter().any(|word| why.contains(word))
        && (is_long || !why.contains("connection_timeout"));
    let is_tcp = line.method.is_empty();
    // Of TCP the log may say no more than that there was no connection.
    let is_untaken = is_untaken
        || (is_tcp && line.has("UF") && why.trim().is_empty() && line.upstream_local.is_empty());
    let is_waiting = is_long
        && line.upstream_local.is_empty()
        && (is_tcp || ["DC", "UT"].iter().any(|flag| line.has(flag)));
    ((is_untaken || is_waiting) && !line.upstream_host.is_empty()).then_some(line)
}

/// Whether a connection was refused rather than not answered.
pub(in crate::rules) fn is_refused(line: &AccessLine) -> bool {
    [&line.details, &line.failure]
        .iter()
        .any(|why| why.to_ascii_lowercase().contains("refused"))
}

/// The pod that a proxy's line says it called.
pub(in crate::rules) fn pod_called<'r>(
    facts: &Facts<'r>,
    line: &AccessLine,
) -> Option<&'r PodFacts> {
    let (address, _) = line.upstream_host.rsplit_once(':')?;
    facts
        .mesh
        .pod_at(address.trim_matches(['[', ']']).parse().ok()?)
}

/// `the proxy logged 503 UC upstream_reset…`
pub(in crate::rules) fn line_shows(line: &AccessLine) -> Evidence {
    let flags = if line.flags.is_empty() {
        "-".to_owned()
    } else {
        line.flags.join(",")
    };
    let details = if line.details.is_empty() {
        &line.termination
    } else {
        &line.details
    };
    let shows = format!("the proxy logged {} {flags} {details}", line.code);
    Evidence::line(
        &DocId::new(line.doc.as_str()),
        line.number,
        shows.trim_end(),
    )
}

fn foreseen<'r>(facts: &Facts<'r>, case: &'r Case<'_>, branch: &'r Branch) -> Account<'r> {
    let ends =
        |hop: &&Hop| hop.log.details == branch.end.details && hop.log.code == branch.end.code;
    let hop = case
        .trace
        .hops
        .iter()
        .rev()
        .find(ends)
        .or(case.trace.hops.last());
    let is_inbound = hop.is_some_and(|hop| hop.direction == HopDirection::Inbound);
    let pod = hop.and_then(|hop| facts.mesh.pod(&hop.proxy.namespace, &hop.proxy.pod));
    Account {
        side: if is_inbound {
            Side::Server
        } else {
            Side::Client
        },
        code: branch.end.code,
        flags: branch.end.flags.clone(),
        details: &branch.end.details,
        pod,
        line: None,
        proof: dump_shows(hop, branch),
    }
}

/// The bytes of the dump that decided: the end's own, else the filter that answers.
fn dump_shows(hop: Option<&Hop>, branch: &Branch) -> Evidence {
    let shows = format!(
        "by its configuration the proxy ends it: {}",
        branch.end.because
    );
    let answers = |hop: &&Hop| {
        hop.steps
            .iter()
            .rev()
            .find(|step| step.outcome == StepOutcome::Answered)
            .cloned()
    };
    let step = hop.as_ref().and_then(answers);
    let step = step.or_else(|| {
        hop?.steps
            .iter()
            .rev()
            .find(|step| !step.evidence.is_empty())
            .cloned()
    });
    if let Some(at) = branch
        .end
        .evidence
        .first()
        .or(step.as_ref().and_then(|step| step.evidence.first()))
    {
        Evidence::offset(&at.doc, at.offset, shows)
    } else {
        let proxy = hop.map(|hop| hop.proxy.clone()).unwrap_or_default();
        Evidence::document(&DocId::of_proxy(&proxy, "config_dump.json"), shows)
    }
}

/// The pod whose proxy calls the server: the caller, or the gateway that it comes through.
pub(in crate::rules) fn caller<'r>(facts: &Facts<'r>, case: &Case<'r>) -> Option<&'r PodFacts> {
    case.client.or_else(|| {
        let proxy = &case.trace.sender()?.proxy;
        facts.mesh.pod(&proxy.namespace, &proxy.pod)
    })
}

/// The port of the Service that was called.
pub(in crate::rules) fn called_port<'r>(
    facts: &Facts<'r>,
    case: &Case<'_>,
) -> Option<(&'r Object, ServicePort<'r>)> {
    let service = case.service?;
    let stored = facts.mesh.service(&service.namespace, &service.name)?;
    services::ports(stored)
        .find(|port| port.number == case.call.to.port)
        .map(|port| (stored, port))
}

/// The ServiceEntry of the host that is called, when no Service is behind it.
pub(in crate::rules) fn outside<'r>(facts: &Facts<'r>, case: &Case<'_>) -> Option<&'r Object> {
    let of_cluster = |cluster: &str| {
        facts
            .mesh
            .registered(ClusterName::parse(cluster)?.host)
            .next()
    };
    let owner = case
        .clusters()
        .find_map(of_cluster)
        .or_else(|| facts.mesh.registered(&case.host).next());
    owner.filter(|owner| owner.id.is(Kind::ServiceEntry) && case.servers.is_empty())
}

/// What the DestinationRule that the caller's proxy goes by says of `tls` or `connectionPool`, for
/// the clusters that the request may take.
pub(in crate::rules) fn client_setting<'r>(
    facts: &Facts<'r>,
    case: &Case<'r>,
    key: &str,
) -> Option<(&'r Object, &'r Node)> {
    let caller = caller(facts, case)?;
    let scope = facts.mesh.scope(facts.mesh.objects.get(
        Kind::Pod,
        &caller.namespace,
        &caller.name,
    )?);
    let setting = |host: &str, port: u16, subset: &str| {
        facts.mesh.destination_rule(scope, host)?.setting(
            key,
            port,
            Some(subset).filter(|subset| !subset.is_empty()),
        )
    };
    let of_cluster = |cluster: &str| {
        let name = ClusterName::parse(cluster)?;
        setting(name.host, name.port.parse().ok()?, name.subset)
    };
    case.clusters()
        .find_map(of_cluster)
        .or_else(|| setting(&case.host, case.call.to.port, ""))
}

/// The VirtualServices that may route the request, the one that does first.
pub(in crate::rules) fn virtual_services<'r>(
    facts: &Facts<'r>,
    case: &Case<'_>,
) -> Vec<&'r Object> {
    if case.call.from == Caller::Outside {
        let authority = case
            .call
            .headers
            .iter()
            .find(|(name, _)| name == "host")
            .map(|(_, value)| value.as_str());
        let host = authority.unwrap_or(&case.call.to.host);
        let services = facts.mesh.objects.of_kind(Kind::VirtualService).iter();
        return services
            .filter(|service| {
                !service.spec_list("gateways").is_empty()
                    && hosts(service, &facts.mesh.domain).any(|(_, h)| covers(&h, host))
            })
            .collect();
    }
    let caller = case
        .client
        .and_then(|pod| facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name));
    caller
        .map(|pod| {
            facts
                .mesh
                .virtual_services(facts.mesh.scope(pod), &case.host)
        })
        .unwrap_or_default()
}

/// What the call is, in words: `GET /x`, or the address for TCP.
pub(in crate::rules) fn call(case: &Case<'_>) -> String {
    let to = &case.call.to;
    match to.scheme {
        meshladder_sim::walk::Scheme::Tcp => format!("connections to {}:{}", to.host, to.port),
        _ => format!("{} {}", case.call.method, to.path),
    }
}

/// The parts of EnvoyFilters that put something of a type into a pod's proxy, as far as selectors
/// and contexts tell.
pub(in crate::rules) fn envoy_filters<'r>(
    facts: &Facts<'r>,
    pod: &PodFacts,
    type_part: &str,
) -> Vec<(&'r Object, &'r Node)> {
    let Some(stored) = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) else {
        return Vec::new();
    };
    let filters = facts
        .mesh
        .policies(Kind::EnvoyFilter, &Workload::of(stored));
    let patches = filters.into_iter().flat_map(|filter| {
        filter
            .spec_list("configPatches")
            .iter()
            .filter_map(move |patch| Some((filter, patch.at(["patch", "value"])?)))
    });
    patches
        .filter(|(_, value)| find_type(value, type_part).is_some())
        .collect()
}

/// Takes a patch out of an EnvoyFilter: alone where others stay, else with the object.
pub(in crate::rules) fn without_patch(filter: &Object, part: &Node) -> Vec<Fix> {
    let mut fixes = vec![Fix::delete(&filter.id)];
    let patches = filter.spec_list("configPatches");
    let at = filter.path_of(part);
    let place = at
        .strip_prefix("/spec/configPatches/")
        .and_then(|rest| rest.split('/').next());
    if let (2.., Some(place)) = (patches.len(), place) {
        let remove = vec![Op::remove(format!("/spec/configPatches/{place}"))];
        fixes.insert(0, Fix::patch(&filter.id, remove));
    }
    fixes
}

/// The message of a type, anywhere below a node; a `TypedStruct` says in `type_url` what it stands
/// for.
pub(in crate::rules) fn find_type<'n>(node: &'n Node, type_part: &str) -> Option<&'n Node> {
    match &node.value {
        Value::Object(members) => {
            let is_it = |key: &str| node.str_at(key).is_some_and(|own| own.contains(type_part));
            if is_it("@type") || is_it("type_url") {
                return Some(node);
            }
            members
                .iter()
                .find_map(|member| find_type(&member.value, type_part))
        }
        Value::Array(items) => items.iter().find_map(|item| find_type(item, type_part)),
        _ => None,
    }
}
