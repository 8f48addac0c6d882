//! See the page beside this file.

use super::told::{KINDS_READ, tell};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Rule};
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::schema::Flaw;

pub(super) static RULE: Rule = Rule {
    code: "ML2906",
    name: "invalid-value",
    aka: &["IST0106"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every value is one that its field can have",
    needs: Inputs::NONE,
    uses: KINDS_READ,
    explains: &[],
    docs: include_str!("invalid_value.md"),
    check: Check::Object(|facts, out| {
        tell(
            facts,
            Flaw::InvalidValue,
            "write a value that the field takes",
            out,
        );
    }),
};
