//! See the page beside this file.

use super::{met, patch};
use crate::finding::{Evidence, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::gateways::{Server, servers};
use meshladder_mesh::services::Protocol;
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0512",
    name: "tls-without-sni",
    aka: &[],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "whoever calls a gateway's TLS server says for which host",
    needs: Inputs::of(&[
        Kind::DestinationRule,
        Kind::Gateway,
        Kind::Service,
        Kind::Pod,
    ]),
    uses: Inputs::NONE,
    explains: &["ML06", "ML08"],
    docs: include_str!("tls_without_sni.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for rule in facts.mesh.objects.of_kind(Kind::DestinationRule) {
        let lacks = |tls: &&Node| {
            matches!(tls.str_at("mode"), Some("SIMPLE" | "MUTUAL")) && tls.get("sni").is_none()
        };
        let Some(tls) = settings(rule).into_iter().find(lacks) else {
            continue;
        };
        let host = rule
            .spec_at(["host"])
            .and_then(Node::str)
            .unwrap_or_default();
        let host = facts.mesh.domain.fqdn(host, &rule.id.namespace);
        let Some(service) = facts.mesh.service_of_host(&host) else {
            continue;
        };
        out.examined();
        let Some(server) = tls_server(facts.mesh, service) else {
            continue;
        };
        match case {
            None => tell(rule, tls, service, &server, Severity::Info, out),
            Some(case) if meets(case, &host) => {
                tell(rule, tls, service, &server, Severity::Error, out);
            }
            Some(_) => {}
        }
    }
}

/// All that a DestinationRule says of TLS: for the host, a port, a subset.
fn settings(rule: &Object) -> Vec<&Node> {
    let subsets = rule
        .spec_list("subsets")
        .iter()
        .filter_map(|subset| subset.get("trafficPolicy"));
    let policies = rule.spec_at(["trafficPolicy"]).into_iter().chain(subsets);
    let with_ports = policies.flat_map(|policy| {
        let ports = policy.get("portLevelSettings").map_or(&[][..], Node::items);
        [policy].into_iter().chain(ports)
    });
    with_ports.filter_map(|policy| policy.get("tls")).collect()
}

/// A TLS server for certain hosts only, in a gateway that the Service leads to.
fn tls_server<'m>(mesh: &'m Mesh, service: &Object) -> Option<Server<'m>> {
    let pod = mesh.selected_pods(service).into_iter().next()?;
    let is_tls = |server: &Server<'_>| matches!(server.protocol, Protocol::Https | Protocol::Tls);
    mesh.gateways_of(pod)
        .into_iter()
        .flat_map(servers)
        .find(|server| is_tls(server) && server.hosts().all(|(_, host)| host != "*"))
}

fn meets(case: &Case<'_>, host: &str) -> bool {
    const DETAILS: &str = "filter_chain_not_found";
    let seen = case.seen.and_then(|seen| seen.details.as_deref()) == Some(DETAILS);
    let logged = case
        .server_log
        .iter()
        .any(|line| line.details == DETAILS || line.termination == DETAILS);
    let predicted = case
        .trace
        .branches
        .iter()
        .any(|branch| branch.end.details == DETAILS);
    (seen || logged || predicted) && met::clusters(case).any(|cluster| cluster.host == host)
}

fn tell(
    rule: &Object,
    tls: &Node,
    service: &Object,
    server: &Server<'_>,
    severity: Severity,
    out: &mut Sink,
) {
    let message = format!(
        "{} starts TLS to {} without naming a host, and {} has servers for certain hosts only",
        rule.id, service.id, server.gateway.id
    );
    let finding = out.find(
        rule.id.clone(),
        message,
        Evidence::of(rule, tls, "TLS without `sni`"),
    );
    finding.severity(severity).hits(service.id.clone());
    let hosts = server.node.get("hosts").unwrap_or(server.node);
    finding.see(Evidence::of(
        server.gateway,
        hosts,
        "the hosts it tells apart",
    ));
    let host = server
        .hosts()
        .map(|(_, host)| host)
        .find(|host| !host.starts_with('*'));
    if let Some(host) = host {
        finding.fix(patch::set(rule, tls, "sni", host));
    }
}
