//! Third stage: causes are told from symptoms, and what is missing from what is known.

use std::collections::{BTreeMap, BTreeSet};

use super::raise::RuleAnswer;
use super::weigh::WeighedFindings;
use super::{ClimbContext, Scope, case};
use crate::finding::{Evidence, Finding, Fix, MissingFact, Severity, Subject};
use crate::report::{self, Verdict};
use crate::rules::{self, Case, Lens, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Coverage, DocId, Need, Part, Snapshot};
use meshladder_mesh::ObjectRef;
use meshladder_sim::trace::EndKind;

/// Root causes first, each symptom with its causes, and whether that is an answer.
#[derive(Debug)]
pub(super) struct Attribution {
    pub(super) findings: Vec<Finding>,
    /// Facts that were missing and could change the answer.
    pub(super) missing: Vec<MissingFact>,
    pub(super) verdict: Verdict,
}

/// Tells who is to blame; where nobody can be, what could not be read is.
pub(super) fn attribute(
    WeighedFindings(mut findings): WeighedFindings,
    answers: &[RuleAnswer],
    context: &ClimbContext<'_>,
) -> Attribution {
    let (scope, case) = (&context.question.scope, context.case.as_ref());
    causes(&mut findings);
    let unsettled = unsettled(&mut findings);
    let mut missing = missing(answers, scope, case, unsettled);
    if case.is_none() {
        let mut lost = lost(answers, context);
        lost.retain(|fact| !missing.contains(fact));
        missing.append(&mut lost);
    }
    let unread = scope.unread(&context.facts);
    missing.extend(unread.filter(|fact| !missing.contains(fact)));
    if missing.is_empty() && !findings.iter().any(Finding::is_loud) {
        missing.extend(case.and_then(unexplained));
    }
    let verdict = match (findings.iter().any(Finding::is_loud), missing.is_empty()) {
        (true, _) => Verdict::Broken,
        (false, true) => Verdict::Healthy,
        (false, false) => Verdict::Undecided,
    };
    if verdict == Verdict::Undecided {
        findings.push(not_readable(&missing, context.facts.snapshot));
        causes(&mut findings);
    }
    Attribution {
        findings,
        missing,
        verdict,
    }
}

/// A failure that nothing explains.
pub(super) fn unexplained(case: &Case<'_>) -> Option<MissingFact> {
    let end = case::bad_end(case)?;
    Some(MissingFact::Other(format!(
        "what led to {}: nothing that was read explains it",
        end.in_words()
    )))
}

/// Folds what another finding explains under it, and orders: root causes first, bottom up.
pub(super) fn causes(findings: &mut Vec<Finding>) {
    findings.sort_by_cached_key(|f| {
        (
            f.rung,
            f.severity,
            f.code,
            f.subject.clone(),
            f.id(),
            f.message.clone(),
        )
    });
    findings.dedup_by(|again, first| {
        let is_same = again.id() == first.id() && again.message == first.message;
        if is_same {
            again.hits.drain(..).for_each(|hit| {
                first.hits(hit);
            });
        }
        is_same
    });
    let is_cause = |cause: &Finding, symptom: &Finding| {
        explains(cause, symptom) && !(gives_way(cause, symptom) && explains(symptom, cause))
    };
    let by_code = by_code(findings);
    let explained: Vec<Vec<String>> = findings
        .iter()
        .map(|symptom| {
            let mut causes: Vec<usize> = Vec::new();
            for (code, all) in &by_code {
                if names(code, symptom.code) {
                    causes.extend(all.iter().filter(|at| is_cause(&findings[**at], symptom)));
                }
            }
            causes.sort_unstable();
            causes.into_iter().map(|at| findings[at].id()).collect()
        })
        .collect();
    for (finding, caused_by) in findings.iter_mut().zip(explained) {
        finding.caused_by = caused_by;
    }
    // Whatever explains what, something is at the root of it.
    let is_root = |finding: &Finding| finding.is_loud() && finding.caused_by.is_empty();
    if !findings.iter().any(is_root)
        && let Some(first) = findings.iter_mut().find(|finding| finding.is_loud())
    {
        first.caused_by.clear();
    }
    findings.sort_by_cached_key(|f| {
        (
            f.severity == Severity::Info,
            !f.caused_by.is_empty(),
            f.rung,
            f.severity,
            f.code,
            f.subject.clone(),
            f.id(),
        )
    });
}

/// Where the findings of each code are.
fn by_code(findings: &[Finding]) -> BTreeMap<&'static str, Vec<usize>> {
    let mut by_code: BTreeMap<&'static str, Vec<usize>> = BTreeMap::new();
    for (at, finding) in findings.iter().enumerate() {
        by_code.entry(finding.code).or_default().push(at);
    }
    by_code
}

/// Whether the rule of a code names another as what it explains.
fn names(cause: &str, symptom: &str) -> bool {
    let rule = rules::named(cause).filter(|_| cause != symptom);
    rule.is_some_and(|rule| rule.explains.iter().any(|code| symptom.starts_with(code)))
}

/// Of two findings that explain each other, which one is the symptom: on one rung the later, else
/// the lower, since a rule that names what lies below its own rung does so on purpose.
fn gives_way(one: &Finding, other: &Finding) -> bool {
    if one.rung == other.rung {
        (one.severity, one.code) > (other.severity, other.code)
    } else {
        one.rung < other.rung
    }
}

