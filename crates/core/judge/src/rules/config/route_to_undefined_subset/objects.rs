//! As the objects alone show it.

use crate::finding::{Evidence, Fix, Op, Severity};
use crate::rules::config::nearest::nearest;
use crate::rules::virtual_service::destination;
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Error,
    needs: Inputs::of(&[Kind::VirtualService, Kind::DestinationRule]),
    uses: Inputs::NONE,
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        for to in destination::of(facts.mesh, service) {
            let Some(name) = to.subset else { continue };
            out.examined();
            let rules: Vec<&Object> = facts.mesh.destination_rules_for(&to.host).collect();
            let defined: Vec<&str> = rules.iter().flat_map(|rule| subsets(rule)).collect();
            if defined.contains(&name) {
                continue;
            }
            let instead = match defined.as_slice() {
                [] => String::new(),
                defined => format!("; there is {}", defined.join(", ")),
            };
            let message = format!(
                "{} leads to subset {name} of {}, which no DestinationRule defines{instead}",
                service.id, to.host
            );
            let at = to.node.get("subset").unwrap_or(to.node);
            let finding = out.find(
                service.id.clone(),
                message,
                Evidence::of(service, at, "the subset"),
            );
            if let Some(near) = nearest(name, defined.into_iter()) {
                finding.fix(Fix::patch(
                    &service.id,
                    [Op::replace(service.path_of(at), near)],
                ));
            }
            finding.fix(Fix::advice(format!(
                "define subset {name} in a DestinationRule for {}",
                to.host
            )));
        }
    }
}

fn subsets(rule: &Object) -> impl Iterator<Item = &str> {
    rule.spec_list("subsets")
        .iter()
        .filter_map(|subset| subset.str_at("name"))
}
