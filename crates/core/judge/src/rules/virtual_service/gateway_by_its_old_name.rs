//! See the page beside this file.

use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::gateways::gateway_name;
use meshladder_mesh::traffic::routes;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2052",
    name: "gateway-by-its-old-name",
    aka: &["KIA1108"],
    rung: Rung::Config,
    severity: Severity::Info,
    claim: "VirtualServices name Gateways as namespace/name",
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("gateway_by_its_old_name.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        for node in named(service) {
            out.examined();
            let entry = node.str().unwrap_or_default();
            if entry.contains('/') || !entry.contains('.') {
                continue;
            }
            let (namespace, name) = gateway_name(entry, &service.id.namespace);
            let full = format!("{namespace}/{name}");
            let message = format!(
                "{} names Gateway {full} in the old form `{entry}`",
                service.id
            );
            let patch = [Op::replace(service.path_of(node), full)];
            out.find(
                service.id.clone(),
                message,
                Evidence::of(service, node, "the old form"),
            )
            .fix(Fix::patch(&service.id, patch));
        }
    }
}

/// Every Gateway that it names, those of single matches too.
fn named(service: &Object) -> impl Iterator<Item = &Node> {
    let of_matches = routes(service)
        .flat_map(|route| route.items_at("match"))
        .flat_map(|one| one.items_at("gateways"));
    service.spec_list("gateways").iter().chain(of_matches)
}
