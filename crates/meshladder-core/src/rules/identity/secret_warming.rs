//! See the page beside this file.

use crate::envoy::dump::{Section, State};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::fleet::Proxy;
use crate::rules::{Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML0809",
    name: "secret-warming",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Warning,
    claim: "no proxy waits for a secret",
    needs: &["proxies/"],
    uses: &["k8s/pods.json"],
    explains: &[],
    docs: include_str!("secret_warming.md"),
    check: Check::Proxy(check),
};

fn check(_: &Facts<'_>, proxy: &Proxy<'_>, out: &mut Sink) {
    let (Some(dump), Some(doc), Some(pod)) = (&proxy.dump, &proxy.docs.config_dump, proxy.pod) else { return };
    out.examined();
    let in_use =
        |name: &str| dump.of(Section::Secrets).any(|secret| secret.state == State::Active && secret.name == name);
    let mut names: Vec<&str> = Vec::new();
    for secret in dump.of(Section::Secrets).filter(|secret| secret.state == State::Warming && !in_use(&secret.name)) {
        if names.contains(&&*secret.name) {
            continue;
        }
        names.push(&secret.name);
        let name = secret.name.rsplit("://").next().unwrap_or_default();
        let what = match name {
            "default" => "its own certificate".to_owned(),
            "ROOTCA" => "the mesh's root certificate".to_owned(),
            other => format!("the secret {other}"),
        };
        let message = format!("the proxy of {} waits for {what}: what needs it accepts no connection", pod.reference());
        let proof = Evidence::offset(&doc.id, secret.entry.offset(), "a secret that is warming");
        let finding = out.find(pod.workload(), message, proof);
        finding.hits(pod.reference());
        finding.fix(Fix::look(format!("meshladder proxy-config secret {}.{}", pod.name, pod.namespace)));
    }
}
