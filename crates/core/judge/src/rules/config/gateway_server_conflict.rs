//! See the page beside this file.

use std::collections::BTreeMap;

use super::met;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::gateways::{Server, gateway_name, servers};
use meshladder_mesh::host::covers;
use meshladder_mesh::services::Protocol;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0508",
    name: "gateway-server-conflict",
    aka: &["IST0145", "KIA0301"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "no two Gateways want the same host or another protocol on one port of the same pods",
    needs: Inputs::of(&[Kind::Gateway, Kind::Pod]),
    uses: Inputs::of(&[Kind::VirtualService]),
    explains: &["ML06"],
    docs: include_str!("gateway_server_conflict.md"),
    check: Check::Lens(check, objects::ALONE),
};

fn check(facts: &Facts<'_>, lens: Lens<'_>, out: &mut Sink) {
    match lens {
        Lens::Objects => objects::check(facts, out),
        Lens::Mesh | Lens::Request(_) => by_traffic(facts, lens.case(), out),
    }
}

fn by_traffic(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let mut seen: Vec<Vec<String>> = Vec::new();
    for pod in facts.mesh.objects.of_kind(Kind::Pod) {
        let gateways = facts.mesh.gateways_of(pod);
        let names: Vec<String> = gateways
            .iter()
            .map(|gateway| gateway.id.to_string())
            .collect();
        // Pods of one workload have the same Gateways.
        if gateways.is_empty() || seen.contains(&names) {
            continue;
        }
        seen.push(names);
        let mut by_port: BTreeMap<u16, Vec<Server<'_>>> = BTreeMap::new();
        for server in gateways.into_iter().flat_map(servers) {
            by_port.entry(server.port).or_default().push(server);
        }
        for on_port in by_port.values() {
            out.examined();
            conflicts(facts.mesh, pod, on_port, case, out);
        }
    }
}

/// The servers of a port are in the order in which istiod takes them: the oldest Gateway's first.
fn conflicts(
    mesh: &Mesh,
    pod: &Object,
    on_port: &[Server<'_>],
    case: Option<&Case<'_>>,
    out: &mut Sink,
) {
    for (i, later) in on_port.iter().enumerate() {
        let first = on_port[..i]
            .iter()
            .find_map(|first| Some((first, conflict(first, later)?)));
        let Some((first, why)) = first else { continue };
        let meets = |case: &Case<'_>| {
            let wanted = met::authority(case);
            met::is_through_gateway(case)
                && met::fails(case)
                && later.hosts().any(|(_, pattern)| covers(pattern, &wanted))
        };
        if case.is_none_or(meets) {
            tell(mesh, pod, first, later, &why, out);
        }
    }
}

/// Plain HTTP servers of one port are merged, whatever their hosts; TLS servers are told apart by
/// host.
fn conflict(first: &Server<'_>, later: &Server<'_>) -> Option<String> {
    let is_tls = |server: &Server<'_>| matches!(server.protocol, Protocol::Https | Protocol::Tls);
    if is_tls(first) && is_tls(later) {
        let taken: Vec<&str> = first.hosts().map(|(_, host)| host).collect();
        let twice: Vec<&str> = later
            .hosts()
            .map(|(_, host)| host)
            .filter(|host| taken.contains(host))
            .collect();
        return (!twice.is_empty()).then(|| {
            format!(
                "{} has {} there already",
                first.gateway.id,
                twice.join(", ")
            )
        });
    }
    let kind = |server: &Server<'_>| {
        if is_tls(server) {
            0
        } else {
            u8::from(server.protocol.is_http()) + 1
        }
    };
    (kind(first) != kind(later)).then(|| {
        format!(
            "{} speaks {} there, not {}",
            first.gateway.id,
            protocol_of(first),
            protocol_of(later)
        )
    })
}

fn protocol_of<'m>(server: &Server<'m>) -> &'m str {
    server
        .node
        .at(["port", "protocol"])
        .and_then(Node::str)
        .unwrap_or_default()
}

fn tell(
    mesh: &Mesh,
    pod: &Object,
    first: &Server<'_>,
    later: &Server<'_>,
    why: &str,
    out: &mut Sink,
) {
    let message = format!(
        "istiod drops the server on port {} of {}: {why}",
        later.port, later.gateway.id
    );
    let at = later.node.get("port").unwrap_or(later.node);
    let finding = out.find(
        later.gateway.id.clone(),
        message,
        Evidence::of(later.gateway, at, "the server that is lost"),
    );
    finding.see(Evidence::of(
        first.gateway,
        first.node,
        "the server that came first",
    ));
    finding.hits(pod.id.clone());
    // Routes may be bound to both, and then nothing is lost but a copy.
    let both = |service: &&Object| {
        let names = |gateway: &Object| {
            let id = (gateway.id.namespace.as_str(), gateway.id.name.as_str());
            service
                .spec_strings("gateways")
                .any(|entry| gateway_name(entry, &service.id.namespace) == id)
        };
        names(first.gateway) && names(later.gateway)
    };
    let bound = mesh.naming(later.gateway);
    if bound.iter().all(both) {
        finding.severity(Severity::Info);
    }
    finding.fix(Fix::advice(
        "keep the host on one Gateway, or give the servers different ports",
    ));
}
