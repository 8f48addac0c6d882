//! See the page beside this file.

use super::bound::{self, Bound};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2009",
    name: "internal-gateway-named",
    aka: &["IST0165"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "no VirtualService names a Gateway that istiod makes for itself",
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("internal_gateway_named.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        for bound in bound::of(service).filter(Bound::is_internal) {
            out.examined();
            let message = format!(
                "{} names {}, which istiod makes from a Gateway of the Gateway API and may name otherwise at any time",
                service.id, bound.name
            );
            out.find(
                service.id.clone(),
                message,
                Evidence::of(service, bound.node, "the Gateway it names"),
            )
            .fix(Fix::advice(
                "route by an HTTPRoute, or name a Gateway of Istio's own",
            ));
        }
    }
}
