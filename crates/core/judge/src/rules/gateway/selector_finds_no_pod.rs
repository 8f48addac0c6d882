//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2201",
    name: "selector-finds-no-pod",
    aka: &["IST0101", "KIA0302"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every Gateway selects a pod",
    needs: Inputs::of(&[Kind::Gateway, Kind::Pod]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("selector_finds_no_pod.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for gateway in facts.mesh.objects.of_kind(Kind::Gateway).iter() {
        out.examined();
        let Some(selector) = gateway
            .spec_at(["selector"])
            .filter(|selector| !selector.members().is_empty())
        else {
            continue;
        };
        if facts.mesh.gateway_pods(gateway).is_empty() {
            let message = format!(
                "{} selects {}, and no pod has these labels",
                gateway.id,
                selector.to_json()
            );
            out.find(
                gateway.id.clone(),
                message,
                Evidence::of(gateway, selector, "what it selects"),
            )
            .fix(Fix::advice("select the labels of the gateway's pods"));
        }
    }
}
