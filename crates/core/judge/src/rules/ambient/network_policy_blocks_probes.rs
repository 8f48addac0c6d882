//! See the page beside this file.

use std::net::{IpAddr, Ipv4Addr};

use super::meets::{hit_ends, pods};
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::network_policy::{End, Passage};
use meshladder_mesh::views::{Event, Pod};

pub(super) static RULE: Rule = Rule {
    code: "ML4031",
    name: "network-policy-blocks-probes",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "no NetworkPolicy keeps the probes of captured pods out",
    needs: Inputs::of(&[Kind::Pod, Kind::NetworkPolicy]),
    uses: Inputs::of(&[Kind::Namespace, Kind::Service, Kind::ConfigMap, Kind::Event]),
    explains: &["ML07", "ML10"],
    docs: include_str!("network_policy_blocks_probes.md"),
    check: Check::Either(check),
};

/// What the node's agent makes of the address of kubelet's probes, so that they pass by ztunnel.
const PROBES: IpAddr = IpAddr::V4(Ipv4Addr::new(169, 254, 7, 127));

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for (pod, enrolment) in pods(facts, case) {
        let view = Pod::of(pod);
        if !enrolment.is_captured() || view.is_ready() || view.is_terminating() {
            continue;
        }
        let Some(event) = failed_probe(facts, pod) else {
            continue;
        };
        out.examined();
        let port = view
            .containers()
            .flat_map(meshladder_mesh::views::Container::ports)
            .next();
        let port = port.map_or(0, |port| port.number);
        let passage = facts
            .mesh
            .connection(End::Address(PROBES), End::Pod(pod), port, "TCP");
        let Passage::Blocked(closed) = passage else {
            continue;
        };
        let policy = closed[0].opening.policy;
        let message = format!(
            "{} keeps the probes of {} out: those of captured pods come from {PROBES}",
            policy.id, pod.id
        );
        let lists = &closed[0].policies[0];
        let finding = out.find(
            policy.id.clone(),
            message,
            Evidence::of(lists.policy, lists.node, "all that it lets through"),
        );
        finding.confidence(Confidence::Likely);
        let part = event.node.get("message").unwrap_or(&event.node);
        finding.see(Evidence::of(event, part, "a probe that failed"));
        finding.hits(pod.id.clone());
        for service in facts.mesh.services_of(pod) {
            finding.hits(service.id.clone());
        }
        if let Some(case) = case {
            hit_ends(finding, case);
        }
        finding.fix(Fix::advice(format!(
            "let {PROBES}/32 in (and fd16:9254:7127:1337:ffff:ffff:ffff:ffff/128) to the ports of probes"
        )));
    }
}

fn failed_probe<'f>(facts: &Facts<'f>, pod: &Object) -> Option<&'f Object> {
    let mut events = Event::in_namespace(&facts.mesh.objects, &pod.id.namespace);
    let event =
        events.find(|event| event.about() == pod.id.name && event.reason() == "Unhealthy")?;
    Some(event.object)
}
