//! See the page beside this file.

use super::certs;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::mesh::ObjectRef;
use crate::rules::{Asked, Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML0813",
    name: "foreign-trust-domain",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Warning,
    claim: "every proxy's identity is in a trust domain that the mesh knows",
    needs: &["proxies/"],
    uses: &["k8s/configmaps.json", "k8s/pods.json"],
    explains: &["ML09"],
    docs: include_str!("foreign_trust_domain.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, asked: Option<&Asked<'_>>, out: &mut Sink) {
    let config = &facts.mesh.config;
    for held in certs::held(facts, asked) {
        out.examined();
        let Some((cert, domain)) = held.trust_domain() else { continue };
        // Without settings nobody said which one is the mesh's own.
        if config.object.is_none() || config.trust_domains.iter().any(|known| **known == *domain) {
            continue;
        }
        let pod = ObjectRef::new("Pod", &held.proxy.namespace, &held.proxy.pod);
        let subject =
            facts.mesh.pod(&pod.namespace, &pod.name).map_or_else(|| pod.clone(), crate::mesh::PodFacts::workload);
        let known: Vec<&str> = config.trust_domains.iter().map(|domain| &**domain).collect();
        let message = format!(
            "the certificate of {pod} is of trust domain {domain}, and the mesh knows only {}: policies that name its identity do not match",
            known.join(", ")
        );
        let finding = out.find(subject, message, Evidence::offset(&held.doc, cert.at, "the proxy's identity"));
        finding.hits(pod);
        finding.fix(Fix::advice(format!(
            "restart the pod to get a new certificate, or add {domain} to trustDomainAliases in the mesh's settings"
        )));
    }
}
