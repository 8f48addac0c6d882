//! See the page beside this file.

use super::patches::{self, Fault};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2704",
    name: "remove-has-no-effect",
    aka: &["IST0154"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "REMOVE is used only where Istio removes",
    needs: Inputs::of(&[Kind::EnvoyFilter]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("remove_has_no_effect.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let message = "uses REMOVE on a route configuration or a route, so the patch has no effect";
    patches::tell(
        facts,
        Fault::Remove,
        message,
        "remove the virtual host, or MERGE what the route should do",
        out,
    );
}
