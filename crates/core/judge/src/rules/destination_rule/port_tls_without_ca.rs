//! See the page beside this file.

use super::verification::unchecked;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::services::number;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2102",
    name: "port-tls-without-ca",
    aka: &["IST0129"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every TLS connection that a DestinationRule opens to a port checks the server",
    needs: Inputs::of(&[Kind::DestinationRule]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("port_tls_without_ca.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for rule in facts.mesh.objects.of_kind(Kind::DestinationRule) {
        let settings = rule
            .spec_at(["trafficPolicy", "portLevelSettings"])
            .map_or(&[][..], Node::items);
        for setting in settings {
            out.examined();
            let Some((tls, mode)) = unchecked(rule, setting) else {
                continue;
            };
            let port = setting
                .at(["port", "number"])
                .and_then(number)
                .unwrap_or_default();
            let host = rule
                .spec_at(["host"])
                .and_then(Node::str)
                .unwrap_or_default();
            let message = format!(
                "{} opens TLS ({mode}) to {host}:{port} and names no CA to check the server with",
                rule.id
            );
            out.find(rule.id.clone(), message, Evidence::of(rule, tls, "TLS without a CA")).fix(Fix::advice(
                "name the CA in tls.caCertificates, or a Secret in tls.credentialName with a workloadSelector",
            ));
        }
    }
}
