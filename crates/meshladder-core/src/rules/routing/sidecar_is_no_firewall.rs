//! See the page beside this file.

use super::effect::sidecar;
use crate::doc::tree::Node;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::mesh::Stored;
use crate::mesh::config::is_registry_only;
use crate::rules::{Asked, Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML0616",
    name: "sidecar-is-no-firewall",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Info,
    claim: "a Sidecar that leaves hosts out also refuses calls to them",
    needs: &["k8s/sidecars.networking.istio.io.json"],
    uses: &["k8s/pods.json"],
    explains: &[],
    docs: include_str!("sidecar_is_no_firewall.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, asked: Option<&Asked<'_>>, out: &mut Sink) {
    let mesh = facts.mesh;
    let own = asked.map(|asked| sidecar(mesh, asked).and_then(|client| mesh.scope(client).sidecar));
    for object in mesh.objects.of_kind("Sidecar") {
        if own.is_some_and(|own| own.is_none_or(|own| own.id != object.id)) {
            continue;
        }
        out.examined();
        let only = object.spec().and_then(is_registry_only).unwrap_or(mesh.config.is_registry_only);
        if let Some(hosts) = shut(object).filter(|_| !only) {
            let message = format!(
                "{} leaves out all hosts, and its proxies may still call any: outboundTrafficPolicy is ALLOW_ANY",
                object.id
            );
            let finding = out.find(object.id.clone(), message, Evidence::of(object, hosts, "nothing is imported"));
            let patch = "{\"spec\":{\"outboundTrafficPolicy\":{\"mode\":\"REGISTRY_ONLY\"}}}";
            finding.fix(Fix::merge(&object.id, patch));
        }
    }
}

/// The list of hosts that lets nothing in: such a Sidecar is often meant to shut its pods off.
fn shut(object: &Stored) -> Option<&Node> {
    let mut lists = object.spec_list("egress").iter().filter_map(|listener| listener.get("hosts"));
    let first = lists.next()?;
    let all = std::iter::once(first).chain(lists).flat_map(Node::items);
    all.filter_map(Node::str).all(|host| host.starts_with("~/")).then_some(first)
}
