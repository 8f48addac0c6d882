//! See the page beside this file.

use super::told::{KINDS_READ, tell};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Rule};
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::schema::Flaw;

pub(super) static RULE: Rule = Rule {
    code: "ML2903",
    name: "unknown-enum-value",
    aka: &["IST0106"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every field with a choice of names has one of them",
    needs: Inputs::NONE,
    uses: KINDS_READ,
    explains: &[],
    docs: include_str!("unknown_enum_value.md"),
    check: Check::Object(|facts, out| {
        tell(facts, Flaw::UnknownEnumValue, "use one of the names", out);
    }),
};
