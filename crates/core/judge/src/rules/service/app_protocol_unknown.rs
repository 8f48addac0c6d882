//! See the page beside this file.

use super::named::is_own;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::services::{Protocol, ports};

pub(super) static RULE: Rule = Rule {
    code: "ML2350",
    name: "app-protocol-unknown",
    aka: &["KIA0602"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "appProtocol is a protocol that Istio knows where it stands before a name that says one",
    needs: Inputs::of(&[Kind::Service]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("app_protocol_unknown.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts
        .mesh
        .objects
        .of_kind(Kind::Service)
        .iter()
        .filter(|service| !is_own(service))
    {
        for port in ports(service) {
            out.examined();
            let Some(app_protocol) = port.app_protocol.filter(|text| !text.is_empty()) else {
                continue;
            };
            let by_name = Protocol::of_port(port.number, port.name, None, "TCP");
            if port.protocol != Protocol::Sniffed || by_name == Protocol::Sniffed {
                continue;
            }
            let message = format!(
                "port {} of {} has appProtocol {app_protocol}, which Istio does not know, so its name {} does not count and the protocol is guessed",
                port.number, service.id, port.name
            );
            let node = port.node.get("appProtocol").unwrap_or(port.node);
            out.find(
                service.id.clone(),
                message,
                Evidence::of(service, node, "appProtocol"),
            )
            .fix(Fix::advice(
                "use http, http2, grpc, https, tls, tcp, kubernetes.io/h2c, …, or leave it out",
            ));
        }
    }
}
