//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::absence::holds;
use crate::rules::peer_modes::PeerModes;
use crate::rules::workloads;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::peer_authentication::MutualTls;
use meshladder_mesh::policies::selector;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2658",
    name: "strict-without-auto-mutual-tls",
    aka: &["KIA0401", "KIA0501"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "where mutual TLS is demanded, clients use it",
    needs: Inputs::of(&[
        Kind::PeerAuthentication,
        Kind::DestinationRule,
        Kind::Service,
        Kind::Namespace,
        Kind::ConfigMap,
    ]),
    uses: workloads::INPUTS,
    explains: &[],
    docs: include_str!("strict_without_auto_mutual_tls.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    if facts.mesh.config.auto_mtls {
        return;
    }
    let (root, accepted) = (&*facts.mesh.config.root_namespace, PeerModes::of(facts));
    for policy in facts.mesh.objects.of_kind(Kind::PeerAuthentication) {
        out.examined();
        let mode = policy
            .spec_at(["mtls", "mode"])
            .filter(|mode| mode.str() == Some("STRICT"));
        let Some(mode) = mode.filter(|_| selector(policy.spec()).is_none()) else {
            continue;
        };
        let namespace = Some(policy.id.namespace.as_str()).filter(|namespace| *namespace != root);
        let Some(host) = unserved(facts, &accepted, namespace) else {
            continue;
        };
        let message = format!(
            "{} demands mutual TLS, the mesh has automatic mutual TLS off, and no DestinationRule has clients of {host} use it",
            policy.id
        );
        out.find(policy.id.clone(), message, Evidence::of(policy, mode, "mutual TLS is demanded")).fix(Fix::advice(
            "set enableAutoMtls in the mesh's settings, or add a DestinationRule with tls mode ISTIO_MUTUAL",
        ));
    }
}

/// A host that clients call in plain text; of a namespace, or of the whole mesh.
fn unserved(
    facts: &Facts<'_>,
    accepted: &PeerModes<'_>,
    namespace: Option<&str>,
) -> Option<String> {
    if !holds(facts, Kind::Service) {
        let host = match namespace {
            Some(namespace) => facts.mesh.domain.service("*", namespace),
            None => format!("*.svc.{}", facts.mesh.domain.name()),
        };
        return Some(host).filter(|host| !uses_mutual_tls(facts, host));
    }
    let services = facts.mesh.objects.of_kind(Kind::Service).iter();
    let near = services
        .filter(|service| namespace.is_none_or(|namespace| service.id.namespace == namespace));
    let hosts = near
        .filter(|service| is_strict(accepted, service))
        .map(|service| {
            facts
                .mesh
                .domain
                .service(&service.id.name, &service.id.namespace)
        });
    hosts.into_iter().find(|host| !uses_mutual_tls(facts, host))
}

fn uses_mutual_tls(facts: &Facts<'_>, host: &str) -> bool {
    facts
        .mesh
        .destination_rules_of(host)
        .into_iter()
        .any(|rule| {
            let mode = rule
                .spec_at(["trafficPolicy", "tls", "mode"])
                .and_then(Node::str);
            matches!(mode, Some("ISTIO_MUTUAL" | "MUTUAL"))
        })
}

/// Whether pods with a proxy in the Service's namespace demand mutual TLS.
fn is_strict(accepted: &PeerModes<'_>, service: &Object) -> bool {
    let namespace = service.id.namespace.as_str();
    accepted.by_default(namespace).mode == MutualTls::Strict && accepted.has_mesh(namespace)
}
