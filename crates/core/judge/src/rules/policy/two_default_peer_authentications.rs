//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::policies::{age, selector};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2650",
    name: "two-default-peer-authentications",
    aka: &["KIA0002"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "a namespace has one PeerAuthentication without a selector",
    needs: Inputs::of(&[Kind::PeerAuthentication]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("two_default_peer_authentications.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let all = facts.mesh.objects.of_kind(Kind::PeerAuthentication);
    for of_namespace in all.chunk_by(|a, b| a.id.namespace == b.id.namespace) {
        out.examined();
        let mut defaults: Vec<&Object> = of_namespace
            .iter()
            .filter(|policy| selector(policy.spec()).is_none())
            .collect();
        defaults.sort_by_key(|policy| age(&policy.node));
        let Some((first, others)) = defaults.split_first() else {
            continue;
        };
        for policy in others.iter().filter(|policy| policy.id != first.id) {
            let is_same = said(policy) == said(first);
            let message = format!(
                "{} and {} are both for all pods of the namespace, and only the oldest counts{}",
                policy.id,
                first.id,
                if is_same { "; they say the same" } else { "" }
            );
            let finding = out.find(
                policy.id.clone(),
                message,
                Evidence::object(policy, "no selector"),
            );
            finding
                .see(Evidence::object(first, "the other"))
                .fix(Fix::advice("make them one, or give one a selector"));
            if is_same {
                finding.severity(Severity::Info);
            }
        }
    }
}

fn said(policy: &Object) -> Option<String> {
    policy.spec_at(["mtls"]).map(Node::to_json)
}
