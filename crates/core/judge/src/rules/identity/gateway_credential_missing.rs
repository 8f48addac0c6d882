//! See the page beside this file.

use std::collections::BTreeSet;

use crate::finding::{Evidence, Fix, Op, Risk, Rung, Severity};
use crate::rules::endpoints::called_service;
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::envoy::dump::{Dump, Resource, Section};
use meshladder_capture::snapshot::{Coverage, DocId, Inputs, Need, Part, ProxyRef};
use meshladder_mesh::gateways::{Server, servers};
use meshladder_mesh::services::{ports, target_port};
use meshladder_mesh::{Mesh, Object};
use meshladder_sim::trace::EndKind;
use meshladder_sim::walk::Scheme;
use meshladder_text::shell;
use meshladder_text::tree::Node;

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0801",
    name: "gateway-credential-missing",
    aka: &["IST0101", "IST0161"],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "every Gateway's credentialName is a complete Secret in the namespace of the gateway's pods",
    needs: Inputs::of(&[Kind::Gateway, Kind::Pod]),
    uses: Inputs::of(&[Kind::Secret, Kind::Service]).and(&[Part::Proxies, Part::Logs]),
    explains: &["ML08", "ML04"],
    docs: include_str!("gateway_credential_missing.md"),
    check: Check::Lens(check, objects::ALONE),
};

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let mesh = facts.mesh;
    for gateway in mesh.objects.of_kind(Kind::Gateway) {
        let pods = mesh.gateway_pods(gateway);
        for server in servers(gateway) {
            if case.is_some_and(|case| !is_met(facts, case, server)) {
                continue;
            }
            let Some(name) = server.node.at(["tls", "credentialName"]) else {
                continue;
            };
            out.examined();
            // Passed through, nothing is decrypted; and other providers have names with a scheme.
            let is_read = !matches!(server.tls_mode, Some("PASSTHROUGH" | "AUTO_PASSTHROUGH"));
            let text = name.str().unwrap_or_default();
            if !is_read || text.contains("://") || text.is_empty() {
                continue;
            }
            let namespaces: BTreeSet<&str> =
                pods.iter().map(|pod| pod.id.namespace.as_str()).collect();
            for namespace in namespaces {
                if !can_list_secrets(facts) {
                    // Who may not read Secrets can still see a handshake fail, and then needs this
                    // one.
                    if case.is_some_and(|case| case.trace.outcome.kind == EndKind::TlsMismatch) {
                        out.unknown(format!("Secret {namespace}/{text}"));
                    }
                } else if let Some(wrong) = wrong(mesh, namespace, text, server.tls_mode)
                    .or_else(|| refused(facts, namespace, text, &pods))
                {
                    tell(mesh, server, name, namespace, &wrong, &pods, out);
                }
            }
        }
    }
}

/// Whether Secrets were listed, so that one that is not there does not exist.
pub(super) fn can_list_secrets(facts: &Facts<'_>) -> bool {
    let coverage = facts.snapshot.coverage(&Need::Objects(Kind::Secret));
    matches!(coverage, Coverage::Complete | Coverage::Partial(_))
}

