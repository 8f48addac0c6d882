//! See the page beside this file.

use super::certs::{self, Held};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::{Object, ObjectRef};

pub(super) static RULE: Rule = Rule {
    code: "ML0813",
    name: "foreign-trust-domain",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Warning,
    claim: "every proxy's identity is in a trust domain that the mesh knows",
    needs: Inputs::NONE.and(&[Part::Proxies]),
    uses: Inputs::of(&[Kind::ConfigMap, Kind::Pod]),
    explains: &["ML09"],
    docs: include_str!("foreign_trust_domain.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let config = &facts.mesh.config;
    // Without settings nobody said which one is the mesh's own.
    let Some(settings) = config
        .object
        .as_ref()
        .and_then(|id| facts.mesh.objects.find(id))
    else {
        return;
    };
    let is_known = |domain: &str| config.trust_domains.iter().any(|known| **known == *domain);
    let is_foreign = |held: &Held| {
        held.trust_domain()
            .is_some_and(|(_, domain)| !is_known(domain))
    };
    let all = certs::held(facts, case);
    out.examined += all.len();
    // Certificates live on when the settings change: where most are of another domain, the settings
    // are the odd ones.
    let everybody = if case.is_some() {
        certs::held(facts, None)
    } else {
        all.clone()
    };
    let foreign = everybody.iter().filter(|held| is_foreign(held)).count();
    if foreign > 2 && foreign * 2 > everybody.len() {
        return tell_settings(settings, all.iter().filter(|held| is_foreign(held)), out);
    }
    for held in all.iter().filter(|held| is_foreign(held)) {
        let Some((cert, domain)) = held.trust_domain() else {
            continue;
        };
        let pod = ObjectRef::of(Kind::Pod, &held.proxy.namespace, &held.proxy.pod);
        let subject = facts
            .mesh
            .pod(&pod.namespace, &pod.name)
            .map_or_else(|| pod.clone(), meshladder_mesh::PodFacts::workload);
        let known: Vec<&str> = config
            .trust_domains
            .iter()
            .map(|domain| &**domain)
            .collect();
        let message = format!(
            "the certificate of {pod} is of trust domain {domain}, and the mesh knows only {}: policies that name its identity do not match",
            known.join(", ")
        );
        let finding = out.find(
            subject,
            message,
            Evidence::offset(&held.doc, cert.at, "the proxy's identity"),
        );
        finding.hits(pod);
        finding.fix(Fix::advice(format!(
            "restart the pod to get a new certificate, or add {domain} to trustDomainAliases in the mesh's settings"
        )));
    }
}

/// One finding for all: the settings name another trust domain than the certificates that most
/// proxies hold.
fn tell_settings<'h>(settings: &Object, foreign: impl Iterator<Item = &'h Held>, out: &mut Sink) {
    let mut foreign = foreign.peekable();
    let Some((first, (cert, domain))) = foreign
        .peek()
        .and_then(|held| Some((*held, held.trust_domain()?)))
    else {
        return;
    };
    let message = format!(
        "{} gives the mesh another trust domain than the {domain} of the certificates that its proxies hold: until all \
         are restarted, policies that name identities do not match",
        settings.id
    );
    let mesh = settings.node.at(["data", "mesh"]).unwrap_or(&settings.node);
    let finding = out.find(
        settings.id.clone(),
        message,
        Evidence::of(settings, mesh, "trustDomain"),
    );
    finding.see(Evidence::offset(&first.doc, cert.at, "a proxy's identity"));
    finding.fix(Fix::advice(format!(
        "add {domain} to trustDomainAliases, or restart every workload and gateway"
    )));
    for held in foreign {
        finding.hits(ObjectRef::of(
            Kind::Pod,
            &held.proxy.namespace,
            &held.proxy.pod,
        ));
    }
}
