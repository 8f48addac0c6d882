//! See the page beside this file.

use crate::finding::{Rung, Severity};
use crate::rules::{Check, Rule};
use meshladder_capture::snapshot::Inputs;

/// Found by the ladder when all rules have run: only then is it known that nothing else decides.
pub(super) static RULE: Rule = Rule {
    code: "ML0101",
    name: "missing-facts",
    aka: &[],
    rung: Rung::Reach,
    severity: Severity::Error,
    claim: "every fact that the answer needs can be read",
    needs: Inputs::NONE,
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("missing_facts.md"),
    check: Check::Mesh(|_, _| {}),
};
