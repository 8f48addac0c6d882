//! See the page beside this file.

use super::named::{is_own, says_protocol};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2302",
    name: "external-name-port-takes-all",
    aka: &["IST0150", "KIA0601"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "the ports of an ExternalName Service say a protocol that carries a host",
    needs: Inputs::of(&[Kind::Service]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("external_name_port_takes_all.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let is_external =
        |service: &Object| service.spec_at(["type"]).and_then(Node::str) == Some("ExternalName");
    let services = facts.mesh.objects.of_kind(Kind::Service).iter();
    for service in services.filter(|service| is_external(service) && !is_own(service)) {
        for port in service.spec_list("ports") {
            out.examined();
            let name = port.str_at("name").unwrap_or_default();
            if says_protocol(port) && name != "tcp" {
                continue;
            }
            let number = port.get("port").map(Node::to_json).unwrap_or_default();
            let message = format!(
                "port {number} of {}, which is of type ExternalName, is taken for TCP: the proxy would take all traffic to that port",
                service.id
            );
            out.find(
                service.id.clone(),
                message,
                Evidence::of(service, port, "the port"),
            )
            .fix(Fix::advice("call the port http, https or tls"));
        }
    }
}
