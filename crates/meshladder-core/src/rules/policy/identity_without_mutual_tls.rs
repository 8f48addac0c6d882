//! See the page beside this file.

use std::collections::BTreeSet;

use super::listed::{conditions, of_sources};
use crate::doc::tree::Node;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::mesh::peer_authentication::{MutualTls, PeerMode};
use crate::mesh::policies::selector;
use crate::mesh::{ObjectRef, Stored};
use crate::model::selector::has_labels;
use crate::rules::analyzed::NAMESPACES;
use crate::rules::held::{AUTHORIZATION_POLICIES, PEER_AUTHENTICATIONS};
use crate::rules::workloads;
use crate::rules::{Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML2655",
    name: "identity-without-mutual-tls",
    aka: &["KIA0105"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "policies that go by the caller's identity are for workloads that take mutual TLS",
    needs: &[AUTHORIZATION_POLICIES, PEER_AUTHENTICATIONS, NAMESPACES],
    uses: workloads::PATHS,
    explains: &[],
    docs: include_str!("identity_without_mutual_tls.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let root = &*facts.mesh.config.root_namespace;
    let peers = facts.mesh.objects.of_kind("PeerAuthentication").iter();
    let turned_off: BTreeSet<&str> =
        peers.filter(|peer| disables(peer)).map(|peer| peer.id.namespace.as_str()).collect();
    for policy in facts.mesh.objects.of_kind("AuthorizationPolicy") {
        out.examined();
        if !turned_off.contains(root) && !turned_off.contains(policy.id.namespace.as_str()) {
            continue;
        }
        let Some(node) = identity(policy).filter(|_| !has_target(policy)) else { continue };
        let Some((workload, (disabling, mode))) = disabled(facts, policy) else { continue };
        let message = format!(
            "{} goes by the caller's identity, and {} turns mutual TLS off at {workload}, so no caller has one",
            policy.id, disabling.id
        );
        out.find(policy.id.clone(), message, Evidence::of(policy, node, "what it goes by"))
            .see(Evidence::of(disabling, mode, "mutual TLS is off"))
            .fix(Fix::advice("turn mutual TLS on there, or go by something else than the identity"));
    }
}

/// Whether it says that anywhere.
fn disables(peer: &Stored) -> bool {
    let ports = peer.spec_at(["portLevelMtls"]).map_or(&[][..], Node::members).iter().map(|port| &port.value);
    ports.chain(peer.spec_at(["mtls"])).any(|mtls| mtls.str_at("mode") == Some("DISABLE"))
}

/// Gateways and waypoints take mutual TLS whatever a PeerAuthentication says.
fn has_target(policy: &Stored) -> bool {
    ["targetRef", "targetRefs"].iter().any(|key| policy.spec_at([key]).is_some())
}

/// The first thing that only a certificate tells.
fn identity(policy: &Stored) -> Option<&Node> {
    let sources =
        of_sources(policy, &["principals", "notPrincipals", "namespaces", "notNamespaces", "serviceAccounts"]);
    sources.chain(conditions(policy, &["source.principal", "source.namespace", "source.serviceAccount"])).next()
}

/// A workload that the policy is for and that takes plain text only, with what says so.
fn disabled<'m>(facts: &Facts<'m>, policy: &Stored) -> Option<(&'m ObjectRef, (&'m Stored, &'m Node))> {
    let (mesh, namespace) = (facts.mesh, policy.id.namespace.as_str());
    let is_meant = |labels| selector(policy.spec()).is_none_or(|wanted| has_labels(wanted, labels));
    workloads::templates(mesh, namespace)
        .filter(|template| is_meant(template.labels()) && workloads::is_in_mesh(mesh, *template))
        .find_map(|template| Some((&template.object.id, off(mesh.mutual_tls(&workloads::of_template(template), 0))?)))
}

/// What turns mutual TLS off on all ports.
fn off(peer: PeerMode<'_>) -> Option<(&Stored, &Node)> {
    let (policy, mode) = peer.by.filter(|_| peer.mode == MutualTls::Disable)?;
    policy.spec_at(["portLevelMtls"]).is_none().then_some((policy, mode))
}
