//! See the page beside this file.

use super::told::{KINDS_READ, tell};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Rule};
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::schema::Flaw;

pub(super) static RULE: Rule = Rule {
    code: "ML2909",
    name: "said-twice",
    aka: &["IST0106"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "what must differ in a list differs",
    needs: Inputs::NONE,
    uses: KINDS_READ,
    explains: &[],
    docs: include_str!("said_twice.md"),
    check: Check::Object(|facts, out| {
        tell(
            facts,
            Flaw::Duplicate,
            "take one of them out, or rename it",
            out,
        );
    }),
};
