//! As the objects alone show it.

use crate::finding::{Evidence, Fix, Op, Severity};
use crate::rules::config::nearest::nearest;
use crate::rules::virtual_service::bound::{self, Bound};
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Error,
    needs: Inputs::of(&[Kind::VirtualService, Kind::Gateway]),
    uses: Inputs::of(&[Kind::K8sGateway]),
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        for Bound {
            node,
            namespace,
            name,
        } in bound::to_gateways(service)
        {
            out.examined();
            // One of the Gateway API is named as well, though istiod does not look there.
            let is_there = |kind| facts.mesh.objects.get(kind, namespace, name).is_some();
            if is_there(Kind::Gateway) || is_there(Kind::K8sGateway) {
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
                let meant = format!("{namespace}/{near}");
                finding.fix(Fix::patch(
                    &service.id,
                    [Op::replace(service.path_of(node), meant)],
                ));
            }
            finding.fix(Fix::advice(
                "name a Gateway that exists, as namespace/name, or mesh for sidecars",
            ));
        }
    }
}
