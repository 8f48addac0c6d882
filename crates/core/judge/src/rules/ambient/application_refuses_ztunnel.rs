//! See the page beside this file.

use super::meets::{fails, hit_ends, object_of};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Inputs, Part};
use meshladder_capture::ztunnel::log::{ZtunnelFault, ZtunnelLine};
use meshladder_mesh::PodFacts;
use meshladder_mesh::ambient::NodeAgent;
use meshladder_mesh::views::Pod;

pub(super) static RULE: Rule = Rule {
    code: "ML4032",
    name: "application-refuses-ztunnel",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "the application takes the connections that ztunnel hands it",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[Kind::Service]).and(&[Part::Logs]),
    explains: &["ML10"],
    docs: include_str!("application_refuses_ztunnel.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    if !fails(case) {
        return;
    }
    for server in &case.servers {
        let Some(pod) = object_of(facts, server) else {
            continue;
        };
        let node = Pod::of(pod).node_name().map_or("", |node| node.value);
        let Some(ztunnel) = facts.mesh.node_agent(NodeAgent::Ztunnel, node) else {
            continue;
        };
        let id = DocId::new(format!(
            "logs/{}/{}/istio-proxy.log",
            ztunnel.namespace(),
            ztunnel.name()
        ));
        let Ok(log) = facts.snapshot.open(&id) else {
            continue;
        };
        out.examined();
        let Some((number, line)) = last(&log.text, server) else {
            continue;
        };
        let Some(ZtunnelFault::Application(why)) = line.fault() else {
            continue;
        };
        let at = if line.hbone_address.is_empty() {
            &line.destination.address
        } else {
            &line.hbone_address
        };
        let workload = server.workload();
        let message = format!(
            "{workload} does not take connections at {at}: {why}; ztunnel dials the pod's own address, not 127.0.0.1"
        );
        let finding = out.find(
            workload,
            message,
            Evidence::line(&id, number, "ztunnel could not connect to it"),
        );
        hit_ends(finding, case);
        finding.fix(Fix::advice(
            "let the application listen on that port, at all addresses of the pod",
        ));
    }
}

/// The last connection to a pod that its ztunnel tells of, with the number of its line.
fn last(log: &str, server: &PodFacts) -> Option<(usize, ZtunnelLine)> {
    let mut last = None;
    for (number, text) in log.lines().enumerate() {
        if !text.contains(server.name.as_str()) {
            continue;
        }
        let line = ZtunnelLine::parse(text).filter(|line| {
            line.is_inbound()
                && line.destination.workload == server.name
                && line.destination.namespace == server.namespace
        });
        last = line.map(|line| (number + 1, line)).or(last);
    }
    last
}
