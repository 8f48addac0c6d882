//! What only a request shows: the requests that proxies' logs say failed are asked about, as `why`
//! would.

use std::collections::{BTreeMap, BTreeSet};

use super::{Question, Scope, climb_by, climbed, walk};
use crate::finding::{Confidence, Evidence, Finding, Rung, Severity, Subject};
use crate::report::Verdict;
use crate::rules::{Facts, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::access_log::{self, AccessLine};
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::{DocId, Snapshot};
use meshladder_mesh::{Mesh, ObjectRef, PodFacts};
use meshladder_sim::request::Claims;
use meshladder_sim::walk::{Call, Caller, Url};
use meshladder_text::time::Time;

mod plain_text;

/// Every request that is asked about climbs the whole ladder once more.
const MOST_ASKED: usize = 6;
/// An object may concern every proxy; in a larger mesh its requests are asked about one by one.
const MOST_LOGS: usize = 64;
/// What failed longer ago may have been repaired since.
const RECENT_SECONDS: i64 = 600;

/// A request that failed, and the line that says so.
struct Failure {
    call: Call,
    seen: Symptom,
    line: AccessLine,
    /// The pod whose proxy tells it.
    pod: ObjectRef,
    /// Whether the workload that was asked about made the request.
    is_own_call: bool,
    /// Whether it is one of many: once may be a try.
    goes_on: bool,
}

/// The causes of failures that the proxies' logs show: of a workload, of a namespace, due to an
/// object, or of anybody.
pub(super) fn causes(facts: &Facts<'_>, scope: &Scope) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for failure in failures(facts, scope)
        .into_iter()
        .chain(plain_text::refused(facts, scope))
    {
        let Some(root) = root(facts, &failure).filter(|root| bears(root, scope)) else {
            continue;
        };
        if found
            .iter()
            .all(|known| known.id() != root.id() && known.subject != root.subject)
        {
            found.push(told(facts, root, scope, &failure));
        }
    }
    found
}

/// A request that a caller's proxy says failed.
pub(super) struct LoggedFailure {
    pub(super) call: Call,
    pub(super) seen: Symptom,
    /// The line that says so.
    pub(super) proof: Evidence,
}

/// The requests that failed last, as their callers' proxies say.
pub(super) fn calls(facts: &Facts<'_>, scope: &Scope) -> Vec<LoggedFailure> {
    let mut calls = Vec::new();
    for Failure {
        call, seen, line, ..
    } in failures(facts, scope)
    {
        if !is_inbound(&line) {
            let doc = DocId::new(&line.doc);
            let proof = Evidence::line(&doc, line.number, "a request that failed by it");
            calls.push(LoggedFailure { call, seen, proof });
        }
    }
    calls
}

/// The root cause of a failure. A request is asked about without its headers, so either its walk
/// ends as was seen, or a log itself proves the cause.
fn root(facts: &Facts<'_>, failure: &Failure) -> Option<Finding> {
    let walked = walk(facts.snapshot, facts.mesh, &failure.call);
    let is_foreseen = walked
        .0
        .branches
        .iter()
        .any(|branch| branch.end.code == failure.line.code);
    let scope = Scope::Request(Box::new(failure.call.clone()));
    let question = Question {
        scope,
        seen: Some(failure.seen.clone()),
        threads: 1,
    };
    let report = climb_by(
        &climbed(),
        facts.snapshot,
        facts.mesh,
        &question,
        Some(&walked),
    );
    if report.verdict != Verdict::Broken {
        return None;
    }
    let mut findings = report.findings.into_iter().map(|told| told.finding);
    let root = findings.find(|finding| finding.is_loud() && finding.caused_by.is_empty())?;
    let of_log = root
        .evidence
        .iter()
        .any(|evidence| evidence.doc.as_str().starts_with("logs/"));
    let is_proven = match root.confidence {
        Confidence::Proven => of_log || is_foreseen,
        Confidence::Likely => of_log,
        Confidence::Possible => false,
    };
    // What istiod, injection and sync do to the workload is told without any request; a proxy on a
    // request's way that is behind need not be why the request failed. Plain text that is refused
    // is what being outside the mesh does.
    let is_outside = root.rung == Rung::Enrolment && failure.line.details == plain_text::REFUSED;
    let is_of_request = (root.rung > Rung::Sync || is_outside) && root.subject != Subject::Request;
    (is_proven && is_of_request).then_some(root)
}

/// Whoever asks about a Service asks about those who serve it too. That policies turn somebody away
/// is no news of a whole mesh: it is what they are there for.
fn bears(finding: &Finding, scope: &Scope) -> bool {
    match scope {
        Scope::Mesh | Scope::Namespace(_) => !["ML0901", "ML0902"].contains(&finding.code),
        Scope::Object(object) => object.is(Kind::Service) || finding.subject == *object,
        _ => true,
    }
}

/// A refusal is what a policy is there for: it is amiss only where nobody is let in.
fn told(facts: &Facts<'_>, mut finding: Finding, scope: &Scope, failure: &Failure) -> Finding {
    // A refusal because the mesh's own objects take the caller's identity away is nobody's wish.
    let is_of_mesh = matches!(
        finding.subject.kind(),
        "DestinationRule" | "PeerAuthentication"
    );
    let is_mishap = finding.code == "ML0908" && is_of_mesh;
    if finding.rung == Rung::Authorization && !is_mishap {
        let pods = finding.hits.iter().filter(|hit| hit.is(Kind::Pod));
        let refuses_all = !failure.is_own_call && refuses_all(facts, pods.chain([&failure.pod]));
        finding.severity(if refuses_all {
            Severity::Warning
        } else {
            Severity::Info
        });
    }
    // To turn plain text away is what a STRICT port is there for too: an alarm for those who go on
    // calling.
    if failure.line.details == plain_text::REFUSED {
        let is_asked = failure.is_own_call && matches!(scope, Scope::Workload { .. });
        if !is_asked && demands_tls(facts, &finding) {
            finding.is_side_effect();
        }
        finding.severity(if failure.goes_on || is_asked {
            Severity::Warning
        } else {
            Severity::Info
        });
    }
    let is_wide = matches!(scope, Scope::Mesh | Scope::Namespace(_));
    if is_wide && finding.rung == Rung::Upstream && serves_others(facts, failure) {
        // A limit that somebody wrote goes on turning requests away; an application may fail now
        // and then.
        let subject = finding.subject.object();
        let is_written = subject
            .and_then(|object| facts.mesh.objects.find(object))
            .is_some_and(|object| object.group.ends_with(".istio.io"));
        finding.severity(if is_written {
            Severity::Warning
        } else {
            Severity::Info
        });
    }
    if let Scope::Workload { object, .. } | Scope::Object(object) = scope {
        finding.hits(object.clone());
    }
    let doc = DocId::new(failure.line.doc.as_str());
    finding.see(Evidence::line(
        &doc,
        failure.line.number,
        "a request that failed",
    ));
    finding.hits(failure.pod.clone());
    finding
}

/// Whether it is about a policy that says STRICT, and does what it says.
fn demands_tls(facts: &Facts<'_>, finding: &Finding) -> bool {
    let subject = finding.subject.object();
    let policy = subject.and_then(|object| facts.mesh.objects.find(object));
    let mode = policy.and_then(|policy| policy.spec_at(["mtls", "mode"])?.str());
    finding.subject.kind() == "PeerAuthentication" && mode == Some("STRICT")
}

/// Every application fails some request: of a whole mesh it is an alarm only where nothing that is
/// called there goes well.
fn serves_others(facts: &Facts<'_>, failure: &Failure) -> bool {
    let of_cluster = |line: &AccessLine| line.cluster == failure.line.cluster;
    recent(facts.snapshot, &failure.pod)
        .iter()
        .any(|line| of_cluster(line) && !is_failure(line))
}

/// Whether the pods had calls of late, and let nobody in; one that does not log them does not tell.
fn refuses_all<'p>(facts: &Facts<'_>, pods: impl Iterator<Item = &'p ObjectRef>) -> bool {
    let calls: Vec<AccessLine> = pods
        .flat_map(|pod| recent(facts.snapshot, pod))
        .filter(is_inbound)
        .collect();
    let is_refusal = |line: &AccessLine| matches!(line.code, 401 | 403);
    !calls.is_empty() && calls.iter().all(is_refusal)
}

