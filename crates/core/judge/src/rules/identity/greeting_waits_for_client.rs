//! See the page beside this file.

use super::servers;
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::config::SERVER_FIRST;
use crate::rules::endpoints::called_service;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::peer_authentication::MutualTls;
use meshladder_sim::cluster::TlsMode;
use meshladder_sim::trace::HopDirection;

pub(super) static RULE: Rule = Rule {
    code: "ML0816",
    name: "greeting-waits-for-client",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Warning,
    claim: "no client in plain text calls a port where the server speaks first and the mode is PERMISSIVE",
    needs: Inputs::of(&[Kind::Pod, Kind::Service, Kind::PeerAuthentication]),
    uses: Inputs::of(&[Kind::Namespace, Kind::ConfigMap]),
    explains: &["ML10"],
    docs: include_str!("greeting_waits_for_client.md"),
    check: Check::Request(check),
};

/// To tell TLS from plain text the proxy waits for the client's first bytes; the client waits for
/// the greeting.
fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let plain =
        case.client.is_some_and(|client| !client.has_proxy)
            || case.trace.hops.first().is_some_and(|hop| {
                hop.direction == HopDirection::Outbound && hop.tls == TlsMode::None
            });
    let failed = case.seen.is_some_and(|seen| !seen.is_success());
    if !plain || !failed {
        return;
    }
    let open = servers::of_request(facts, case).into_iter().find(|server| {
        server.mode.mode == MutualTls::Permissive
            && SERVER_FIRST.iter().any(|(port, _)| *port == server.port)
    });
    let Some(server) = open else { return };
    let Some((_, speaks)) = SERVER_FIRST.iter().find(|(port, _)| *port == server.port) else {
        return;
    };
    let message = format!(
        "{} takes plain text and mutual TLS on port {} ({speaks}), so its proxy waits for the client to speak, and the client in plain text waits for the server",
        called_service::workload_ref(facts.mesh, server.pod),
        server.port
    );
    let (subject, proof) = match server.mode.by {
        Some((policy, mode)) => (
            policy.id.clone(),
            Evidence::of(policy, mode, "both are taken"),
        ),
        None => (
            called_service::workload_ref(facts.mesh, server.pod),
            Evidence::object(server.pod, "no PeerAuthentication is for it"),
        ),
    };
    let finding = out.find(subject, message, proof);
    finding
        .confidence(Confidence::Likely)
        .hits(server.pod.id.clone());
    finding
        .hits
        .extend(case.client.map(meshladder_mesh::PodFacts::reference));
    finding.fix(Fix::advice(format!(
        "set the mode of port {} to STRICT and give the client a proxy, or to DISABLE",
        server.port
    )));
}
