//! See the page beside this file.

use std::collections::BTreeSet;

use super::listed::{conditions, of_sources};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::peer_modes::PeerModes;
use crate::rules::workloads::{self, Selectors};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::peer_authentication::{MutualTls, PeerMode};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2655",
    name: "identity-without-mutual-tls",
    aka: &["KIA0105"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "policies that go by the caller's identity are for workloads that take mutual TLS",
    needs: Inputs::of(&[
        Kind::AuthorizationPolicy,
        Kind::PeerAuthentication,
        Kind::Namespace,
    ]),
    uses: workloads::INPUTS,
    explains: &[],
    docs: include_str!("identity_without_mutual_tls.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let policies = facts.mesh.objects.of_kind(Kind::AuthorizationPolicy);
    out.examined += policies.len();
    let by_identity = policies
        .iter()
        .filter(|policy| !has_target(policy) && identity(policy).is_some());
    let (selectors, accepted) = (Selectors::of(by_identity), PeerModes::of(facts));
    let mut told = BTreeSet::new();
    for template in workloads::templates(facts.mesh) {
        let (namespace, labels) = (template.namespace(), template.labels());
        let Some((peer, mode)) = off(accepted.by(namespace, labels, 0)) else {
            continue;
        };
        if !template.is_in_mesh(facts.mesh) {
            continue;
        }
        let selecting = selectors
            .selecting(namespace, labels)
            .into_iter()
            .map(|(_, alike)| alike);
        let near = selecting.chain(selectors.unlabelled(namespace));
        let new = near.filter(|alike| told.insert(alike.objects[0].id.clone()));
        for policy in new.flat_map(|alike| &alike.objects) {
            let Some(node) = identity(policy) else {
                continue;
            };
            let message = format!(
                "{} goes by the caller's identity, and {} turns mutual TLS off at {}, so no caller has one",
                policy.id, peer.id, template.object.id
            );
            out.find(
                policy.id.clone(),
                message,
                Evidence::of(policy, node, "what it goes by"),
            )
            .see(Evidence::of(peer, mode, "mutual TLS is off"))
            .fix(Fix::advice(
                "turn mutual TLS on there, or go by something else than the identity",
            ));
        }
    }
}

/// Gateways and waypoints take mutual TLS whatever a PeerAuthentication says.
fn has_target(policy: &Object) -> bool {
    ["targetRef", "targetRefs"]
        .iter()
        .any(|key| policy.spec_at([key]).is_some())
}

/// The first thing that only a certificate tells.
fn identity(policy: &Object) -> Option<&Node> {
    let sources = of_sources(
        policy,
        &[
            "principals",
            "notPrincipals",
            "namespaces",
            "notNamespaces",
            "serviceAccounts",
        ],
    );
    sources
        .chain(conditions(
            policy,
            &[
                "source.principal",
                "source.namespace",
                "source.serviceAccount",
            ],
        ))
        .next()
}

/// What turns mutual TLS off on all ports.
fn off(peer: PeerMode<'_>) -> Option<(&Object, &Node)> {
    let (policy, mode) = peer.by.filter(|_| peer.mode == MutualTls::Disable)?;
    policy
        .spec_at(["portLevelMtls"])
        .is_none()
        .then_some((policy, mode))
}
