//! See the page beside this file.

use super::met;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Lens, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::access_log::AccessLine;
use meshladder_capture::snapshot::{DocId, Inputs};
use meshladder_mesh::Object;
use meshladder_mesh::gateways::{Server, servers};
use meshladder_mesh::host::covers;

mod objects;

pub(super) static RULE: Rule = Rule {
    code: "ML0511",
    name: "one-certificate-on-several-servers",
    aka: &["IST0138"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "a certificate serves the hosts of one server only, so that a client's connection leads to one set of routes",
    needs: Inputs::of(&[Kind::Gateway, Kind::Pod]),
    uses: Inputs::NONE,
    explains: &["ML06"],
    docs: include_str!("one_certificate_on_several_servers.md"),
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
        if gateways.is_empty() || seen.contains(&names) {
            continue;
        }
        seen.push(names);
        let all: Vec<Server<'_>> = gateways.into_iter().flat_map(servers).collect();
        for (i, later) in all.iter().enumerate() {
            out.examined();
            if let Some(first) = all[..i].iter().find(|first| share(first, later)) {
                match case {
                    None => {
                        tell(pod, first, later, out).severity(Severity::Info);
                    }
                    Some(case) => asked_about(case, pod, first, later, out),
                }
            }
        }
    }
}

/// Whether a client may use a connection to one server for the other's hosts.
fn share(first: &Server<'_>, later: &Server<'_>) -> bool {
    let hosts = |server: &Server<'_>| -> Vec<String> {
        server.hosts().map(|(_, host)| host.to_owned()).collect()
    };
    first.credential_name.is_some()
        && first.credential_name == later.credential_name
        && first.port == later.port
        && hosts(first) != hosts(later)
}

/// A request that came for one host on a connection made for another, and found no route.
fn asked_about(
    case: &Case<'_>,
    pod: &Object,
    first: &Server<'_>,
    later: &Server<'_>,
    out: &mut Sink,
) {
    let takes =
        |server: &Server<'_>, host: &str| server.hosts().any(|(_, pattern)| covers(pattern, host));
    let is_reused = |line: &&AccessLine| {
        let host = line.authority.split(':').next().unwrap_or_default();
        let crosses = |a: &Server<'_>, b: &Server<'_>| {
            takes(a, &line.server_name) && takes(b, host) && !takes(a, host)
        };
        line.has("NR")
            && !line.server_name.is_empty()
            && (crosses(first, later) || crosses(later, first))
    };
    let Some(line) = case
        .client_log
        .iter()
        .find(is_reused)
        .filter(|_| met::lacks_route(case))
    else {
        return;
    };
    let shows = format!(
        "asked for {} on a connection made for {}",
        line.authority, line.server_name
    );
    tell(pod, first, later, out).see(Evidence::line(&DocId::new(&line.doc), line.number, shows));
}

fn tell<'o>(
    pod: &Object,
    first: &Server<'_>,
    later: &Server<'_>,
    out: &'o mut Sink,
) -> &'o mut crate::finding::Finding {
    let message = format!(
        "{} and {} serve different hosts on port {} with one certificate {}: a browser that reuses its connection gets 404",
        first.gateway.id,
        later.gateway.id,
        later.port,
        later.credential_name.unwrap_or_default()
    );
    let at = later.node.get("tls").unwrap_or(later.node);
    let finding = out.find(
        later.gateway.id.clone(),
        message,
        Evidence::of(later.gateway, at, "the certificate"),
    );
    let at = first.node.get("tls").unwrap_or(first.node);
    finding.see(Evidence::of(first.gateway, at, "the same certificate"));
    finding.hits(pod.id.clone());
    finding.fix(Fix::advice(
        "put all hosts of the certificate on one server, or give each server a certificate of its own",
    ));
    finding
}
