//! See the page beside this file.

use super::named::{is_own, says_protocol};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2301",
    name: "port-name-says-no-protocol",
    aka: &["IST0118", "KIA0601", "KIA0602"],
    rung: Rung::Config,
    severity: Severity::Info,
    claim: "the name of every port says its protocol",
    needs: Inputs::of(&[Kind::Service]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("port_name_says_no_protocol.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let is_external =
        |service: &Object| service.spec_at(["type"]).and_then(Node::str) == Some("ExternalName");
    let services = facts.mesh.objects.of_kind(Kind::Service).iter();
    for service in services.filter(|service| !is_external(service) && !is_own(service)) {
        for port in service.spec_list("ports") {
            out.examined();
            if says_protocol(port) {
                continue;
            }
            let name = port.str_at("name").unwrap_or_default();
            let number = port.get("port").map(Node::to_json).unwrap_or_default();
            let message = format!(
                "port {number} of {} is called '{name}', which says no protocol",
                service.id
            );
            out.find(
                service.id.clone(),
                message,
                Evidence::of(service, port, "the port"),
            )
            .fix(Fix::advice(
                "call it http, http-NAME, grpc-NAME, tcp-NAME, or set appProtocol",
            ));
        }
    }
}
