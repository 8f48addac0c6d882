//! See the page beside this file.

use std::collections::BTreeSet;

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::traffic::routes;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2051",
    name: "destination-listed-twice",
    aka: &["KIA1105"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "a route lists each destination once",
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("destination_listed_twice.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        for route in routes(service) {
            let mut seen = BTreeSet::new();
            for entry in route.items_at("route") {
                out.examined();
                let Some(destination) = entry.get("destination") else {
                    continue;
                };
                let host = facts.mesh.domain.fqdn(
                    destination.str_at("host").unwrap_or_default(),
                    &service.id.namespace,
                );
                let subset = destination.str_at("subset").unwrap_or_default();
                // The same pods with other headers, or on another port, are another destination.
                let rest =
                    ["port", "headers"].map(|key| destination.get(key).or_else(|| entry.get(key)));
                if seen.insert((
                    host.clone(),
                    subset,
                    rest.map(|node| node.map(Node::to_json)),
                )) {
                    continue;
                }
                let what = if subset.is_empty() {
                    host.into_owned()
                } else {
                    format!("subset {subset} of {host}")
                };
                let message = format!(
                    "a route of {} lists {what} twice, so it gets both weights",
                    service.id
                );
                out.find(
                    service.id.clone(),
                    message,
                    Evidence::of(service, destination, "listed again"),
                )
                .fix(Fix::advice(
                    "name the destination that was meant, or list it once",
                ));
            }
        }
    }
}
