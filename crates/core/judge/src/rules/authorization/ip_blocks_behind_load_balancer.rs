//! See the page beside this file.

use super::denial::{action_of, fields, is_dry_run};
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::endpoints::called_service;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::access_log;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::Object;
use meshladder_mesh::policies::Workload;
use meshladder_mesh::scope::is_router;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0909",
    name: "ip-blocks-behind-load-balancer",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Warning,
    claim: "a gateway whose policies look at `ipBlocks` sees the client's own address",
    needs: Inputs::of(&[Kind::AuthorizationPolicy, Kind::Service, Kind::Pod]),
    uses: Inputs::NONE.and(&[Part::Logs]),
    explains: &["ML0902"],
    docs: include_str!("ip_blocks_behind_load_balancer.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    // A request that was let through does not suffer.
    if case.is_some_and(|case| !is_denied(case)) {
        return;
    }
    for service in facts
        .mesh
        .objects
        .of_kind(Kind::Service)
        .iter()
        .filter(|service| hides_clients(service))
    {
        let pods = facts.mesh.selected_pods(service);
        let Some(pod) = pods.iter().find(|pod| is_router(pod)) else {
            continue;
        };
        let on_path = |case: &&Case<'_>| {
            case.trace
                .hops
                .iter()
                .any(|hop| hop.proxy.is_of(&pod.id.namespace, &pod.id.name))
        };
        if case.is_some_and(|case| !on_path(&case)) || sees_clients(facts, pod) {
            continue;
        }
        out.examined();
        for policy in facts
            .mesh
            .policies(Kind::AuthorizationPolicy, &Workload::of(pod))
        {
            if let Some(node) = ip_blocks(policy) {
                tell(policy, node, service, pod, out);
            }
        }
    }
}

fn is_denied(case: &Case<'_>) -> bool {
    case.saw(403)
        || (case.seen.is_none()
            && case
                .ends(meshladder_sim::trace::EndKind::Denied)
                .next()
                .is_some())
}

/// Whether the gateway's log shows that its last caller came by an address of its own: not by a
/// node's, nor by one beside those of nodes and pods.
fn sees_clients(facts: &Facts<'_>, gateway: &Object) -> bool {
    let log = called_service::proxy_log(facts, gateway);
    let last = log.and_then(|log| access_log::lines(&log).last());
    let Some((address, _)) = last.as_ref().and_then(|line| line.remote.rsplit_once(':')) else {
        return false;
    };
    let network = |address: &str| Some(address.rsplit_once(['.', ':'])?.0.to_owned());
    let of_client = network(address.trim_matches(['[', ']']));
    let mut of_cluster = facts
        .mesh
        .objects
        .of_kind(Kind::Pod)
        .iter()
        .flat_map(|pod| {
            let status = |key| pod.node.at(["status", key]).and_then(Node::str);
            [status("hostIP"), status("podIP")].into_iter().flatten()
        });
    of_client.is_some() && !of_cluster.any(|own| network(own) == of_client)
}

/// "Cluster obscures the client source IP and may cause a second hop to another node"
fn hides_clients(service: &Object) -> bool {
    let text = |key| service.spec_at([key]).and_then(Node::str);
    matches!(text("type"), Some("LoadBalancer" | "NodePort"))
        && text("externalTrafficPolicy") != Some("Local")
}

fn ip_blocks(policy: &Object) -> Option<&Node> {
    let rules = policy
        .spec_list("rules")
        .iter()
        .filter(|_| !is_dry_run(policy));
    let mut found = rules
        .flat_map(fields)
        .filter(|(field, _)| ["ipBlocks", "notIpBlocks", "source.ip"].contains(field));
    found.next().map(|(_, node)| node)
}

fn tell(policy: &Object, node: &Node, service: &Object, pod: &Object, out: &mut Sink) {
    let message = format!(
        "{} decides by the address of the connection, and {} passes connections on from its nodes' addresses, so {} meets the wrong callers",
        policy.id,
        service.id,
        action_of(policy)
    );
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(policy, node, "the addresses it looks for"),
    );
    finding.see(Evidence::of(
        service,
        service.spec().unwrap_or(&service.node),
        "externalTrafficPolicy is not Local",
    ));
    finding
        .confidence(Confidence::Likely)
        .hits(pod.id.clone())
        .hits(policy.id.clone());
    finding.fix(Fix::merge(
        &service.id,
        Value::nested(["spec", "externalTrafficPolicy"], "Local"),
    ));
    finding.fix(Fix::advice(
        "or use remoteIpBlocks, with numTrustedProxies set, behind a load balancer that adds x-forwarded-for",
    ));
}
