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
    code: "ML2152",
    name: "mutual-tls-to-plain-text",
    aka: &["KIA0505", "KIA0506"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "no DestinationRule has clients use mutual TLS where it is turned off",
    needs: Inputs::of(&[
        Kind::DestinationRule,
        Kind::PeerAuthentication,
        Kind::Service,
        Kind::Namespace,
    ]),
    uses: workloads::INPUTS,
    explains: &[],
    docs: include_str!("mutual_tls_to_plain_text.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    out.examined += facts.mesh.objects.of_kind(Kind::DestinationRule).len();
    for clash in clashes(facts, &["ISTIO_MUTUAL"], MutualTls::Disable) {
        let host = clash
            .rule
            .spec_at(["host"])
            .and_then(Node::str)
            .unwrap_or_default();
        let message = format!(
            "{} turns mutual TLS off, and {} has clients of {host} use it",
            clash.policy.id, clash.rule.id
        );
        let taken = Evidence::of(clash.policy, clash.takes, "mutual TLS is off");
        let sent = Evidence::of(clash.rule, clash.sends, "clients use mutual TLS");
        // The narrower of the two is the exception that does not fit.
        let (subject, first, second) = if clash.is_narrow {
            (clash.rule, sent, taken)
        } else {
            (clash.policy, taken, sent)
        };
        out.find(subject.id.clone(), message, first)
            .see(second)
            .fix(Fix::advice(
                "use PERMISSIVE, or have clients send plain text there with tls mode DISABLE",
            ));
    }
}
