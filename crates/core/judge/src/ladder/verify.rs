//! Fourth stage: a fix that changes objects is tried out in memory before it is offered.

use std::collections::{BTreeMap, BTreeSet};

use super::attribute::Attribution;
use super::raise::guarded;
use super::{ClimbContext, Question, case};
use crate::finding::{Evidence, Finding, Subject, Trial};
use crate::rules::{self, Case, Check, Facts, Lens};
use meshladder_capture::snapshot::DocId;
use meshladder_mesh::Change;
use meshladder_mesh::schema::Faults;

/// Every try runs a rule again on the whole mesh; the findings come with the root causes first.
const MOST_TRIES: usize = 100;

/// Tries every fix.
pub(super) fn verify(mut attribution: Attribution, context: &ClimbContext<'_>) -> Attribution {
    each(&mut attribution.findings, context);
    attribution
}

/// Tries the fixes of findings that are not yet told apart.
pub(super) fn each(findings: &mut [Finding], context: &ClimbContext<'_>) {
    fixes(
        findings,
        &context.facts,
        context.case.as_ref(),
        context.question,
    );
}

/// Drops the fixes that do not make the finding go away; those that could not be tried say why.
fn fixes(
    findings: &mut [Finding],
    facts: &Facts<'_>,
    case: Option<&Case<'_>>,
    question: &Question,
) {
    let mut tries = MOST_TRIES;
    let known: BTreeSet<String> = findings.iter().map(Finding::id).collect();
    for finding in findings.iter_mut() {
        let loud = finding.is_loud();
        let cause = Cause {
            code: finding.code,
            subject: &finding.subject,
            id: finding.id(),
        };
        finding.fixes.retain_mut(|fix| {
            let (Some(change), Trial::Pending) = (&fix.change, &fix.trial) else {
                return true;
            };
            if !loud {
                fix.trial = Trial::Untried(
                    "it does not bear on the question, so it was not tried".to_owned(),
                );
                return true;
            }
            if tries == 0 {
                fix.trial = Trial::Untried(others_were_tried());
                return true;
            }
            tries -= 1;
            let Some(fires) = still_fires(&cause, &known, change, facts, case, question) else {
                fix.trial = Trial::Untried(
                    "it shows in a running proxy, so it cannot be tried on objects alone"
                        .to_owned(),
                );
                return true;
            };
            fix.trial = Trial::Works;
            !fires
        });
    }
}

fn others_were_tried() -> String {
    format!("{MOST_TRIES} other fixes were tried")
}

/// What should go away.
struct Cause<'f> {
    code: &'static str,
    subject: &'f Subject,
    id: String,
}

/// Whether the finding is still made after the change, or the same of another place in the object,
/// where nothing was found before: what follows in a list moves up. None when that cannot be told
/// from objects.
fn still_fires(
    cause: &Cause<'_>,
    known: &BTreeSet<String>,
    change: &Change,
    facts: &Facts<'_>,
    case: Option<&Case<'_>>,
    question: &Question,
) -> Option<bool> {
    let rule = rules::named(cause.code)?;
    let mesh = facts.mesh.with(change);
    let faults = Faults::default();
    let facts = Facts {
        snapshot: facts.snapshot,
        mesh: &mesh,
        fleet: facts.fleet,
        faults: &faults,
    };
    let case = match (rule.check, case) {
        (Check::Proxy(_) | Check::Clusters(_), _) | (Check::Request(_), None) => return None,
        (Check::Mesh(_) | Check::Object(_) | Check::Wide(..), _) => None,
        (_, case) => case,
    };
    let changed =
        case.map(|case| case::build(&facts, case.call, case.trace, question.seen.as_ref()));
    let lens = Lens::of_climb(changed.as_ref());
    // A rule that breaks on the changed objects says nothing of them.
    let sink = guarded(rule, |sink| rule.ask(&facts, lens, sink)).ok()?;
    let same = |id: &String| *id == cause.id || !known.contains(id);
    Some(
        sink.findings
            .iter()
            .filter(|found| found.subject == *cause.subject)
            .any(|found| same(&found.id())),
    )
}

/// Tries the fixes of `analyze`, which may find thousands: fixes of one rule for objects that have
/// nothing to do with each other are tried together. Remarks are tried too.
pub(super) fn together(findings: &mut [Finding], facts: &Facts<'_>) {
    let known: BTreeSet<String> = findings.iter().map(Finding::id).collect();
    let mut tries = MOST_TRIES;
    while let Some(batch) = batch(findings).filter(|_| tries > 0) {
        let changes: Vec<&Change> = batch
            .iter()
            .filter_map(|&(i, k)| findings[i].fixes[k].change.as_ref())
            .collect();
        let code = findings[batch[0].0].code;
        let still = found(code, &changes, facts);
        tries -= 1;
        for (i, k) in batch {
            let finding = &mut findings[i];
            let fires = still.as_ref().map(|still| {
                let own = finding.id();
                let same = |id: &String| *id == own || !known.contains(id);
                still
                    .get(&finding.subject)
                    .is_some_and(|ids| ids.iter().any(same))
            });
            match fires {
                Some(false) => finding.fixes[k].trial = Trial::Works,
                Some(true) => drop(finding.fixes.remove(k)),
                None => finding.fixes[k].trial = Trial::Untried(others_were_tried()),
            }
        }
    }
    for fix in findings
        .iter_mut()
        .flat_map(|finding| &mut finding.fixes)
        .filter(|fix| fix.change.is_some() && fix.trial == Trial::Pending)
    {
        fix.trial = Trial::Untried(others_were_tried());
    }
}

/// The next fixes to try, as positions of finding and fix: of one rule, and no two about the same
/// object.
fn batch(findings: &[Finding]) -> Option<Vec<(usize, usize)>> {
    let next = |finding: &Finding| {
        finding
            .fixes
            .iter()
            .position(|fix| fix.change.is_some() && fix.trial == Trial::Pending)
    };
    let first = findings
        .iter()
        .position(|finding| next(finding).is_some())?;
    let mut taken = BTreeSet::new();
    let mut batch = Vec::new();
    for (i, finding) in findings
        .iter()
        .enumerate()
        .skip(first)
        .filter(|(_, f)| f.code == findings[first].code)
    {
        let Some(k) = next(finding) else { continue };
        let about = about(finding);
        if taken.is_disjoint(&about) {
            taken.extend(about);
            batch.push((i, k));
        }
    }
    Some(batch)
}

/// The objects that a finding is about, by the places of its evidence.
fn about(finding: &Finding) -> BTreeSet<(DocId, String)> {
    finding
        .evidence
        .iter()
        .map(Evidence::object_place)
        .collect()
}

/// What a rule of objects finds after some changes, by subject and id; none when that cannot be
/// told from objects.
fn found(
    code: &str,
    changes: &[&Change],
    facts: &Facts<'_>,
) -> Option<BTreeMap<Subject, Vec<String>>> {
    let rule = rules::named(code)?;
    if !rule.is_of_objects() {
        return None;
    }
    let mesh = facts.mesh.with_all(changes);
    let faults = Faults::default();
    let facts = Facts {
        mesh: &mesh,
        faults: &faults,
        ..*facts
    };
    let sink = guarded(rule, |sink| rule.ask(&facts, Lens::Objects, sink)).ok()?;
    let mut still: BTreeMap<Subject, Vec<String>> = BTreeMap::new();
    for found in &sink.findings {
        still
            .entry(found.subject.clone())
            .or_default()
            .push(found.id());
    }
    Some(still)
}
