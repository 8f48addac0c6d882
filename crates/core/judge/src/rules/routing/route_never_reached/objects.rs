//! As the objects alone show it.

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::virtual_service::matches::idle;
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Warning,
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: Inputs::NONE,
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        out.examined();
        for idle in idle(service).rules {
            let message = format!("{}: {}", service.id, idle.why);
            out.find(
                service.id.clone(),
                message,
                Evidence::of(service, idle.node, "the rule"),
            )
            .fix(Fix::advice(
                "put it before the rules that take its requests, or remove it",
            ));
        }
    }
}
