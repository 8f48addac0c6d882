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
            let Some(port) = to.port else { continue };
            let known = known(facts.mesh, service, &to.host);
            if known.is_empty() || destination::ports(&known).contains(&port) {
                continue;
            }
            let message = format!(
                "{} leads to port {port} of {}, which has no such port",
                service.id, to.host
            );
            let node = to.node.at(["port", "number"]).unwrap_or(to.node);
            out.find(
                service.id.clone(),
                message,
                Evidence::of(service, node, "the port"),
            )
            .fix(Fix::advice("name a port that the host has"));
        }
    }
}
