//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::endpoints::called_service;
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Inputs, Part};
use meshladder_text::shell;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0808",
    name: "secret-not-delivered",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "the proxies on the way have the certificates they need",
    needs: Inputs::of(&[Kind::Pod]).and(&[Part::Logs]),
    uses: Inputs::of(&[
        Kind::DestinationRule,
        Kind::Service,
        Kind::ServiceEntry,
        Kind::Sidecar,
        Kind::ConfigMap,
    ])
    .and(&[Part::Proxies]),
    explains: &["ML10"],
    docs: include_str!("secret_not_delivered.md"),
    check: Check::Request(check),
};

/// Envoy's words when a TLS context waits for SDS.
const TEXT: &str = "secret is not supplied by sds";

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let Some(client) = called_service::client_pod(facts, case) else {
        return;
    };
    out.examined();
    let waits = |text: &str| text.replace('_', " ").to_ascii_lowercase().contains(TEXT);
    // A rule that brings certificates of its own is told by itself.
    let brings_own = |tls: &Node| matches!(tls.str_at("mode"), Some("SIMPLE" | "MUTUAL"));
    if accounts::client_setting(facts, case, "tls").is_some_and(|(_, tls)| brings_own(tls)) {
        return;
    }
    let Some(line) = case
        .client_log
        .iter()
        .rfind(|line| waits(&line.failure) || waits(&line.details))
    else {
        return;
    };
    let message = format!(
        "the proxy of {} has no certificate yet: SDS has not supplied it, so it cannot speak TLS to {}",
        client.id, line.cluster
    );
    let proof = Evidence::line(
        &DocId::new(&line.doc),
        line.number,
        "Envoy waits for a secret",
    );
    let subject = called_service::workload_ref(facts.mesh, client);
    let finding = out.find(subject, message, proof);
    finding.hits(client.id.clone());
    let (namespace, name) = (&client.id.namespace, &client.id.name);
    finding.fix(Fix::look(shell::command(
        "kubectl logs {} -n {} -c istio-proxy | grep -i -e csr -e sds -e ca",
        &[name, namespace],
    )));
    finding.fix(Fix::advice(
        "see whether istiod signs certificates for the pod's service account, and whether the pod reaches it on 15012",
    ));
    finding.fix(called_service::restart(facts.mesh, client));
}
