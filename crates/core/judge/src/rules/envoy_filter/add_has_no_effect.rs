//! See the page beside this file.

use super::patches::{self, Fault};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2703",
    name: "add-has-no-effect",
    aka: &["IST0153"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "ADD is used only where Istio adds",
    needs: Inputs::of(&[Kind::EnvoyFilter]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("add_has_no_effect.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let message = "uses ADD on a route configuration or a route, so the patch has no effect";
    patches::tell(
        facts,
        Fault::Add,
        message,
        "add a virtual host, or use INSERT_FIRST on HTTP_ROUTE",
        out,
    );
}
