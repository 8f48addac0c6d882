//! See the page beside this file.

use super::told::{KINDS_READ, tell};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Rule};
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::schema::Flaw;

pub(super) static RULE: Rule = Rule {
    code: "ML2911",
    name: "setting-has-no-effect",
    aka: &["IST0133"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every setting has an effect",
    needs: Inputs::NONE,
    uses: KINDS_READ,
    explains: &[],
    docs: include_str!("setting_has_no_effect.md"),
    check: Check::Object(|facts, out| {
        tell(
            facts,
            Flaw::NoEffect,
            "take it out, or add what it needs",
            out,
        );
    }),
};
