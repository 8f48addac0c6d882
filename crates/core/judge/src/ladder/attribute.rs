//! Causes and symptoms.

use crate::finding::{Finding, MissingFact, Severity};
use crate::rules;
use meshladder_mesh::ObjectRef;

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
    let explained: Vec<Vec<String>> = findings
        .iter()
        .map(|symptom| {
            findings
                .iter()
                .filter(|cause| is_cause(cause, symptom))
                .map(Finding::id)
                .collect()
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
    let named = || {
        rules::named(cause.code).is_some_and(|rule| {
            rule.explains
                .iter()
                .any(|code| symptom.code.starts_with(code))
        })
    };
    cause.is_loud()
        && symptom.is_loud()
        && cause.code != symptom.code
        && named()
        && meet(cause, symptom)
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
