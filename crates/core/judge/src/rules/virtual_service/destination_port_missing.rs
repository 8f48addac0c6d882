//! See the page beside this file.

use super::destination;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::analyzed::known;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2003",
    name: "destination-port-missing",
    aka: &["IST0112"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "a destination with several ports is named with its port",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Service, Kind::ServiceEntry]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("destination_port_missing.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        for to in destination::of(facts.mesh, service)
            .iter()
            .filter(|to| to.port.is_none())
        {
            out.examined();
            let ports = destination::ports(&known(facts.mesh, service, &to.host));
            if ports.len() < 2 {
                continue;
            }
            let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
            let message = format!(
                "{} leads to {} without a port, and it has several: {}",
                service.id,
                to.host,
                ports.join(", ")
            );
            out.find(
                service.id.clone(),
                message,
                Evidence::of(service, to.node, "where it leads"),
            )
            .fix(Fix::advice("name the port"));
        }
    }
}
