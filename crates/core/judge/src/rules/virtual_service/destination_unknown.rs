//! See the page beside this file.

use super::destination;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::analyzed::known;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2001",
    name: "destination-unknown",
    aka: &["IST0101", "KIA1101"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every host that a VirtualService leads to is a Service or a ServiceEntry it can see",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Service, Kind::ServiceEntry]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("destination_unknown.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
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
