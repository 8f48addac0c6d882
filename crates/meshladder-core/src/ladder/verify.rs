//! A fix that changes objects is tried out in memory before it is offered.

use std::collections::BTreeSet;

use super::{Inquiry, asked, guarded};
use crate::finding::Finding;
use crate::mesh::{Change, ObjectRef};
use crate::rules::{self, Asked, Check, Facts};
use crate::schema::Faults;

/// Every try runs a rule again on the whole mesh; the findings come with the root causes first.
const MOST_TRIES: usize = 100;

/// Drops the fixes that do not make the finding go away; those that could not be tried say why.
pub(super) fn fixes(findings: &mut [Finding], facts: &Facts<'_>, asked: Option<&Asked<'_>>, inquiry: &Inquiry) {
    let mut tries = MOST_TRIES;
    let known: BTreeSet<String> = findings.iter().map(Finding::id).collect();
    for finding in findings.iter_mut() {
        let loud = finding.is_loud();
        let cause = Cause { code: finding.code, subject: &finding.subject, id: finding.id() };
        finding.fixes.retain_mut(|fix| {
            let (Some(change), None) = (&fix.change, &fix.unchecked) else { return true };
            if !loud {
                fix.unchecked = Some("it does not bear on the question, so it was not tried".to_owned());
                return true;
            }
            if tries == 0 {
                fix.unchecked = Some(format!("{MOST_TRIES} other fixes were tried"));
                return true;
            }
            tries -= 1;
            let Some(fires) = still_fires(&cause, &known, change, facts, asked, inquiry) else {
                fix.unchecked = Some("it shows in a running proxy, so it cannot be tried on objects alone".to_owned());
                return true;
            };
            !fires
        });
    }
}

/// What should go away.
struct Cause<'f> {
    code: &'static str,
    subject: &'f ObjectRef,
    id: String,
}

/// Whether the finding is still made after the change, or the same of another place in the object, where nothing was found
/// before: what follows in a list moves up. None when that cannot be told from objects.
fn still_fires(
    cause: &Cause<'_>,
    known: &BTreeSet<String>,
    change: &Change,
    facts: &Facts<'_>,
    asked: Option<&Asked<'_>>,
    inquiry: &Inquiry,
) -> Option<bool> {
    let rule = rules::named(cause.code)?;
    let mesh = facts.mesh.with(change);
    let faults = Faults::default();
    let facts = Facts { snapshot: facts.snapshot, mesh: &mesh, fleet: facts.fleet, faults: &faults };
    let sink = match (rule.check, asked) {
        (Check::Mesh(check) | Check::Object(check), _) => guarded(rule, |sink| check(&facts, sink)),
        (Check::Either(check), None) => guarded(rule, |sink| check(&facts, None, sink)),
        (Check::Request(_) | Check::Either(_), Some(asked)) => {
            let asked = asked::build(&facts, asked.question, asked.trace, inquiry.seen.as_ref());
            guarded(rule, |sink| match rule.check {
                Check::Request(check) => check(&facts, &asked, sink),
                Check::Either(check) => check(&facts, Some(&asked), sink),
                Check::Mesh(_) | Check::Object(_) | Check::Proxy(_) => {}
            })
        }
        _ => return None,
    };
    let same = |id: &String| *id == cause.id || !known.contains(id);
    Some(sink.findings.iter().filter(|found| found.subject == *cause.subject).any(|found| same(&found.id())))
}