/// The requests that failed last, the newest first, one for each host and answer.
fn failures(facts: &Facts<'_>, scope: &Scope) -> Vec<Failure> {
    let Some((own, hosts)) = concerned(facts, scope) else {
        return Vec::new();
    };
    let mut last: BTreeMap<(String, u16, String), Failure> = BTreeMap::new();
    for pod in told_by(facts, own.as_deref()) {
        let is_own = own.as_ref().is_none_or(|own| own.contains(&pod));
        for line in failed(facts.snapshot, &pod) {
            let Some((call, seen)) = case(facts.mesh, &pod, &line) else {
                continue;
            };
            // Without a route there is no cluster, and the name that was called tells.
            let of_cluster =
                ClusterName::parse(&line.cluster).map(|cluster| cluster.host.to_owned());
            let called =
                of_cluster.or_else(|| host_named(facts.mesh, &call.to.host, &pod.namespace));
            if !is_own && !called.is_some_and(|host| hosts.contains(&host)) {
                continue;
            }
            let key = (call.to.host.clone(), line.code, line.flags.join(","));
            if last
                .get(&key)
                .is_none_or(|known| known.line.start < line.start)
            {
                let is_own_call = own.is_some() && is_own && !is_inbound(&line);
                last.insert(
                    key,
                    Failure {
                        call,
                        seen,
                        line,
                        pod: pod.clone(),
                        is_own_call,
                        goes_on: true,
                    },
                );
            }
        }
    }
    let mut last: Vec<_> = last.into_values().collect();
    last.sort_by(|a, b| b.line.start.cmp(&a.line.start));
    last.truncate(MOST_ASKED);
    last
}

