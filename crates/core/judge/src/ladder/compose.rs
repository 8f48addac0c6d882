//! Last stage: the report, with an outcome for every rung.

use std::collections::{BTreeMap, BTreeSet};

use super::ClimbContext;
use super::attribute::Attribution;
use super::raise::RuleAnswer;
use crate::finding::{Finding, MissingFact, Rung};
use crate::report::{self, Outcome, Report, RungOutcome};
use crate::rules::{Lens, Rule};
use meshladder_capture::snapshot::{Coverage, Need, Snapshot};

/// What renderers get.
pub(super) fn report(
    rules: &[&'static Rule],
    answers: &[RuleAnswer],
    attribution: Attribution,
    context: &ClimbContext<'_>,
) -> Report {
    let (question, snapshot) = (context.question, context.facts.snapshot);
    let coverage = coverage(rules, Lens::Mesh, snapshot);
    Report {
        question: question.scope.topic(question.seen.as_ref()),
        about: question.scope.in_words(),
        cluster: None,
        clusters: BTreeMap::new(),
        taken_at: snapshot.taken_at(),
        verdict: attribution.verdict,
        rungs: rungs(answers, &attribution.findings, &coverage),
        coverage,
        unknown: attribution.missing,
        findings: report::tell(attribution.findings, snapshot),
    }
}

/// How every rung came out, bottom up.
pub(super) fn rungs(
    answers: &[RuleAnswer],
    findings: &[Finding],
    coverage: &[(Need, Coverage)],
) -> Vec<RungOutcome> {
    Rung::ALL
        .iter()
        .map(|rung| rung_outcome(*rung, answers, findings, coverage))
        .collect()
}

fn rung_outcome(
    rung: Rung,
    answers: &[RuleAnswer],
    findings: &[Finding],
    coverage: &[(Need, Coverage)],
) -> RungOutcome {
    let here: Vec<&RuleAnswer> = answers
        .iter()
        .filter(|answer| answer.rule.rung == rung)
        .collect();
    let examined = match rung {
        // Its rule has nothing to look at: the ladder itself sees what could be read.
        Rung::Reach => coverage
            .iter()
            .filter(|(_, coverage)| *coverage == Coverage::Complete)
            .count(),
        _ => here.iter().map(|answer| answer.sink.examined).sum(),
    };
    let is_failed = findings.iter().any(|f| f.rung == rung && f.is_loud());
    // A rung on which a rule broke has not passed, whatever the others looked at.
    let broken = here.iter().find_map(|answer| answer.missing());
    let lost = coverage
        .iter()
        .filter(|(_, coverage)| rung == Rung::Reach && matches!(coverage, Coverage::Lost(_)))
        .map(|(need, coverage)| MissingFact::Unread(need.clone(), coverage.clone()));
    let broken = broken.or(lost.into_iter().next());
    let skipped = here.iter().find_map(|answer| answer.skipped.clone());
    let outcome = match (broken, skipped) {
        _ if is_failed => Outcome::Failed,
        (Some(fact), _) => Outcome::Skipped(fact),
        _ if examined > 0 => Outcome::Passed,
        (None, Some((need, coverage))) => Outcome::Skipped(MissingFact::Unread(need, coverage)),
        (None, None) => Outcome::Nothing,
    };
    RungOutcome {
        rung,
        outcome,
        examined,
    }
}

/// Everything that any of the rules needs or uses.
pub(super) fn coverage(
    rules: &[&'static Rule],
    lens: Lens<'_>,
    snapshot: &Snapshot,
) -> Vec<(Need, Coverage)> {
    let needs: BTreeSet<Need> = rules.iter().flat_map(|rule| rule.inputs(lens)).collect();
    needs
        .into_iter()
        .map(|need| (need.clone(), snapshot.coverage(&need)))
        .collect()
}
