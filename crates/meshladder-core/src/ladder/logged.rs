//! What only a request shows: the requests that a workload's own log says failed are asked about, as `why` would.

use std::collections::{BTreeMap, BTreeSet};

use super::{Inquiry, Scope, climb};
use crate::access_log::{self, Line};
use crate::envoy::name::ClusterName;
use crate::finding::{Confidence, Finding, Rung, Severity};
use crate::mesh::{Mesh, ObjectRef, PodFacts};
use crate::report::Verdict;
use crate::rules::{Facts, Seen};
use crate::sim::request::Claims;
use crate::snapshot::{DocId, Snapshot};
use crate::time::Time;
use crate::walk::{Caller, Question, Url};

/// Every request that is asked about climbs the whole ladder once more.
const MOST_ASKED: usize = 6;
/// An object may concern every proxy; in a larger mesh its requests are asked about one by one.
const MOST_LOGS: usize = 64;
/// What failed longer ago may have been repaired since.
const RECENT_SECONDS: i64 = 600;

/// The causes of failures that the proxies' logs show, of a workload or due to an object.
pub(super) fn causes(facts: &Facts<'_>, scope: &Scope) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for (question, seen, proof) in failures(facts, scope) {
        let inquiry = Inquiry { scope: Scope::Request(Box::new(question)), seen: Some(seen), threads: 1 };
        let report = climb(facts.snapshot, facts.mesh, &inquiry);
        if report.verdict != Verdict::Broken {
            continue;
        }
        let root = report.findings.into_iter().map(|told| told.finding).find(|finding| finding.caused_by.is_empty());
        let Some(root) = root.filter(|finding| is_proven(finding) && bears(finding, scope)) else { continue };
        if found.iter().all(|known| known.id() != root.id() && known.subject != root.subject) {
            found.push(told(facts, root, scope, &proof));
        }
    }
    found
}

/// A log is what proves it, or else an object that says the same.
fn is_proven(finding: &Finding) -> bool {
    let of_log = finding.evidence.iter().any(|evidence| evidence.doc.as_str().starts_with("logs/"));
    finding.is_loud() && finding.confidence != Confidence::Possible && of_log && finding.subject.kind != "Request"
}

fn bears(finding: &Finding, scope: &Scope) -> bool {
    if let Scope::Object(object) = scope { finding.subject == *object } else { true }
}

/// A refusal is what a policy is there for: it is amiss only where nobody is let in.
fn told(facts: &Facts<'_>, mut finding: Finding, scope: &Scope, proof: &ObjectRef) -> Finding {
    if finding.rung == Rung::Authorization {
        let pods = finding.hits.iter().filter(|hit| hit.kind == "Pod");
        let admits = pods.chain([proof]).any(|pod| admits(facts, pod));
        finding.severity(if admits { Severity::Info } else { Severity::Warning });
    }
    if let Scope::Workload { object, .. } = scope {
        finding.hits(object.clone());
    }
    finding.hits(proof.clone());
    finding
}

/// Whether a pod's application answered somebody of late.
fn admits(facts: &Facts<'_>, pod: &ObjectRef) -> bool {
    let last = recent(facts.snapshot, pod);
    last.iter().any(|line| line.cluster.starts_with("inbound|") && !matches!(line.code, 401 | 403))
}

/// The requests that failed last, each with what was seen and the pod whose proxy tells it, the newest first.
fn failures(facts: &Facts<'_>, scope: &Scope) -> Vec<(Question, Seen, ObjectRef)> {
    let own: Vec<ObjectRef> = match scope {
        Scope::Workload { pods, .. } => pods.iter().filter(|pod| pod.kind == "Pod").cloned().collect(),
        Scope::Object(_) => Vec::new(),
        _ => return Vec::new(),
    };
    let all: Vec<ObjectRef> = facts.mesh.pods.iter().filter(|pod| pod.has_proxy).map(PodFacts::reference).collect();
    let pods = if all.len() > MOST_LOGS { own.clone() } else { all };
    let hosts = hosts(facts.mesh, &own);
    let concerns = |pod: &ObjectRef, line: &Line| {
        let called = ClusterName::parse(&line.cluster).is_some_and(|cluster| hosts.contains(cluster.host));
        own.is_empty() || own.contains(pod) || called
    };
    let mut last: BTreeMap<(String, u16, String), (String, Question, Seen, ObjectRef)> = BTreeMap::new();
    for pod in pods {
        let failed = recent(facts.snapshot, &pod).into_iter().filter(|line| is_failure(line) && concerns(&pod, line));
        for line in failed {
            let Some((question, seen)) = asked(facts.mesh, &pod, &line) else { continue };
            let key = (question.to.host.clone(), line.code, line.flags.join(","));
            let newer = last.get(&key).is_none_or(|(start, ..)| *start < line.start);
            if newer {
                last.insert(key, (line.start, question, seen, pod.clone()));
            }
        }
    }
    let mut last: Vec<_> = last.into_values().collect();
    last.sort_by(|a, b| b.0.cmp(&a.0));
    last.truncate(MOST_ASKED);
    last.into_iter().map(|(_, question, seen, pod)| (question, seen, pod)).collect()
}

