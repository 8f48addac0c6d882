//! See the page beside this file.

use super::entries::{Entry, entries, ports_of};
use super::met;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Mesh;
use meshladder_mesh::host::covers;

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0524",
    name: "entries-disagree-on-protocol",
    aka: &["IST0177", "KIA1211", "KIA1212"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "ServiceEntries with the same host and port agree on the protocol",
    needs: Inputs::of(&[Kind::ServiceEntry]),
    uses: Inputs::of(&[Kind::Service]),
    explains: &["ML06"],
    docs: include_str!("entries_disagree_on_protocol.md"),
    check: Check::Lens(check, objects::ALONE),
};

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for later in entries(facts.mesh) {
        if case.is_some_and(|case| !meets(case, &later)) {
            continue;
        }
        out.examined();
        let beside = later.hosts().flat_map(|host| {
            facts
                .mesh
                .registered(host)
                .map(move |object| (host, object))
        });
        let known = beside
            .filter(|(_, object)| object.id.is(Kind::ServiceEntry) && object.id < later.object.id);
        for (host, object) in known {
            let other = ports_of(object).find(|other| {
                other.port == later.port
                    && other.protocol != later.protocol
                    && other.hosts().any(|h| h == host)
                    && are_seen_together(facts.mesh, other, &later)
            });
            if let Some(other) = other {
                tell(host, &other, &later, out);
                break;
            }
        }
    }
}

fn meets(case: &Case<'_>, entry: &Entry<'_>) -> bool {
    let wanted = met::authority(case);
    met::fails(case)
        && case.call.to.port == entry.port
        && entry.hosts().any(|host| covers(host, &wanted))
}

/// Whether one namespace can see both.
fn are_seen_together(mesh: &Mesh, a: &Entry<'_>, b: &Entry<'_>) -> bool {
    let (a, b) = (a.object, b.object);
    mesh.is_exported_to(a, &b.id.namespace) || mesh.is_exported_to(b, &a.id.namespace)
}

fn tell(host: &str, first: &Entry<'_>, later: &Entry<'_>, out: &mut Sink) {
    let protocol = |entry: &Entry<'_>| {
        entry
            .node
            .str_at("protocol")
            .unwrap_or("nothing")
            .to_owned()
    };
    let message = format!(
        "{} says {} for {host}:{}, and {} says {}: what clients get may change with any push",
        later.object.id,
        protocol(later),
        later.port,
        first.object.id,
        protocol(first)
    );
    let proof = Evidence::of(later.object, later.node, "the port");
    let finding = out.find(later.object.id.clone(), message, proof);
    finding.see(Evidence::of(
        first.object,
        first.node,
        "the same port with another protocol",
    ));
    finding.hits(first.object.id.clone());
    finding.fix(Fix::advice(
        "give both the same protocol, or keep one of them",
    ));
}
