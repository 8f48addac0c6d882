//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::absence::{holds, is_complete};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::export::{Export, export_node};

pub(super) static RULE: Rule = Rule {
    code: "ML2053",
    name: "exported-to-unknown-namespace",
    aka: &["KIA0005"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every namespace that something is exported to exists",
    needs: Inputs::of(&[Kind::Namespace]),
    uses: Inputs::of(&[
        Kind::DestinationRule,
        Kind::Service,
        Kind::ServiceEntry,
        Kind::VirtualService,
    ]),
    explains: &[],
    docs: include_str!("exported_to_unknown_namespace.md"),
    check: Check::Object(check),
};

const EXPORTED: [Kind; 4] = [
    Kind::VirtualService,
    Kind::DestinationRule,
    Kind::ServiceEntry,
    Kind::Service,
];

fn check(facts: &Facts<'_>, out: &mut Sink) {
    if !holds(facts, Kind::Namespace) {
        return;
    }
    for object in EXPORTED
        .into_iter()
        .flat_map(|kind| facts.mesh.objects.of_kind(kind))
    {
        out.examined();
        let (Some(node), Export::Namespaces(names)) =
            (export_node(object), facts.mesh.export(object))
        else {
            continue;
        };
        let exists = |name: &str| {
            name == object.id.namespace
                || facts.mesh.objects.get(Kind::Namespace, "", name).is_some()
        };
        for name in names.into_iter().filter(|name| !exists(name)) {
            let message = format!(
                "{} is exported to namespace {name}, and there is none",
                object.id
            );
            let entry = node
                .items()
                .iter()
                .find(|entry| entry.str() == Some(name))
                .unwrap_or(node);
            let finding = out.find(
                object.id.clone(),
                message,
                Evidence::of(object, entry, "where it is exported to"),
            );
            finding.fix(Fix::advice("name a namespace that exists, or `*` for all"));
            // Files hold few of the namespaces that a cluster has.
            if !is_complete(facts, Kind::Namespace) {
                finding.severity(Severity::Info);
            }
        }
    }
}
