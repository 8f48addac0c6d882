//! See the page beside this file.

use super::told::{KINDS_READ, tell};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Rule};
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::schema::Flaw;

pub(super) static RULE: Rule = Rule {
    code: "ML2912",
    name: "outdated-field",
    aka: &["IST0133"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "no field or notation is one that another has replaced",
    needs: Inputs::NONE,
    uses: KINDS_READ,
    explains: &[],
    docs: include_str!("outdated_field.md"),
    check: Check::Object(|facts, out| {
        tell(facts, Flaw::Deprecated, "use what has replaced it", out);
    }),
};
