//! See the page beside this file.

use super::told::{KINDS_READ, tell};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Rule};
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::schema::Flaw;

pub(super) static RULE: Rule = Rule {
    code: "ML2907",
    name: "invalid-host",
    aka: &["IST0106"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every host is a name that may stand there",
    needs: Inputs::NONE,
    uses: KINDS_READ,
    explains: &[],
    docs: include_str!("invalid_host.md"),
    check: Check::Object(|facts, out| {
        tell(
            facts,
            Flaw::InvalidHost,
            "write the full name of the host; a wildcard may only be the first label",
            out,
        );
    }),
};
