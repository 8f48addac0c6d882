//! See the page beside this file.

use std::collections::BTreeSet;

use super::called_service::{self, CalledService};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::services::is_ready;
use meshladder_sim::trace::EndKind;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0728",
    name: "no-endpoint-on-node",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "a Service that keeps calls on the caller's node has a ready pod on every node that it is called from",
    needs: Inputs::of(&[Kind::Service, Kind::Pod]),
    uses: Inputs::NONE,
    explains: &["ML0708", "ML10"],
    docs: include_str!("no_endpoint_on_node.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for called in called_service::services(facts, case) {
        let Some(policy) = called
            .service
            .spec_at(["internalTrafficPolicy"])
            .filter(|policy| policy.str() == Some("Local"))
        else {
            continue;
        };
        out.examined();
        let pods = called.pods(facts.mesh, None);
        let has: BTreeSet<&str> = pods
            .iter()
            .filter(|pod| is_ready(pod))
            .filter_map(|pod| node_of(pod))
            .collect();
        // Without any ready pod it is another matter.
        if has.is_empty() {
            continue;
        }
        match case {
            Some(case) => of_request(facts, case, &called, policy, &has, out),
            None => of_nodes(facts, &called, policy, &has, out),
        }
    }
}

fn node_of(pod: &Object) -> Option<&str> {
    pod.spec_at(["nodeName"]).and_then(Node::str)
}

fn of_request(
    facts: &Facts<'_>,
    case: &Case<'_>,
    called: &CalledService<'_>,
    policy: &Node,
    has: &BTreeSet<&str>,
    out: &mut Sink,
) {
    let Some(client) = called_service::client_pod(facts, case) else {
        return;
    };
    let Some(node) = node_of(client).filter(|node| !has.contains(node)) else {
        return;
    };
    let is_empty = case.ends(EndKind::NoEndpoints).next().is_some()
        || case.seen.is_some_and(|seen| seen.has("UH"));
    if !is_empty {
        return;
    }
    let message = format!(
        "{} keeps calls on the caller's node, and {node}, where {} is, has no ready pod of it",
        called.service.id, client.id
    );
    let finding = out.find(
        called.service.id.clone(),
        message,
        Evidence::of(called.service, policy, "who may answer"),
    );
    let at = client.spec_at(["nodeName"]).unwrap_or(&client.node);
    finding.see(Evidence::of(client, at, "where the caller is"));
    called_service::hit(finding, called.service, &[], Some(case));
    finding.hits(client.id.clone());
    finding.fix(everywhere(called));
}

/// Without a request: the nodes that have proxies and no pod of the Service. Who calls from there
/// is not known.
fn of_nodes(
    facts: &Facts<'_>,
    called: &CalledService<'_>,
    policy: &Node,
    has: &BTreeSet<&str>,
    out: &mut Sink,
) {
    let proxies = facts.mesh.pods.iter().filter(|pod| pod.has_proxy);
    let stored =
        proxies.filter_map(|pod| facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name));
    let without: BTreeSet<&str> = stored
        .filter_map(node_of)
        .filter(|node| !has.contains(node))
        .collect();
    let names: Vec<&str> = without.into_iter().collect();
    if names.is_empty() {
        return;
    }
    let message = format!(
        "{} keeps calls on the caller's node, and {} has no ready pod of it",
        called.service.id,
        names.join(", ")
    );
    let finding = out.find(
        called.service.id.clone(),
        message,
        Evidence::of(called.service, policy, "who may answer"),
    );
    finding
        .severity(Severity::Info)
        .when_asked(Severity::Warning);
    finding.hits(called.service.id.clone());
    finding.fix(everywhere(called));
}

fn everywhere(called: &CalledService<'_>) -> Fix {
    Fix::merge(
        &called.service.id,
        Value::nested(["spec", "internalTrafficPolicy"], "Cluster"),
    )
}
