//! See the page beside this file.

use super::told::{KINDS_READ, tell};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Rule};
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::schema::Flaw;

pub(super) static RULE: Rule = Rule {
    code: "ML2910",
    name: "fields-do-not-fit",
    aka: &["IST0106"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "fields that depend on each other agree",
    needs: Inputs::NONE,
    uses: KINDS_READ,
    explains: &[],
    docs: include_str!("fields_do_not_fit.md"),
    check: Check::Object(|facts, out| tell(facts, Flaw::Misfit, "change one of the two", out)),
};
