//! See the page beside this file.

use std::net::IpAddr;

use super::meets::{fails, hit_ends, is_captured};
use crate::finding::{Evidence, Rung, Severity};
use crate::rules::sync::repairs;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::Object;
use meshladder_mesh::ambient::HBONE;
use meshladder_mesh::network_policy::{ClosedEnd, Direction, End, Passage};
use meshladder_mesh::views::Service;

pub(super) static RULE: Rule = Rule {
    code: "ML4030",
    name: "network-policy-blocks-hbone",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "no NetworkPolicy keeps tunnels from pods whose own ports it lets through",
    needs: Inputs::of(&[Kind::Pod, Kind::NetworkPolicy]),
    uses: Inputs::of(&[Kind::Namespace, Kind::Service, Kind::ConfigMap]).and(&[Part::Ztunnels]),
    explains: &["ML07", "ML08", "ML10"],
    docs: include_str!("network_policy_blocks_hbone.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    if facts.mesh.objects.of_kind(Kind::NetworkPolicy).is_empty() {
        return;
    }
    match case {
        Some(case) => of_request(facts, case, out),
        None => of_mesh(facts, out),
    }
}

/// The legs of a call that are tunnels: out of the caller's pod, whose network ztunnel uses, and
/// out of each Envoy that sends through one.
fn of_request(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    if !fails(case) {
        return;
    }
    for hop in &case.trace.hops {
        let from = if hop.is_ztunnel {
            case.client
                .map(|pod| (pod.namespace.as_str(), pod.name.as_str()))
        } else {
            Some((hop.proxy.namespace.as_str(), hop.proxy.pod.as_str()))
        };
        let from =
            from.and_then(|(namespace, name)| facts.mesh.objects.get(Kind::Pod, namespace, name));
        let Some(from) = from else { continue };
        for endpoint in &hop.endpoints {
            let Some((address, port)) = endpoint.socket else {
                continue;
            };
            let is_tunnel = port == HBONE
                || endpoint.is_tunnelled()
                || hop.is_ztunnel && is_captured_at(facts, address);
            let port = if is_tunnel { HBONE } else { port };
            if !is_tunnel && !hop.is_ztunnel {
                continue;
            }
            out.examined();
            let passage = facts
                .mesh
                .connection(End::Pod(from), End::Address(address), port, "TCP");
            if let Passage::Blocked(closed) = passage {
                tell(Some(case), from, &closed, port, out);
            }
        }
    }
}

/// Whether the pod of an address is reached by tunnel, since it is captured.
fn is_captured_at(facts: &Facts<'_>, address: IpAddr) -> bool {
    let pod = facts.mesh.pod_at(address);
    let object = pod.and_then(|pod| facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name));
    object.is_some_and(|pod| is_captured(facts, pod))
}

/// Nobody asked: pods that a policy opens their own port of, and not that of tunnels, to the same
/// peers.
fn of_mesh(facts: &Facts<'_>, out: &mut Sink) {
    let mesh = facts.mesh;
    let captured: Vec<&Object> = mesh
        .objects
        .of_kind(Kind::Pod)
        .iter()
        .filter(|pod| is_captured(facts, pod))
        .collect();
    for service in Service::all(&mesh.objects) {
        for to in mesh.selected_pods(service.object) {
            if !is_captured(facts, to) || mesh.policies_on(to, Direction::Ingress).next().is_none()
            {
                continue;
            }
            out.examined();
            for from in captured.iter().filter(|from| from.id != to.id) {
                let opens = |port| mesh.connection(End::Pod(from), End::Pod(to), port, "TCP");
                let mut ports = service.ports().filter_map(|port| port.target_in(to));
                let has_open = ports.any(|port| matches!(opens(port), Passage::Allowed(_)));
                if let (true, Passage::Blocked(closed)) = (has_open, opens(HBONE)) {
                    tell(None, from, &closed, HBONE, out);
                    break;
                }
            }
        }
    }
}

fn tell(
    case: Option<&Case<'_>>,
    from: &Object,
    closed: &[ClosedEnd<'_>],
    port: u16,
    out: &mut Sink,
) {
    let first = &closed[0];
    let policy = first.opening.policy;
    if out
        .findings
        .iter()
        .any(|finding| finding.subject == policy.id)
    {
        return;
    }
    let what = if port == HBONE {
        format!(
            "captured pods reach each other by tunnel to port {HBONE}, whatever the port of the application"
        )
    } else {
        format!("TCP {port} is closed")
    };
    let message = format!(
        "{} does not let connections of {} through to {}: {what}",
        policy.id, from.id, first.pod.id
    );
    let lists = &first.policies[0];
    let all = Evidence::of(
        lists.policy,
        lists.node,
        format!("all that {} lets through", lists.policy.id),
    );
    let near = first.nearest.as_ref();
    let proof = near.map_or_else(
        || all.clone(),
        |near| Evidence::of(near.policy, near.field, near.what.clone()),
    );
    let finding = out.find(policy.id.clone(), message, proof);
    finding.see(all);
    finding.hits(first.pod.id.clone());
    match case {
        Some(case) => hit_ends(finding, case),
        None => {
            finding.severity(Severity::Warning);
        }
    }
    repairs(finding, closed);
}
