//! See the page beside this file.

use super::joint;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::{Cluster, ObjectRef};

pub(super) static RULE: Rule = Rule {
    code: "ML1210",
    name: "trust-domains-differ",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "each cluster knows the trust domain of those it calls",
    needs: Inputs::of(&[Kind::ConfigMap]),
    uses: Inputs::of(&[Kind::Secret, Kind::Service, Kind::Pod, Kind::Namespace])
        .and(&[Part::Istiod]),
    explains: &["ML07", "ML08", "ML09", "ML10"],
    docs: include_str!("trust_domains_differ.md"),
    check: Check::Clusters(check),
};

/// What a mesh has that says nothing.
const DEFAULT: &str = "cluster.local";

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    for pair in joint::pairs(crossing) {
        let (from, to) = (pair.from, pair.to);
        let (Some(own), Some(other)) = (domain(from), domain(to)) else {
            continue;
        };
        out.examined();
        let knows = |cluster: &Cluster, domain: &str| {
            let mut known = cluster.mesh.config.trust_domains.iter();
            known.any(|known| **known == *domain)
        };
        if knows(from, other) && knows(to, own) {
            continue;
        }
        // The one that was given a domain of its own is the one that nobody told the others of.
        let (changed, mine, theirs) = if own == DEFAULT || other != DEFAULT {
            (to, other, own)
        } else {
            (from, own, other)
        };
        let id = changed.mesh.config.object.clone().unwrap_or_else(|| {
            ObjectRef::of(
                Kind::ConfigMap,
                &changed.mesh.config.root_namespace,
                "istio",
            )
        });
        let message = format!(
            "{} has the trust domain {mine} and the other cluster {theirs}, and not each has the other's among trustDomainAliases: certificates of the one are not those that the other asks for",
            changed.name
        );
        let proof = match joint::config_value(changed, &id.name, "mesh") {
            Some((map, node)) => Evidence::of(map, node, "the mesh configuration"),
            None => continue,
        };
        crossing
            .find(out, changed, id, message, joint::of(changed, proof))
            .fix(Fix::advice(
                "give both clusters one trustDomain, or each the other's in trustDomainAliases",
            ));
    }
}

fn domain(cluster: &Cluster) -> Option<&str> {
    cluster.mesh.config.object.as_ref()?;
    Some(cluster.mesh.config.trust_domains.first()?)
}
