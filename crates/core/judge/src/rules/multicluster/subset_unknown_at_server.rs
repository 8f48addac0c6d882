//! See the page beside this file.

use super::joint;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Crossing, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::views::DestinationRule;
use meshladder_mesh::{Cluster, Object, ObjectRef};

pub(super) static RULE: Rule = Rule {
    code: "ML1208",
    name: "subset-unknown-at-server",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Error,
    claim: "a subset that callers of another network ask for is defined in the server's cluster too",
    needs: Inputs::of(&[
        Kind::DestinationRule,
        Kind::Service,
        Kind::Namespace,
        Kind::Pod,
    ]),
    uses: Inputs::of(&[Kind::ConfigMap, Kind::Secret]).and(&[Part::Istiod, Part::Proxies]),
    explains: &["ML07", "ML10"],
    docs: include_str!("subset_unknown_at_server.md"),
    check: Check::Clusters(check),
};

fn check(crossing: &Crossing<'_>, out: &mut Sink) {
    let Some(request) = &crossing.request else {
        return;
    };
    let Some(sender) = request.trace.sender() else {
        return;
    };
    for pair in joint::pairs(crossing) {
        if pair.crossed_network().is_none() {
            continue;
        }
        for (cluster, _) in &sender.clusters {
            let Some(name) = ClusterName::parse(cluster).filter(|name| !name.subset.is_empty())
            else {
                continue;
            };
            let (from, to) = (pair.from, pair.to);
            let Some(own) = rule_with(from, name.host, name.subset) else {
                continue;
            };
            out.examined();
            if rule_with(to, name.host, name.subset).is_some() {
                continue;
            }
            let there = to.mesh.destination_rules_of(name.host);
            let subject = there.first().map_or(&own.id, |rule| &rule.id);
            let message = format!(
                "{} has no subset {} of {}: the gateway there does not know the SNI outbound_.{}_.{}_.{} and closes the connection",
                to.name, name.subset, name.host, name.port, name.subset, name.host
            );
            let proof = match there.first() {
                Some(rule) => {
                    let node = rule.spec_at(["subsets"]).unwrap_or(&rule.node);
                    joint::of(to, Evidence::of(rule, node, "the subsets there"))
                }
                None => joint::list_of(
                    to,
                    Kind::DestinationRule,
                    format!("no DestinationRule is for {}", name.host),
                ),
            };
            let finding = crossing.find(out, to, subject.clone(), message, proof);
            let node = own.spec_at(["subsets"]).unwrap_or(&own.node);
            let shows = format!("the subset in {}", from.name);
            finding.see(joint::of(from, Evidence::of(own, node, shows)));
            finding.fix(copy(&own.id, from, to));
        }
    }
}

/// The DestinationRule that defines a subset of a host.
fn rule_with<'m>(cluster: &'m Cluster, host: &str, subset: &str) -> Option<&'m Object> {
    cluster
        .mesh
        .destination_rules_of(host)
        .into_iter()
        .find(|rule| DestinationRule::of(rule).subset(subset).is_some())
}

fn copy(id: &ObjectRef, from: &Cluster, to: &Cluster) -> Fix {
    Fix::advice(format!(
        "bring {id} of {} to {} too, with the subset",
        from.name, to.name
    ))
}
