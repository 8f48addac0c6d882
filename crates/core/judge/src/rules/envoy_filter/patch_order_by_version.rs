//! See the page beside this file.

use super::patches::{self, Fault};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2705",
    name: "patch-order-by-version",
    aka: &["IST0155"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "a patch whose place depends on another one is for the same proxies",
    needs: Inputs::of(&[Kind::EnvoyFilter]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("patch_order_by_version.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let message = "patches the same filter again for all proxies, after a patch for some versions only, and has no priority";
    patches::tell(
        facts,
        Fault::RelativeByVersion,
        message,
        "give spec.priority a value, or the second patch its own proxyVersion",
        out,
    );
}
