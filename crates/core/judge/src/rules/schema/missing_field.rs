//! See the page beside this file.

use super::told::{KINDS_READ, tell};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Rule};
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::schema::Flaw;

pub(super) static RULE: Rule = Rule {
    code: "ML2904",
    name: "missing-field",
    aka: &["IST0106"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every field that a kind cannot do without is there",
    needs: Inputs::NONE,
    uses: KINDS_READ,
    explains: &[],
    docs: include_str!("missing_field.md"),
    check: Check::Object(|facts, out| tell(facts, Flaw::MissingField, "add it", out)),
};
