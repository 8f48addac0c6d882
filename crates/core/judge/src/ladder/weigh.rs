//! Second stage: what bears on the question stays loud, the rest is worth knowing and no more.

use std::collections::BTreeSet;

use super::raise::RuleAnswer;
use super::{ClimbContext, Scope, case, logged};
use crate::finding::{Finding, MissingFact, Rung, Severity};
use crate::rules::{self, Case, Check, Facts, named};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Coverage, Need, Snapshot};
use meshladder_mesh::services::is_ready;
use meshladder_mesh::traffic::destinations;
use meshladder_mesh::{ObjectRef, PodFacts};

/// Findings whose severity is what it is to the question.
#[derive(Debug)]
pub(super) struct WeighedFindings(pub(super) Vec<Finding>);

/// Weighs what the rules found, and what the logs show beside it.
pub(super) fn weigh(answers: &[RuleAnswer], context: &ClimbContext<'_>) -> WeighedFindings {
    let (facts, scope) = (&context.facts, &context.question.scope);
    let mut findings: Vec<Finding> = answers
        .iter()
        .flat_map(|answer| answer.sink.findings.clone())
        .collect();
    quieten(&mut findings, scope, facts, context.case.as_ref());
    // What a request that failed shows is weighed by itself, and counts more; what is bad without
    // it stays so.
    for mut cause in logged::causes(facts, scope) {
        if let Some(at) = findings.iter().position(|known| known.id() == cause.id()) {
            let known = findings.remove(at);
            cause.severity = cause.severity.min(known.severity);
            cause.is_side_effect &= known.is_side_effect || !known.is_loud();
            known.hits.into_iter().for_each(|hit| _ = cause.hits(hit));
        }
        findings.push(cause);
    }
    put_traffic_first(&mut findings, scope);
    put_side_effects_last(&mut findings);
    if let Some(case) = &context.case {
        put_asked_for_first(&mut findings, case);
    }
    doubt(&mut findings, answers, facts.snapshot);
    WeighedFindings(findings)
}

/// What does not bear on the question is worth knowing, and no more.
fn quieten(findings: &mut [Finding], scope: &Scope, facts: &Facts<'_>, case: Option<&Case<'_>>) {
    let on_path = case.map(|case| path_of(case, facts));
    for finding in findings.iter_mut() {
        let bears = match (scope, &on_path) {
            (Scope::Mesh, _) => true,
            (Scope::Namespace(namespace), _) => in_namespace(finding, namespace),
            (Scope::Workload { object, pods }, _) => {
                touches(finding, |o| o == object || pods.contains(o)) || everywhere(finding)
            }
            (Scope::Object(object), _) => bears_on_object(finding, object, facts),
            (Scope::Request(_), Some(on_path)) => bears_on_request(finding, on_path),
            (Scope::Request(_), None) => false,
        };
        if !bears {
            finding.severity = Severity::Info;
        }
        let is_asked = match scope {
            Scope::Object(object) => finding.subject == *object,
            Scope::Workload { .. } => bears,
            Scope::Mesh | Scope::Namespace(_) | Scope::Request(_) => false,
        };
        if let (true, Some(severity)) = (is_asked, finding.when_asked) {
            finding.severity = finding.severity.min(severity);
        }
    }
}

/// Of a mesh whose traffic suffers, how loud its logs are is no cause: nobody is hit by it.
pub(super) fn put_traffic_first(findings: &mut [Finding], scope: &Scope) {
    let is_wide = matches!(scope, Scope::Mesh | Scope::Namespace(_));
    if is_wide
        && findings
            .iter()
            .any(|finding| finding.is_loud() && finding.rung != Rung::Telemetry)
    {
        for finding in findings
            .iter_mut()
            .filter(|finding| finding.rung == Rung::Telemetry)
        {
            finding.severity(Severity::Info);
        }
    }
}

/// What a setting brings along is no cause beside what is amiss.
fn put_side_effects_last(findings: &mut [Finding]) {
    if findings
        .iter()
        .any(|finding| finding.is_loud() && !finding.is_side_effect)
    {
        for finding in findings.iter_mut().filter(|finding| finding.is_side_effect) {
            finding.severity(Severity::Info);
        }
    }
}

/// What objects ask for as they are would be so with every proxy up to date. Only what the caller's
/// own proxy lacks may still have led its request there.
fn put_asked_for_first(findings: &mut [Finding], case: &Case<'_>) {
    let client = case.client.map(PodFacts::reference);
    if !findings
        .iter()
        .any(|finding| finding.is_loud() && finding.is_asked_for)
    {
        return;
    }
    let is_of_push = |finding: &Finding| matches!(finding.rung, Rung::ControlPlane | Rung::Sync);
    let is_of_client = |finding: &Finding| {
        client
            .as_ref()
            .is_some_and(|client| finding.hits.contains(client))
    };
    for finding in findings
        .iter_mut()
        .filter(|finding| is_of_push(finding) && !is_of_client(finding))
    {
        finding.severity(Severity::Info);
    }
}

