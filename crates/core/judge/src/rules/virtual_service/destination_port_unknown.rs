//! See the page beside this file.

use super::destination;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::analyzed::known;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2002",
    name: "destination-port-unknown",
    aka: &["IST0101"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every port that a VirtualService leads to is one of the host",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Service, Kind::ServiceEntry]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("destination_port_unknown.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
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
