//! See the page beside this file.

use super::patches::{self, Fault};
use crate::finding::{Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2702",
    name: "replace-has-no-effect",
    aka: &["IST0152"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "REPLACE is used only where Istio replaces",
    needs: Inputs::of(&[Kind::EnvoyFilter]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("replace_has_no_effect.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let message =
        "uses REPLACE on something that Istio does not replace, so the patch has no effect";
    patches::tell(
        facts,
        Fault::Replace,
        message,
        "use MERGE, or REMOVE and ADD",
        out,
    );
}
