//! See the page beside this file.

use super::told::{KINDS_READ, tell};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Rule};
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::schema::Flaw;

pub(super) static RULE: Rule = Rule {
    code: "ML2905",
    name: "exclusive-fields",
    aka: &["IST0106"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "fields that exclude each other do not stand together",
    needs: Inputs::NONE,
    uses: KINDS_READ,
    explains: &[],
    docs: include_str!("exclusive_fields.md"),
    check: Check::Object(|facts, out| tell(facts, Flaw::ExclusiveFields, "keep one of them", out)),
};
