//! As the objects alone show it.

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Error,
    needs: Inputs::of(&[Kind::Gateway, Kind::Pod]),
    uses: Inputs::NONE,
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    for gateway in facts.mesh.objects.of_kind(Kind::Gateway) {
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