/// What is wrong with a credential.
enum Wrong<'m> {
    /// It is not there; perhaps elsewhere.
    Missing(Vec<&'m Object>),
    /// It lacks this key.
    Lacks(&'m Object, &'static str),
    /// The gateway does not take it, for this reason of Envoy's.
    Refused(&'m Object, String, Evidence),
}

/// A Secret that a gateway was sent and did not take: it holds the certificate without a version,
/// and its log says that a secret was rejected.
fn refused<'m>(
    facts: &Facts<'m>,
    namespace: &str,
    name: &str,
    pods: &[&Object],
) -> Option<Wrong<'m>> {
    const REJECTED: &str = "tls.v3.Secret rejected: ";
    let secret = facts.mesh.objects.get(Kind::Secret, namespace, name)?;
    let own = pods.iter().filter(|pod| pod.id.namespace == namespace);
    own.into_iter().find_map(|pod| {
        let summary = facts.fleet.proxy(&pod.id.namespace, &pod.id.name)?;
        let (doc, line, text) = summary
            .trouble
            .iter()
            .rfind(|(_, _, text)| text.contains(REJECTED))?;
        let (_, reason) = text.split_once(REJECTED)?;
        let reason = reason.split('\t').next().unwrap_or(reason).to_owned();
        let proxy = ProxyRef {
            namespace: pod.id.namespace.to_string(),
            pod: pod.id.name.to_string(),
            ..ProxyRef::default()
        };
        let dump = facts
            .snapshot
            .open(&DocId::of_proxy(&proxy, "config_dump.json"))
            .ok()?;
        let secrets = Dump::index(&dump.text, &[Section::Secrets]).ok()?;
        let is_it = |held: &&Resource<'_>| {
            let (_, rest) = held.name.split_once("://").unwrap_or_default();
            rest == name || rest == format!("{namespace}/{name}")
        };
        let held = secrets.of(Section::Secrets).find(is_it);
        held.is_none_or(|held| held.version.is_empty()).then(|| {
            let proof = Evidence::line(doc, *line, "the gateway does not take it");
            Wrong::Refused(secret, reason, proof)
        })
    })
}

fn wrong<'m>(mesh: &'m Mesh, namespace: &str, name: &str, mode: Option<&str>) -> Option<Wrong<'m>> {
    let Some(secret) = mesh.objects.get(Kind::Secret, namespace, name) else {
        let named = |secret: &&Object| secret.id.name == name;
        return Some(Wrong::Missing(
            mesh.objects
                .of_kind(Kind::Secret)
                .iter()
                .filter(named)
                .collect(),
        ));
    };
    if let Some(key) = lacks(secret) {
        return Some(Wrong::Lacks(secret, key));
    }
    let has_ca = |secret: &Object| ["ca.crt", "cacert"].iter().any(|key| has(secret, key));
    let beside = || {
        mesh.objects
            .get(Kind::Secret, namespace, &format!("{name}-cacert"))
            .is_some_and(has_ca)
    };
    let wants_ca = matches!(mode, Some("MUTUAL" | "OPTIONAL_MUTUAL"));
    (wants_ca && !has_ca(secret) && !beside()).then_some(Wrong::Lacks(secret, "ca.crt"))
}

/// The key that a server's Secret lacks. Both of `kubernetes.io/tls` and Istio's older names will
/// do.
fn lacks(secret: &Object) -> Option<&'static str> {
    // Without any data it was left out by who collected it.
    secret.node.get("data").or(secret.node.get("stringData"))?;
    if !has(secret, "tls.crt") && !has(secret, "cert") {
        return Some("tls.crt");
    }
    (!has(secret, "tls.key") && !has(secret, "key")).then_some("tls.key")
}

fn has(secret: &Object, key: &str) -> bool {
    ["data", "stringData"]
        .iter()
        .any(|data| secret.node.at([data, key]).is_some())
}

