//! As the objects alone show it.

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::destination_rule::peers::clashes;
use crate::rules::workloads;
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::peer_authentication::MutualTls;
use meshladder_text::tree::Node;
use meshladder_text::tree::Value;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Error,
    needs: Inputs::of(&[
        Kind::DestinationRule,
        Kind::PeerAuthentication,
        Kind::Service,
        Kind::Namespace,
    ]),
    uses: workloads::INPUTS,
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    out.examined += facts.mesh.objects.of_kind(Kind::DestinationRule).len();
    plain_text_to_strict(facts, out);
    mutual_tls_to_plain_text(facts, out);
}

fn plain_text_to_strict(facts: &Facts<'_>, out: &mut Sink) {
    for clash in clashes(facts, &["DISABLE"], MutualTls::Strict) {
        let message = format!(
            "{} has clients of {} send plain text, and {} demands mutual TLS there",
            clash.rule.id,
            host(clash.rule),
            clash.policy.id
        );
        let sent = Evidence::of(clash.rule, clash.sends, "TLS is off");
        let taken = Evidence::of(clash.policy, clash.takes, "mutual TLS is demanded");
        out.find(clash.rule.id.clone(), message, sent)
            .see(taken)
            .fix(Fix::merge(
                &clash.rule.id,
                Value::nested(["spec", "trafficPolicy", "tls", "mode"], "ISTIO_MUTUAL"),
            ));
    }
}

fn mutual_tls_to_plain_text(facts: &Facts<'_>, out: &mut Sink) {
    for clash in clashes(facts, &["ISTIO_MUTUAL"], MutualTls::Disable) {
        let message = format!(
            "{} turns mutual TLS off, and {} has clients of {} use it",
            clash.policy.id,
            clash.rule.id,
            host(clash.rule)
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

fn host(rule: &Object) -> &str {
    rule.spec_at(["host"])
        .and_then(Node::str)
        .unwrap_or_default()
}
