//! See the page beside this file.

use super::verification::unchecked;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2101",
    name: "tls-without-ca",
    aka: &["IST0128"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every TLS connection that a DestinationRule opens checks the server",
    needs: Inputs::of(&[Kind::DestinationRule]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("tls_without_ca.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for rule in facts.mesh.objects.of_kind(Kind::DestinationRule) {
        out.examined();
        let Some((tls, mode)) = rule
            .spec_at(["trafficPolicy"])
            .and_then(|policy| unchecked(rule, policy))
        else {
            continue;
        };
        let host = rule
            .spec_at(["host"])
            .and_then(Node::str)
            .unwrap_or_default();
        let message = format!(
            "{} opens TLS ({mode}) to {host} and names no CA to check the server with",
            rule.id
        );
        out.find(rule.id.clone(), message, Evidence::of(rule, tls, "TLS without a CA")).fix(Fix::advice(
            "name the CA in tls.caCertificates, or a Secret in tls.credentialName with a workloadSelector",
        ));
    }
}