fn tell(
    mesh: &Mesh,
    server: Server<'_>,
    name: &Node,
    namespace: &str,
    wrong: &Wrong<'_>,
    pods: &[&Object],
    out: &mut Sink,
) {
    let text = name.str().unwrap_or_default();
    let id = &server.gateway.id;
    let message = match wrong {
        Wrong::Missing(elsewhere) => {
            let places: Vec<&str> = elsewhere
                .iter()
                .map(|secret| secret.id.namespace.as_str())
                .collect();
            let there = if places.is_empty() {
                String::new()
            } else {
                format!("; it is in {}", places.join(", "))
            };
            format!(
                "{id} names the credential {text} for port {}, and {namespace}, where its pods run, has no such Secret{there}",
                server.port
            )
        }
        Wrong::Lacks(secret, key) => {
            format!(
                "{id} names the credential {text} for port {}, and {} has no {key}",
                server.port, secret.id
            )
        }
        Wrong::Refused(secret, reason, _) => {
            let why = if reason.contains("KEY_VALUES_MISMATCH") {
                "its key is not that of its certificate".to_owned()
            } else {
                reason.clone()
            };
            format!(
                "{id} names the credential {text} for port {}, and the gateway does not take {}: {why}",
                server.port, secret.id
            )
        }
    };
    // Where the Gateway names a Secret that is there, it is the Secret that is to be mended; a CA
    // is asked for by the Gateway's mode.
    let subject = match wrong {
        Wrong::Lacks(secret, "tls.crt" | "tls.key") | Wrong::Refused(secret, ..) => &secret.id,
        Wrong::Missing(_) | Wrong::Lacks(..) => id,
    };
    let finding = out.find(
        subject.clone(),
        message,
        Evidence::of(server.gateway, name, "the Secret that is looked for"),
    );
    for pod in pods.iter().filter(|pod| pod.id.namespace == namespace) {
        finding.hits(pod.id.clone());
    }
    match wrong {
        Wrong::Missing(elsewhere) => {
            for secret in elsewhere {
                finding.see(Evidence::object(
                    secret,
                    "the Secret, where the gateway does not look",
                ));
            }
            let fits = |secret: &&Object| {
                secret.node.get("type").and_then(Node::str) == Some("kubernetes.io/tls")
                    && lacks(secret).is_none()
            };
            let own: Vec<_> = mesh
                .objects
                .in_namespace(Kind::Secret, namespace)
                .filter(fits)
                .collect();
            if let [own] = own.as_slice() {
                let path = server.gateway.path_of(name);
                finding.fix(Fix::patch(
                    &server.gateway.id,
                    [Op::replace(path, &own.id.name)],
                ));
            }
            if let Some(secret) = elsewhere.first() {
                finding.fix(Fix::command(
                    Risk::Reversible,
                    shell::command("kubectl get secret {} -n {} -o json | jq '.metadata={name:.metadata.name}' | kubectl apply -n {} -f -", &[text, &secret.id.namespace, namespace]),
                ));
            } else {
                finding.fix(Fix::command(
                    Risk::Reversible,
                    shell::command(
                        "kubectl create secret tls {} -n {} --cert=CERT --key=KEY",
                        &[text, namespace],
                    ),
                ));
            }
        }
        Wrong::Lacks(secret, key) => {
            finding.see(Evidence::object(secret, format!("a Secret without {key}")));
            finding.fix(Fix::advice(format!("add {key} to {}", secret.id)));
        }
        Wrong::Refused(secret, _, proof) => {
            finding
                .see(proof.clone())
                .see(Evidence::object(secret, "the Secret"));
            finding.fix(Fix::command(
                Risk::Reversible,
                shell::command(
                    "kubectl create secret tls {} -n {} --cert=CERT --key=KEY --dry-run=client -o yaml | kubectl apply -f -",
                    &[text, namespace],
                ),
            ));
        }
    }
}

/// Whether a request to a gateway from outside is decrypted by this server.
fn is_met(facts: &Facts<'_>, case: &Case<'_>, server: Server<'_>) -> bool {
    let Some(pod) =
        called_service::client_pod(facts, case).filter(|_| case.call.to.scheme == Scheme::Https)
    else {
        return false;
    };
    let port = case.call.to.port;
    let host = case
        .call
        .sni
        .clone()
        .flatten()
        .unwrap_or_else(|| case.call.to.host.clone());
    let services = facts.mesh.services_of(pod).into_iter().flat_map(ports);
    let targets = services
        .filter(|p| p.number == port)
        .filter_map(|p| target_port(&p, pod));
    let mut taken = targets
        .chain([port])
        .filter_map(|port| facts.mesh.server_for(pod, port, &host));
    taken.any(|taken| std::ptr::eq(taken.node, server.node))
}
