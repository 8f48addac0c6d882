//! As the objects alone show it.

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::gateways::servers;
use meshladder_text::tree::Node;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Error,
    needs: Inputs::of(&[Kind::Gateway, Kind::Pod, Kind::Secret]),
    uses: Inputs::NONE,
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    // Files that hold no Secret say nothing about which there are.
    let is_listed = || {
        facts
            .snapshot
            .ids()
            .any(|id| id.split().1 == Kind::Secret.path())
    };
    if facts.mesh.objects.of_kind(Kind::Secret).is_empty() && !is_listed() {
        return;
    }
    for gateway in facts.mesh.objects.of_kind(Kind::Gateway) {
        for credential in credentials(facts, gateway) {
            out.examined();
            match credential.secret {
                None => missing(&credential, out),
                Some(secret) if !is_usable(secret) => unusable(&credential, secret, out),
                Some(_) => {}
            }
        }
    }
}

/// A `credentialName` that some pod will look for.
struct Credential<'m> {
    gateway: &'m Object,
    /// The name, as written.
    node: &'m Node,
    name: &'m str,
    /// Where the gateway's pods look for it.
    namespace: &'m str,
    /// The Secret, when it is there.
    secret: Option<&'m Object>,
}

fn credentials<'m>(facts: &Facts<'m>, gateway: &'m Object) -> Vec<Credential<'m>> {
    let tls: Vec<&Node> = servers(gateway)
        .filter_map(|server| server.node.get("tls"))
        .filter(|tls| is_read(tls))
        .collect();
    if tls.is_empty() {
        return Vec::new();
    }
    let Some(pod) = facts.mesh.gateway_pods(gateway).into_iter().next() else {
        return Vec::new();
    };
    let namespace = pod.id.namespace.as_str();
    let mut credentials = Vec::new();
    for node in tls.into_iter().filter_map(|tls| tls.get("credentialName")) {
        let Some(name) = node.str() else { continue };
        credentials.push(Credential {
            gateway,
            node,
            name,
            namespace,
            secret: facts.mesh.objects.get(Kind::Secret, namespace, name),
        });
    }
    credentials
}

/// Passed through, nothing is decrypted; and other providers have names with a scheme.
fn is_read(tls: &Node) -> bool {
    let is_passed = matches!(tls.str_at("mode"), Some("PASSTHROUGH" | "AUTO_PASSTHROUGH"));
    let name = tls.str_at("credentialName").unwrap_or_default();
    !is_passed && !name.is_empty() && !name.contains("://")
}

fn missing(credential: &Credential<'_>, out: &mut Sink) {
    let Credential {
        gateway,
        node,
        name,
        namespace,
        ..
    } = credential;
    let message = format!(
        "{} names the credential {name}, and {namespace}, where its pods run, has no such Secret",
        gateway.id
    );
    let proof = Evidence::of(gateway, node, "the Secret it names");
    out.find(gateway.id.clone(), message, proof)
        .ist(Some("IST0101"))
        .fix(Fix::advice(format!("create Secret {name} in {namespace}")));
}

fn unusable(credential: &Credential<'_>, secret: &Object, out: &mut Sink) {
    let Credential {
        gateway,
        node,
        name,
        ..
    } = credential;
    let message = format!(
        "{} names the credential {name}, and {} has no certificate with its key",
        gateway.id, secret.id
    );
    let proof = Evidence::of(gateway, node, "the Secret it names");
    out.find(gateway.id.clone(), message, proof)
        .ist(Some("IST0161"))
        .see(Evidence::object(secret, "the Secret"))
        .fix(Fix::advice(format!(
            "give {} tls.crt and tls.key",
            secret.id
        )));
}

/// "cert and key" or "tls.crt and tls.key". Values are not in a Snapshot; where all are empty, who
/// collected the Secret left them out.
fn is_usable(secret: &Object) -> bool {
    let parts: Vec<&Node> = ["data", "stringData"]
        .iter()
        .filter_map(|part| secret.node.get(part))
        .collect();
    let has_values = parts
        .iter()
        .flat_map(|part| part.members())
        .any(|member| member.value.str() != Some(""));
    let has = |key: &str| {
        parts
            .iter()
            .filter_map(|part| part.str_at(key))
            .any(|value| !has_values || !value.is_empty())
    };
    has("cert") && has("key") || has("tls.crt") && has("tls.key") || parts.is_empty()
}
