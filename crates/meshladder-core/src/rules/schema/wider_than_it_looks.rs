//! See the page beside this file.

use super::told::{KINDS_READ, tell};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Rule};
use crate::schema::Flaw;

pub(super) static RULE: Rule = Rule {
    code: "ML2914",
    name: "wider-than-it-looks",
    aka: &["IST0133"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "an object reaches no further than it seems",
    needs: &[],
    uses: KINDS_READ,
    explains: &[],
    docs: include_str!("wider_than_it_looks.md"),
    check: Check::Object(|facts, out| tell(facts, Flaw::Wider, "say what is meant: the labels of the workloads, or the ports", out)),
};
