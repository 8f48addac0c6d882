//! As the objects alone show it.

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::analyzed::known;
use crate::rules::virtual_service::destination;
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Error,
    needs: Inputs::of(&[Kind::VirtualService, Kind::Service, Kind::ServiceEntry]),
    uses: Inputs::NONE,
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        for to in destination::of(facts.mesh, service) {
            out.examined();
            if !known(facts.mesh, service, &to.host).is_empty() {
                continue;
            }
            let host = if to.host.is_empty() {
                "no host"
            } else {
                &to.host
            };
            let message = format!(
                "{} leads to {host}, which no Service or ServiceEntry that it can see has",
                service.id
            );
            out.find(
                service.id.clone(),
                message,
                Evidence::of(service, to.node, "where it leads"),
            )
            .fix(Fix::advice(
                "name a Service or a ServiceEntry that is exported to this namespace",
            ));
        }
    }
}
