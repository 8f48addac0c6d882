//! See the page beside this file.

use super::patches::{self, Fault};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2701",
    name: "patch-order-by-chance",
    aka: &["IST0151"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "a patch whose place depends on others has a priority",
    needs: Inputs::of(&[Kind::EnvoyFilter]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("patch_order_by_chance.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let message = "patches relative to other filters and has no priority, so what it finds there depends on the order of the EnvoyFilters";
    patches::tell(
        facts,
        Fault::Relative,
        message,
        "give spec.priority a value, or use INSERT_FIRST",
        out,
    );
}
