//! See the page beside this file.

use super::told::{KINDS_READ, tell};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Rule};
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::schema::Flaw;

pub(super) static RULE: Rule = Rule {
    code: "ML2901",
    name: "unknown-field",
    aka: &["IST0106"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every field of an Istio or Gateway API object is one that its kind has",
    needs: Inputs::NONE,
    uses: KINDS_READ,
    explains: &[],
    docs: include_str!("unknown_field.md"),
    check: Check::Object(|facts, out| {
        tell(
            facts,
            Flaw::UnknownField,
            "take it out, or move it to where it belongs",
            out,
        );
    }),
};
