//! See the page beside this file.

use super::webhook::validators;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::mesh::Stored;
use crate::mesh::injection::{Ca, Injector, Injectors};
use crate::rules::{Check, Facts, Rule, Sink};
use crate::tri::Tri;

pub(super) static RULE: Rule = Rule {
    code: "ML0203",
    name: "webhook-ca-invalid",
    aka: &[],
    rung: Rung::ControlPlane,
    severity: Severity::Error,
    claim: "the API server can check the certificate of every webhook of Istio",
    needs: &["k8s/mutatingwebhookconfigurations.admissionregistration.k8s.io.json"],
    uses: &[
        "k8s/validatingwebhookconfigurations.admissionregistration.k8s.io.json",
        "k8s/services.json",
        "k8s/endpointslices.discovery.k8s.io.json",
        "k8s/pods.json",
        "k8s/events.json",
        "k8s/configmaps.json",
    ],
    explains: &["ML03"],
    docs: include_str!("webhook_ca_invalid.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let injectors = facts.mesh.injectors();
    let hooks: Vec<Injector<'_>> = injectors.webhooks.iter().copied().chain(validators(facts.mesh)).collect();
    let mut told: Vec<&Stored> = Vec::new();
    for hook in hooks {
        out.examined();
        let Some((what, proof)) = flaw(facts, &injectors, hook) else { continue };
        if told.iter().any(|config| config.id == hook.config.id) {
            continue;
        }
        told.push(hook.config);
        let config = &hook.config.id;
        let message = format!("the API server cannot trust webhook {} of {config}: {what}", hook.name);
        let finding = out.find(config.clone(), message, proof);
        finding.hits(config.clone());
        if !hook.fails_closed() {
            finding.severity(Severity::Warning);
        }
        finding.fix(Fix::advice("restart istiod: it writes its root certificate into caBundle when it starts"));
    }
}

/// What is wrong with the authority of a webhook that something answers.
fn flaw(facts: &Facts<'_>, injectors: &Injectors<'_>, hook: Injector<'_>) -> Option<(String, Evidence)> {
    let served = injectors.served(hook);
    if served.answers == Tri::No {
        return None;
    }
    let client = hook.node.get("clientConfig").unwrap_or(hook.node);
    let at = client.get("caBundle").unwrap_or(client);
    let here = |what: String| Some((what, Evidence::of(hook.config, at, "the authority that is trusted")));
    match served.ca {
        Ca::Broken(why) => here(format!("its caBundle cannot be read, {why}")),
        Ca::Certificates(certificates) => {
            let now = facts.snapshot.taken_at()?;
            let last = certificates.iter().map(|certificate| certificate.not_after).max()?;
            if last < now { here(format!("its caBundle expired at {last}")) } else { refused(facts, hook) }
        }
        // istiod fills it in; until then a webhook that only advises is nothing to worry about.
        Ca::Missing if hook.fails_closed() => refused(facts, hook).or_else(|| here("it has no caBundle".to_owned())),
        Ca::Missing => None,
    }
}

/// What the API server said when it called the webhook.
fn refused(facts: &Facts<'_>, hook: Injector<'_>) -> Option<(String, Evidence)> {
    let called = format!("failed calling webhook \"{}\"", hook.name);
    let event = facts.mesh.objects.of_kind("Event").iter().find(|event| {
        let message = event.node.str_at("message").unwrap_or_default();
        message.contains(&called) && message.contains("x509:")
    })?;
    let message = event.node.get("message")?;
    let why = message.str()?.split("x509:").nth(1)?.trim().trim_end_matches('.');
    Some((why.to_owned(), Evidence::of(event, message, "what the API server said")))
}