/// The pods that a scope is about, none for all, and the hosts they serve; none for a request, of
/// which it is known what was asked.
fn concerned(
    facts: &Facts<'_>,
    scope: &Scope,
) -> Option<(Option<Vec<ObjectRef>>, BTreeSet<String>)> {
    Some(match scope {
        Scope::Workload { pods, .. } => {
            let own: Vec<ObjectRef> = pods
                .iter()
                .filter(|pod| pod.is(Kind::Pod))
                .cloned()
                .collect();
            let hosts = hosts(facts.mesh, &own);
            (Some(own), hosts)
        }
        Scope::Object(object) if object.is(Kind::Service) => {
            let service = facts.mesh.service(&object.namespace, &object.name);
            let pods = service
                .map(|service| facts.mesh.selected_pods(service))
                .unwrap_or_default();
            let host = facts.mesh.domain.service(&object.name, &object.namespace);
            (
                Some(pods.into_iter().map(|pod| pod.id.clone()).collect()),
                BTreeSet::from([host]),
            )
        }
        Scope::Namespace(namespace) => {
            let own = facts
                .mesh
                .pods
                .iter()
                .filter(|pod| pod.namespace == *namespace)
                .map(PodFacts::reference);
            (Some(own.collect()), hosts_in(facts.mesh, namespace))
        }
        Scope::Object(_) | Scope::Mesh => (None, BTreeSet::new()),
        Scope::Request(_) => return None,
    })
}

/// The pods whose proxies' logs are read.
fn told_by(facts: &Facts<'_>, own: Option<&[ObjectRef]>) -> Vec<ObjectRef> {
    let all: Vec<ObjectRef> = facts
        .mesh
        .pods
        .iter()
        .filter(|pod| pod.has_proxy)
        .map(PodFacts::reference)
        .collect();
    let mut pods = if all.len() > MOST_LOGS {
        own.unwrap_or_default().to_vec()
    } else {
        all
    };
    pods.truncate(MOST_LOGS);
    pods
}

/// The hosts of the Services that select these pods.
fn hosts(mesh: &Mesh, pods: &[ObjectRef]) -> BTreeSet<String> {
    let stored = pods.iter().filter_map(|pod| mesh.objects.find(pod));
    let services = stored.flat_map(|pod| mesh.services_of(pod));
    services
        .map(|service| mesh.domain.service(&service.id.name, &service.id.namespace))
        .collect()
}

/// The full name of the Service that a pod calls by this one.
fn host_named(mesh: &Mesh, host: &str, namespace: &str) -> Option<String> {
    let service = mesh.service_named(host, namespace)?;
    Some(mesh.domain.service(&service.name, &service.namespace))
}

/// The hosts of the Services of a namespace.
fn hosts_in(mesh: &Mesh, namespace: &str) -> BTreeSet<String> {
    let services = mesh
        .services
        .iter()
        .filter(|service| service.namespace == namespace);
    services
        .map(|service| mesh.domain.service(&service.name, namespace))
        .collect()
}

/// The last failure of each kind of request that still fails: the last one did, or every fourth of
/// late.
fn failed(snapshot: &Snapshot, pod: &ObjectRef) -> Vec<AccessLine> {
    const LATE: usize = 20;
    const FEWEST: usize = 3;
    let mut by_kind: BTreeMap<(String, String, String, String), Vec<AccessLine>> = BTreeMap::new();
    for line in recent(snapshot, pod) {
        let key = (
            line.cluster.clone(),
            line.authority.clone(),
            line.method.clone(),
            line.path_only().to_owned(),
        );
        by_kind.entry(key).or_default().push(line);
    }
    let failing = by_kind.into_values().filter_map(|mut lines| {
        lines.drain(..lines.len().saturating_sub(LATE));
        let count = lines.iter().filter(|line| is_failure(line)).count();
        let goes_on =
            lines.last().is_some_and(is_failure) || (count >= FEWEST && count * 4 >= lines.len());
        lines.into_iter().rfind(is_failure).filter(|_| goes_on)
    });
    failing.collect()
}

