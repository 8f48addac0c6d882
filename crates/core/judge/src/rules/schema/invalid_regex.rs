//! See the page beside this file.

use super::told::{KINDS_READ, tell};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Rule};
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::schema::Flaw;

pub(super) static RULE: Rule = Rule {
    code: "ML2908",
    name: "invalid-regex",
    aka: &["IST0106"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "RE2 takes every regular expression",
    needs: Inputs::NONE,
    uses: KINDS_READ,
    explains: &[],
    docs: include_str!("invalid_regex.md"),
    check: Check::Object(|facts, out| {
        tell(
            facts,
            Flaw::InvalidRegex,
            "write it in the syntax of RE2: it has no look-around and no back-references",
            out,
        );
    }),
};
