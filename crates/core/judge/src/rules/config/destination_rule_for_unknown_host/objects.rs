//! As the objects alone show it.

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::analyzed::known;
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Warning,
    needs: Inputs::of(&[Kind::DestinationRule, Kind::Service, Kind::ServiceEntry]),
    uses: Inputs::NONE,
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    let mut services = facts.mesh.objects.of_kind(Kind::Service).iter();
    // Files that hold neither kind say nothing about hosts outside the mesh.
    let is_bare = services.all(Object::is_assumed)
        && facts.mesh.objects.of_kind(Kind::ServiceEntry).is_empty();
    for rule in facts.mesh.objects.of_kind(Kind::DestinationRule) {
        let Some(node) = rule.spec_at(["host"]) else {
            continue;
        };
        let host = facts
            .mesh
            .domain
            .fqdn(node.str().unwrap_or_default(), &rule.id.namespace);
        out.examined();
        // A wildcard is for whatever there will be.
        let is_left_open =
            host.starts_with('*') || is_bare && facts.mesh.domain.service_name(&host).is_none();
        if is_left_open || !known(facts.mesh, rule, &host).is_empty() {
            continue;
        }
        let written = node
            .str()
            .filter(|written| *written != host)
            .map(|written| format!(" (written {written})"));
        let message = format!(
            "{} is for {host}{}, which no Service or ServiceEntry that it can see has",
            rule.id,
            written.unwrap_or_default()
        );
        out.find(
            rule.id.clone(),
            message,
            Evidence::of(rule, node, "the host it is for"),
        )
        .fix(Fix::advice(
            "name a Service or a ServiceEntry that is exported to this namespace",
        ));
    }
}