/// The requests that a proxy logged lately.
fn recent(snapshot: &Snapshot, pod: &ObjectRef) -> Vec<AccessLine> {
    let is_told = |line: &AccessLine| {
        !line.method.is_empty() || (is_tcp(line) && line.cluster.starts_with("outbound|"))
    };
    late(snapshot, pod).into_iter().filter(is_told).collect()
}

/// All that a proxy logged lately, connections too.
fn late(snapshot: &Snapshot, pod: &ObjectRef) -> Vec<AccessLine> {
    let id = DocId::new(format!(
        "logs/{}/{}/istio-proxy.log",
        pod.namespace, pod.name
    ));
    let Ok(log) = snapshot.open(&id) else {
        return Vec::new();
    };
    let now = snapshot.taken_at();
    let is_recent = |line: &AccessLine| {
        let start = Time::parse(&line.start);
        now.zip(start)
            .is_none_or(|(now, start)| now.seconds_since(start) < RECENT_SECONDS)
    };
    access_log::lines(&log).filter(is_recent).collect()
}

/// A connection of which no request is seen.
fn is_tcp(line: &AccessLine) -> bool {
    line.method.is_empty() && line.protocol.is_empty()
}

/// At the server's proxy, or at the waypoint before it.
fn is_inbound(line: &AccessLine) -> bool {
    line.cluster.starts_with("inbound|")
        || line.cluster.starts_with("inbound-vip|")
        || (line.cluster.is_empty() && !line.server_name.is_empty())
}

/// An application may well answer 404, and a client may well give up. A proxy answers gRPC with 200
/// whatever happened: then the flag tells.
fn is_failure(line: &AccessLine) -> bool {
    const OF_PROXY: [&str; 7] = ["UH", "UF", "UO", "NR", "NC", "UC", "UT"];
    let is_flagged = OF_PROXY.iter().any(|flag| line.has(flag));
    if is_tcp(line) {
        return is_flagged;
    }
    let is_hidden = line.code == 200 && is_flagged;
    let given_up = line.has("DC") || line.code == 0;
    let refused = matches!(line.code, 401 | 403 | 429)
        || line.code >= 500
        || (line.code == 404 && line.has("NR"));
    (refused || is_hidden) && !given_up
}

/// The question that a line answers, and what was seen: a caller sees of the server's proxy only
/// the status.
fn case(mesh: &Mesh, pod: &ObjectRef, line: &AccessLine) -> Option<(Call, Symptom)> {
    let inbound = is_inbound(line);
    let of_cluster = || {
        ClusterName::parse(&line.cluster).map(|name| format!("tcp://{}:{}", name.host, name.port))
    };
    let to = if is_tcp(line) {
        of_cluster()?
    } else {
        format!("http://{}{}", line.authority, line.path)
    };
    let to = Url::parse(&to).ok()?;
    // A probe, or a call to the pod's own address.
    if to.host.parse::<std::net::IpAddr>().is_ok() {
        return None;
    }
    let from = match (inbound, caller(mesh, line)) {
        (true, None) => Caller::Somebody,
        (true, Some(pod)) => Caller::Pod {
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
        },
        (false, _) if is_gateway(mesh, pod) => Caller::Outside,
        (false, _) => Caller::Pod {
            namespace: pod.namespace.to_string(),
            name: pod.name.to_string(),
        },
    };
    let seen = if inbound {
        Symptom {
            code: line.code,
            ..Symptom::default()
        }
    } else {
        Symptom {
            code: line.code,
            flags: line.flags.clone(),
            details: Some(line.details.clone()),
        }
    };
    let http = if line.protocol == "HTTP/2" {
        "2"
    } else {
        "1.1"
    };
    let method = if is_tcp(line) { "GET" } else { &line.method };
    Some((call(from, to, method, http), seen))
}

/// The pod that called.
fn caller<'m>(mesh: &'m Mesh, line: &AccessLine) -> Option<&'m PodFacts> {
    let (address, _) = line.remote.rsplit_once(':')?;
    mesh.pod_at(address.trim_matches(['[', ']']).parse().ok()?)
}

fn call(from: Caller, to: Url, method: &str, http: &str) -> Call {
    Call {
        from,
        to,
        method: method.to_owned(),
        headers: Vec::new(),
        http: http.to_owned(),
        sni: None,
        source_ip: None,
        principal: None,
        claims: Claims::None,
    }
}

fn is_gateway(mesh: &Mesh, pod: &ObjectRef) -> bool {
    mesh.objects
        .find(pod)
        .is_some_and(meshladder_mesh::scope::is_router)
}