/// When no root cause can be told from others without a fact that is missing, nothing is blamed.
/// Returns those facts.
pub(super) fn unsettled(findings: &mut [Finding]) -> Vec<MissingFact> {
    let roots = || {
        findings
            .iter()
            .filter(|finding| finding.is_loud() && finding.caused_by.is_empty())
    };
    if roots().next().is_none() || roots().any(|root| root.unsettled.is_empty()) {
        return Vec::new();
    }
    let facts = roots().flat_map(|root| root.unsettled.clone()).collect();
    for finding in findings {
        finding.severity = Severity::Info;
    }
    facts
}

fn explains(cause: &Finding, symptom: &Finding) -> bool {
    cause.is_loud()
        && symptom.is_loud()
        && names(cause.code, symptom.code)
        && meet(cause, symptom)
        && (cause.cluster == symptom.cluster || bears_elsewhere(cause))
}

/// Whether a finding explains what shows in other clusters: one of what joins them does, and one
/// of those who serve, by the names that a Service has everywhere.
fn bears_elsewhere(cause: &Finding) -> bool {
    let is_of_joints = rules::named(cause.code)
        .is_some_and(|rule| matches!(rule.check, rules::Check::Clusters(_)));
    is_of_joints || !cause.hits.is_empty()
}

/// Whether they are about the same: a finding that hits nobody in particular is about everybody.
fn meet(cause: &Finding, symptom: &Finding) -> bool {
    let about = |finding: &Finding, object: &ObjectRef| {
        finding.subject == *object || finding.hits.contains(object)
    };
    cause.hits.is_empty()
        || symptom.hits.is_empty()
        || symptom
            .subject
            .object()
            .is_some_and(|object| about(cause, object))
        || symptom.hits.iter().any(|hit| about(cause, hit))
}

/// What only tells of the past: a mesh is judged without it, and the rung says what was not looked
/// at.
const ONLY_TELL: [Need; 2] = [Need::Objects(Kind::Event), Need::Part(Part::Logs)];

/// Facts that were missing and could change the answer.
pub(super) fn missing(
    answers: &[RuleAnswer],
    scope: &Scope,
    case: Option<&Case<'_>>,
    mut unknown: Vec<MissingFact>,
) -> Vec<MissingFact> {
    for answer in answers {
        unknown.extend(answer.sink.unknown.clone());
        unknown.extend(answer.missing());
    }
    if let Some(case) = case {
        let ends = case.trace.branches.iter().map(|branch| &branch.end);
        let open = ends.filter(|end| end.kind == EndKind::Undecided);
        unknown.extend(open.map(|end| MissingFact::Other(end.because.clone())));
    }
    let unread = answers
        .iter()
        .filter(|answer| scope.covers(answer.rule.rung))
        .filter_map(|answer| answer.skipped.as_ref());
    let unread = unread.filter(|(need, coverage)| match case {
        Some(case) => case::wants(case, need, coverage),
        None => !ONLY_TELL.contains(need),
    });
    unknown
        .extend(unread.map(|(need, coverage)| MissingFact::Unread(need.clone(), coverage.clone())));
    let mut seen = BTreeSet::new();
    unknown.retain(|fact| seen.insert(fact.to_string()));
    unknown
}

/// What should be here and could not be read, of all that the rules looked at. Rules make do with
/// what is left of proxies, so that none of them says it; and what is left is no proof that all is
/// well. A request's walk says by itself what it lacks.
fn lost(answers: &[RuleAnswer], context: &ClimbContext<'_>) -> Vec<MissingFact> {
    let scope = &context.question.scope;
    let needs: BTreeSet<Need> = answers
        .iter()
        .filter(|answer| scope.covers(answer.rule.rung))
        .flat_map(|answer| answer.rule.inputs(Lens::Mesh))
        .filter(|need| !ONLY_TELL.contains(need))
        .collect();
    let mut lost = Vec::new();
    for need in needs {
        let coverage = context.facts.snapshot.coverage(&need);
        if matches!(coverage, Coverage::Lost(_)) {
            lost.push(MissingFact::Unread(need, coverage));
        }
    }
    lost
}

/// How many missing facts the first line names.
const FEW: usize = 3;

/// Nothing is blamed: what could not be read comes first.
pub(super) fn not_readable(unknown: &[MissingFact], snapshot: &Snapshot) -> Finding {
    let rule = rules::missing_facts();
    let mut sink = Sink::new(rule);
    let first = &unknown[..unknown.len().min(FEW)];
    let more = if unknown.len() > first.len() {
        format!(" and {} more", unknown.len() - first.len())
    } else {
        String::new()
    };
    let message = format!(
        "it cannot be decided without: {}{more}",
        report::by_reason(first).join("; ")
    );
    let proof = Evidence::document(&DocId::new("manifest.json"), "what could not be read");
    let finding = sink.find(Subject::Coverage, message, proof);
    for (_, need, coverage) in snapshot
        .coverages()
        .filter(|(_, _, coverage)| **coverage != Coverage::Complete)
    {
        finding.see(Evidence::document(
            &DocId::new(need.path()),
            coverage.lack(need),
        ));
    }
    let wanted = report::by_reason(unknown).join("; ");
    finding.fix(Fix::advice(format!("get these and ask again: {wanted}")));
    if unknown.iter().any(MissingFact::is_refused) {
        let advice = "`meshladder rbac` prints the rights; who has them can send you a bundle (`meshladder snapshot`)";
        finding.fix(Fix::advice(advice));
    }
    finding.clone()
}
