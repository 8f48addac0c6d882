//! See the page beside this file.

use super::accounts::{is_of_several_clusters, principals, trust_domain};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2657",
    name: "trust-domain-unknown",
    aka: &["KIA0108"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every principal that a policy names is of a trust domain of the mesh",
    needs: Inputs::of(&[Kind::AuthorizationPolicy]),
    uses: Inputs::of(&[Kind::ConfigMap, Kind::Gateway, Kind::Secret]),
    explains: &[],
    docs: include_str!("trust_domain_unknown.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let config = &facts.mesh.config;
    // Without its settings the trust domain of the mesh is not known.
    if config.tree.is_none() || is_of_several_clusters(facts.mesh) {
        return;
    }
    for policy in facts.mesh.objects.of_kind(Kind::AuthorizationPolicy) {
        for node in principals(policy) {
            out.examined();
            let Some(domain) = node
                .str()
                .and_then(trust_domain)
                .filter(|domain| !config.trusts(domain))
            else {
                continue;
            };
            let known: Vec<&str> = config
                .trust_domains
                .iter()
                .map(|domain| &**domain)
                .collect();
            let message = format!(
                "{} names a principal of trust domain {domain}, and the mesh trusts {}",
                policy.id,
                known.join(", ")
            );
            out.find(policy.id.clone(), message, Evidence::of(policy, node, "who it names")).fix(Fix::advice(
                "name the trust domain of the mesh, or cluster.local, which stands for it; or add it to trustDomainAliases",
            ));
        }
    }
}
