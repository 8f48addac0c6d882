//! See the page beside this file.

use super::tls_handshake_fails::tls_of;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::fleet::Proxy;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::envoy::dump::{ResourceState, Section};
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::Object;
use meshladder_text::shell;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0809",
    name: "secret-warming",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Warning,
    claim: "no proxy waits for a secret",
    needs: Inputs::NONE.and(&[Part::Proxies]),
    uses: Inputs::of(&[Kind::Pod, Kind::DestinationRule]),
    explains: &[],
    docs: include_str!("secret_warming.md"),
    check: Check::Proxy(check),
};

fn check(facts: &Facts<'_>, proxy: &Proxy<'_>, out: &mut Sink) {
    let (Some(dump), Some(doc), Some(pod)) = (&proxy.dump, &proxy.docs.config_dump, proxy.pod)
    else {
        return;
    };
    out.examined();
    let in_use = |name: &str| {
        dump.of(Section::Secrets)
            .any(|secret| secret.state == ResourceState::Active && secret.name == name)
    };
    let mut names: Vec<&str> = Vec::new();
    for secret in dump
        .of(Section::Secrets)
        .filter(|secret| secret.state == ResourceState::Warming && !in_use(&secret.name))
    {
        if names.contains(&&*secret.name) {
            continue;
        }
        names.push(&secret.name);
        if let Some((rule, tls)) = rule_of(facts, &secret.name) {
            let message = format!(
                "{} names certificates that proxies wait for in vain: {}",
                rule.id,
                files(&secret.name)
            );
            let finding = out.find(
                rule.id.clone(),
                message,
                Evidence::of(rule, tls, "the certificates"),
            );
            finding.see(Evidence::offset(
                &doc.id,
                secret.entry.offset(),
                "a secret that is warming",
            ));
            finding.hits(pod.reference());
            finding.fix(Fix::advice(
                "mount the files into the proxies, or use `credentialName` with a Secret",
            ));
            continue;
        }
        let name = secret.name.rsplit("://").next().unwrap_or_default();
        let what = match name {
            "default" => "its own certificate".to_owned(),
            "ROOTCA" => "the mesh's root certificate".to_owned(),
            other => format!("the secret {other}"),
        };
        let message = format!(
            "the proxy of {} waits for {what}: what needs it accepts no connection",
            pod.reference()
        );
        let proof = Evidence::offset(&doc.id, secret.entry.offset(), "a secret that is warming");
        let finding = out.find(pod.workload(), message, proof);
        finding.hits(pod.reference());
        finding.fix(Fix::look(shell::command(
            "meshladder proxy-config secret {}.{}",
            &[&pod.name, &pod.namespace],
        )));
    }
}

/// The files of a secret that a proxy is to read from its own disk:
/// `file-cert:/etc/cert.pem~/etc/key.pem`.
fn files(secret: &str) -> String {
    let names = secret.split_once(':').map_or(secret, |(_, names)| names);
    names.split('~').collect::<Vec<_>>().join(", ")
}

/// The DestinationRule that names the files of a secret.
fn rule_of<'f>(facts: &Facts<'f>, secret: &str) -> Option<(&'f Object, &'f Node)> {
    let (kind, names) = secret.split_once(':')?;
    let key = match kind {
        "file-cert" => "clientCertificate",
        "file-root" => "caCertificates",
        _ => return None,
    };
    let first = names.split('~').next()?;
    let rules = facts.mesh.objects.of_kind(Kind::DestinationRule).iter();
    let mut tls = rules.flat_map(|rule| tls_of(rule).into_iter().map(move |tls| (rule, tls)));
    tls.find(|(_, tls)| tls.str_at(key) == Some(first))
}
