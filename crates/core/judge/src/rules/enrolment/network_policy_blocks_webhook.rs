//! See the page beside this file.

use super::injection_webhook_unserved::hit_refused;
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::network_policy::{Passage, WEBHOOK};

/// Only what the API server itself says is proof: where its connections come from, no object tells.
pub(super) static RULE: Rule = Rule {
    code: "ML0316",
    name: "network-policy-blocks-webhook",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "no NetworkPolicy keeps the API server from istiod's webhooks",
    needs: Inputs::of(&[Kind::Pod, Kind::NetworkPolicy, Kind::Event]),
    uses: Inputs::of(&[
        Kind::Namespace,
        Kind::Deployment,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::Service,
    ]),
    explains: &["ML0302", "ML0307", "ML07", "ML10"],
    docs: include_str!("network_policy_blocks_webhook.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    const NO_ANSWER: [&str; 3] = ["context deadline exceeded", "i/o timeout", "Timeout"];
    let event = facts
        .mesh
        .objects
        .of_kind(Kind::Event)
        .iter()
        .find(|event| {
            let message = event.node.str_at("message").unwrap_or_default();
            message.contains("failed calling webhook")
                && message.contains("istio.io")
                && NO_ANSWER.iter().any(|words| message.contains(words))
        });
    for reach in facts.mesh.reach_webhooks(None) {
        out.examined();
        let (Some(event), blocked) = (event, reach.passage) else {
            continue;
        };
        let (rules, opening) = match &blocked {
            Passage::Blocked(blocked) => (&blocked[0].policies, Some(&blocked[0].opening)),
            Passage::Unknown(_, rules) => (rules, None),
            Passage::Allowed(_) => continue,
        };
        let Some(part) = rules.first() else { continue };
        let policy = &part.policy.id;
        let message = format!(
            "{policy} keeps the API server from istiod's webhooks (TCP {WEBHOOK}), so new pods are refused"
        );
        let finding = out.find(
            policy.clone(),
            message,
            Evidence::of(part.policy, part.node, "15017 is not in it"),
        );
        finding.confidence(Confidence::Likely);
        finding.see(Evidence::of(
            event,
            event.node.get("message").unwrap_or(&event.node),
            "what the API server said",
        ));
        finding.hits(policy.clone());
        hit_refused(facts, "failed calling webhook", finding);
        if let Some(opening) = opening {
            finding.fix(Fix::merge(policy, (&opening.merge).into()));
        }
        finding.fix(Fix::delete(policy));
        return;
    }
}
