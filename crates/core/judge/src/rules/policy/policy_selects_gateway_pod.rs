//! See the page beside this file.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::analyzed::GATEWAY_NAME;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::selector::has_labels;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2603",
    name: "policy-selects-gateway-pod",
    aka: &["IST0166"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "policies for gateways of the Gateway API name them in targetRefs",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[
        Kind::AuthorizationPolicy,
        Kind::RequestAuthentication,
        Kind::Telemetry,
        Kind::WasmPlugin,
    ]),
    explains: &[],
    docs: include_str!("policy_selects_gateway_pod.md"),
    check: Check::Object(check),
};

const KINDS: [Kind; 4] = [
    Kind::AuthorizationPolicy,
    Kind::RequestAuthentication,
    Kind::Telemetry,
    Kind::WasmPlugin,
];

fn check(facts: &Facts<'_>, out: &mut Sink) {
    // Many policies may select the same.
    let mut known: BTreeMap<(&str, String), BTreeSet<&str>> = BTreeMap::new();
    for policy in KINDS
        .into_iter()
        .flat_map(|kind| facts.mesh.objects.of_kind(kind))
    {
        out.examined();
        let has_target = ["targetRef", "targetRefs"]
            .iter()
            .any(|key| policy.spec_at([key]).is_some());
        let Some(selector) = policy.spec_at(["selector"]).filter(|_| !has_target) else {
            continue;
        };
        let labels = selector.get("matchLabels");
        let wanted = labels.map(Node::to_json).unwrap_or_default();
        let gateways = known
            .entry((&policy.id.namespace, wanted))
            .or_insert_with(|| {
                let near = facts
                    .mesh
                    .pods_near(Some(&policy.id.namespace), labels.as_slice());
                let selected =
                    near.filter(|pod| labels.is_none_or(|labels| has_labels(labels, pod.labels())));
                selected
                    .filter(|pod| pod.group.is_empty())
                    .filter_map(|pod| pod.label(GATEWAY_NAME))
                    .collect()
            });
        for gateway in gateways.iter() {
            tell(policy, labels.unwrap_or(selector), gateway, out);
        }
    }
}

fn tell(policy: &Object, labels: &Node, gateway: &str, out: &mut Sink) {
    let message = format!(
        "{} selects pods of Gateway {gateway} by their labels, which no waypoint heeds and other gateways may not: it should name the Gateway",
        policy.id
    );
    out.find(policy.id.clone(), message, Evidence::of(policy, labels, "what it selects")).fix(Fix::advice(format!(
        "replace the selector by targetRefs: [{{group: gateway.networking.k8s.io, kind: Gateway, name: {gateway}}}]"
    )));
}
