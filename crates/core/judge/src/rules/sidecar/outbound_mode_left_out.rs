//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML2552",
    name: "outbound-mode-left-out",
    aka: &["KIA1007"],
    rung: Rung::Config,
    severity: Severity::Info,
    claim: "every outboundTrafficPolicy names its mode",
    needs: Inputs::of(&[Kind::Sidecar]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("outbound_mode_left_out.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for sidecar in facts.mesh.objects.of_kind(Kind::Sidecar) {
        out.examined();
        let policy = sidecar
            .spec_at(["outboundTrafficPolicy"])
            .filter(|policy| policy.value != Value::Null);
        let Some(policy) = policy.filter(|policy| policy.get("mode").is_none()) else {
            continue;
        };
        let message = format!(
            "{} has an outboundTrafficPolicy without a mode, which means REGISTRY_ONLY: what is in no registry is refused",
            sidecar.id
        );
        out.find(
            sidecar.id.clone(),
            message,
            Evidence::of(sidecar, policy, "no mode"),
        )
        .fix(Fix::merge(
            &sidecar.id,
            Value::nested(["spec", "outboundTrafficPolicy", "mode"], "REGISTRY_ONLY"),
        ));
    }
}
