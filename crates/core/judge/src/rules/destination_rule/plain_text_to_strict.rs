//! See the page beside this file.

use super::peers::clashes;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::workloads;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::peer_authentication::MutualTls;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2151",
    name: "plain-text-to-strict",
    aka: &["KIA0207", "KIA0208"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "no DestinationRule turns TLS off for servers that demand mutual TLS",
    needs: Inputs::of(&[
        Kind::DestinationRule,
        Kind::PeerAuthentication,
        Kind::Service,
        Kind::Namespace,
    ]),
    uses: workloads::INPUTS,
    explains: &[],
    docs: include_str!("plain_text_to_strict.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    out.examined += facts.mesh.objects.of_kind(Kind::DestinationRule).len();
    for clash in clashes(facts, &["DISABLE"], MutualTls::Strict) {
        let host = clash
            .rule
            .spec_at(["host"])
            .and_then(Node::str)
            .unwrap_or_default();
        let message = format!(
            "{} has clients of {host} send plain text, and {} demands mutual TLS there",
            clash.rule.id, clash.policy.id
        );
        out.find(
            clash.rule.id.clone(),
            message,
            Evidence::of(clash.rule, clash.sends, "TLS is off"),
        )
        .see(Evidence::of(
            clash.policy,
            clash.takes,
            "mutual TLS is demanded",
        ))
        .fix(Fix::merge(
            &clash.rule.id,
            r#"{"spec":{"trafficPolicy":{"tls":{"mode":"ISTIO_MUTUAL"}}}}"#,
        ));
    }
}
