//! See the page beside this file.

use super::told::{KINDS_READ, tell};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Rule};
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::schema::Flaw;

pub(super) static RULE: Rule = Rule {
    code: "ML2913",
    name: "loosely-written",
    aka: &["IST0133"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "fields and values are written as the API server reads them",
    needs: Inputs::NONE,
    uses: KINDS_READ,
    explains: &[],
    docs: include_str!("loosely_written.md"),
    check: Check::Object(|facts, out| {
        tell(
            facts,
            Flaw::LooselyWritten,
            "write it as the API server reads it",
            out,
        );
    }),
};