fn touches(finding: &Finding, is: impl Fn(&ObjectRef) -> bool) -> bool {
    finding.subject.object().is_some_and(&is) || finding.hits.iter().any(is)
}

/// A control plane that is down hits everybody.
fn everywhere(finding: &Finding) -> bool {
    finding.rung == Rung::ControlPlane && finding.hits.is_empty()
}

fn in_namespace(finding: &Finding, namespace: &str) -> bool {
    let is =
        |o: &ObjectRef| o.namespace == namespace || (o.is(Kind::Namespace) && o.name == namespace);
    touches(finding, is) || everywhere(finding)
}

/// Objects are cited by pointer: a finding that cites the object is about it too. One that keeps
/// proxies from getting any configuration is about every object.
fn bears_on_object(finding: &Finding, object: &ObjectRef, facts: &Facts<'_>) -> bool {
    let stored = facts.mesh.objects.find(object);
    let cites = stored.is_some_and(|stored| {
        finding.evidence.iter().any(|evidence| {
            let inside = |pointer: &str| {
                pointer
                    .strip_prefix(&*stored.pointer)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            evidence.doc == stored.doc && evidence.spot.pointer().is_some_and(inside)
        })
    });
    let reaches = || {
        let in_reach = |pod: &ObjectRef| pod.is(Kind::Pod) && facts.mesh.reaches(object, pod);
        matches!(
            finding.rung,
            Rung::ControlPlane | Rung::Enrolment | Rung::Sync
        ) && finding.hits.iter().any(in_reach)
    };
    // A route is as good as what it leads to.
    let leads_to = || {
        let led_to = stored
            .filter(|_| finding.rung == Rung::Endpoints)
            .map(|service| destinations(service, &facts.mesh.domain))
            .unwrap_or_default();
        led_to
            .iter()
            .filter_map(|to| facts.mesh.service_of_host(&to.host))
            .any(|to| touches(finding, |o| *o == to.id))
    };
    cites || touches(finding, |o| o == object) || everywhere(finding) || reaches() || leads_to()
}

/// The pods on the way of a request.
fn path_of(case: &Case<'_>, facts: &Facts<'_>) -> BTreeSet<ObjectRef> {
    let mut on_path: BTreeSet<ObjectRef> = case
        .client
        .iter()
        .chain(&case.gateways)
        .chain(&case.servers)
        .map(|pod| pod.reference())
        .collect();
    for hop in &case.trace.hops {
        let pod = facts.mesh.pod(&hop.proxy.namespace, &hop.proxy.pod);
        on_path.extend(pod.map(PodFacts::reference));
    }
    // A Service whose pods were never made is on the way too.
    on_path.extend(
        case.service
            .map(|service| ObjectRef::of(Kind::Service, &service.namespace, &service.name)),
    );
    // Where no pod is ready, that may be why the request fails.
    if case::bad_end(case).is_some() {
        let service = case
            .service
            .and_then(|s| facts.mesh.objects.get(Kind::Service, &s.namespace, &s.name));
        let selected = service
            .map(|service| facts.mesh.selected_pods(service))
            .unwrap_or_default();
        if !selected.iter().any(|pod| is_ready(pod)) {
            on_path.extend(selected.into_iter().map(|pod| pod.id.clone()));
        }
    }
    on_path
}

/// What lies above sync is judged on the request itself, by rules that look at it; the mesh around
/// it is not asked about.
fn bears_on_request(finding: &Finding, on_path: &BTreeSet<ObjectRef>) -> bool {
    let looks_at_request = named(finding.code).is_some_and(|rule| {
        matches!(
            rule.check,
            Check::Request(_) | Check::Either(_) | Check::Lens(..)
        )
    });
    let below = matches!(
        finding.rung,
        Rung::ControlPlane | Rung::Enrolment | Rung::Sync
    );
    looks_at_request
        || (below && (everywhere(finding) || touches(finding, |o| on_path.contains(o))))
}

/// A finding may follow from another that was not made for want of a fact: then that fact decides
/// whether it is a root. And whom an object concerns, only the pods tell.
fn doubt(findings: &mut [Finding], answers: &[RuleAnswer], snapshot: &Snapshot) {
    let pods = Need::Objects(Kind::Pod);
    let coverage = snapshot.coverage(&pods);
    let is_unread = matches!(coverage, Coverage::Denied(_) | Coverage::Lost(_));
    let pods = is_unread.then_some(MissingFact::Unread(pods, coverage));
    for finding in findings {
        let explains = |answer: &&RuleAnswer| {
            answer
                .rule
                .explains
                .iter()
                .any(|code| finding.code.starts_with(code))
        };
        let uses_pods =
            rules::named(finding.code).is_some_and(|rule| rule.uses.kinds().contains(&Kind::Pod));
        let facts = answers
            .iter()
            .filter(explains)
            .flat_map(|answer| answer.sink.unknown.clone())
            .chain(pods.clone().filter(|_| uses_pods));
        let mut facts: Vec<MissingFact> = facts
            .filter(|fact| !finding.unsettled.contains(fact))
            .collect();
        facts.dedup();
        finding.unsettled.extend(facts);
    }
}
