//! See the page beside this file.

use super::bound::{self, Bound};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::config::nearest::nearest;
use crate::rules::endpoints::met;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::json::escape;

pub(super) static RULE: Rule = Rule {
    code: "ML2008",
    name: "gateway-unknown",
    aka: &["IST0101", "KIA1102"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every Gateway that a VirtualService names exists",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Gateway]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("gateway_unknown.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        for Bound {
            node,
            namespace,
            name,
        } in bound::to_gateways(service)
        {
            out.examined();
            if facts
                .mesh
                .objects
                .get(Kind::Gateway, namespace, name)
                .is_some()
            {
                continue;
            }
            let message = format!(
                "{} names Gateway {namespace}/{name}, and there is none",
                service.id
            );
            let finding = out.find(
                service.id.clone(),
                message,
                Evidence::of(service, node, "the Gateway it names"),
            );
            let near = facts
                .mesh
                .objects
                .in_namespace(Kind::Gateway, namespace)
                .map(|gateway| gateway.id.name.as_str());
            if let Some(near) = nearest(name, near) {
                let meant = escape(&format!("{namespace}/{near}"));
                finding.fix(met::put(service, "replace", &service.path_of(node), &meant));
            }
            finding.fix(Fix::advice(
                "name a Gateway that exists, as namespace/name, or mesh for sidecars",
            ));
        }
    }
}