/// The hosts of the Services that select these pods.
fn hosts(mesh: &Mesh, pods: &[ObjectRef]) -> BTreeSet<String> {
    let stored = pods.iter().filter_map(|pod| mesh.objects.find(pod));
    let services = stored.flat_map(|pod| mesh.services_of(pod));
    services.map(|service| format!("{}.{}.svc.cluster.local", service.id.name, service.id.namespace)).collect()
}

/// The last request of each kind that a proxy logged lately.
fn recent(snapshot: &Snapshot, pod: &ObjectRef) -> Vec<Line> {
    let id = DocId::new(format!("logs/{}/{}/istio-proxy.log", pod.namespace, pod.name));
    let Ok(log) = snapshot.open(&id) else { return Vec::new() };
    let now = snapshot.taken_at();
    let is_recent = |line: &Line| {
        let start = Time::parse(&line.start);
        now.zip(start).is_none_or(|(now, start)| now.seconds_since(start) < RECENT_SECONDS)
    };
    let mut last: BTreeMap<(String, String, String, String), Line> = BTreeMap::new();
    for line in access_log::lines(&log).filter(|line| !line.method.is_empty()) {
        let path = line.path_only().to_owned();
        last.insert((line.cluster.clone(), line.authority.clone(), line.method.clone(), path), line);
    }
    last.into_values().filter(is_recent).collect()
}

/// An application may well answer 404, and a client may well give up.
fn is_failure(line: &Line) -> bool {
    let given_up = line.has("DC") || line.code == 0;
    let refused = matches!(line.code, 401 | 403 | 429) || line.code >= 500 || (line.code == 404 && line.has("NR"));
    refused && !given_up
}

/// The question that a line answers, and what was seen: a caller sees of the server's proxy only the status.
fn asked(mesh: &Mesh, pod: &ObjectRef, line: &Line) -> Option<(Question, Seen)> {
    let inbound = line.cluster.starts_with("inbound|") || line.cluster.is_empty() && !line.server_name.is_empty();
    let to = Url::parse(&format!("http://{}{}", line.authority, line.path)).ok()?;
    // A probe, or a call to the pod's own address.
    if to.host.parse::<std::net::IpAddr>().is_ok() {
        return None;
    }
    let caller = || {
        let (address, _) = line.remote.rsplit_once(':')?;
        mesh.pod_at(address.trim_matches(['[', ']']).parse().ok()?)
    };
    let from = match (inbound, caller()) {
        (true, None) => Caller::Somebody,
        (true, Some(pod)) => Caller::Pod { namespace: pod.namespace.clone(), name: pod.name.clone() },
        (false, _) if is_gateway(mesh, pod) => Caller::Outside,
        (false, _) => Caller::Pod { namespace: pod.namespace.clone(), name: pod.name.clone() },
    };
    let seen = if inbound {
        Seen { code: line.code, ..Seen::default() }
    } else {
        Seen { code: line.code, flags: line.flags.clone(), details: Some(line.details.clone()) }
    };
    let http = if line.protocol == "HTTP/2" { "2" } else { "1.1" };
    let question = Question {
        from,
        to,
        method: line.method.clone(),
        headers: Vec::new(),
        http: http.to_owned(),
        sni: None,
        source_ip: None,
        principal: None,
        claims: Claims::None,
    };
    Some((question, seen))
}

fn is_gateway(mesh: &Mesh, pod: &ObjectRef) -> bool {
    mesh.objects.find(pod).is_some_and(crate::mesh::scope::is_router)
}
