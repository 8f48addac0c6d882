//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::absence::is_complete;
use crate::rules::selector_misses::selecting;
use crate::rules::workloads;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::policies::selector;

pub(super) static RULE: Rule = Rule {
    code: "ML2652",
    name: "selector-finds-nobody",
    aka: &["KIA0004"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "everything with a selector selects a workload",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[
        Kind::Deployment,
        Kind::EnvoyFilter,
        Kind::PeerAuthentication,
        Kind::DaemonSet,
        Kind::ProxyConfig,
        Kind::RequestAuthentication,
        Kind::StatefulSet,
        Kind::WasmPlugin,
        Kind::WorkloadEntry,
        Kind::WorkloadGroup,
    ]),
    explains: &[],
    docs: include_str!("selector_finds_nobody.md"),
    check: Check::Object(check),
};

/// Those that have no rule of their own for it.
const SELECTING: [Kind; 5] = [
    Kind::EnvoyFilter,
    Kind::PeerAuthentication,
    Kind::ProxyConfig,
    Kind::RequestAuthentication,
    Kind::WasmPlugin,
];

/// The labels of the pods that istiod makes for a Gateway: no object has them before.
const OF_GATEWAYS: [&str; 2] = [
    "gateway.networking.k8s.io/gateway-name",
    "istio.io/gateway-name",
];

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let mesh = facts.mesh;
    let root = &*mesh.config.root_namespace;
    let all = || {
        SELECTING
            .into_iter()
            .flat_map(|kind| mesh.objects.of_kind(kind))
    };
    let found = selecting(facts, &SELECTING);
    let namespaces = workloads::namespaces(mesh);
    let can_tell =
        |namespace: &str| is_complete(facts, Kind::Pod) || namespaces.contains(namespace);
    for object in all() {
        let Some(labels) = selector(object.spec()) else {
            continue;
        };
        out.examined();
        let is_of_gateway = labels
            .members()
            .iter()
            .any(|label| OF_GATEWAYS.contains(&&*label.key));
        if found.contains(&object.id) || is_of_gateway || !can_tell(&object.id.namespace) {
            continue;
        }
        let place = if object.id.namespace == root {
            "in the mesh"
        } else {
            "in its namespace"
        };
        let message = format!(
            "{} selects {}, and nothing {place} has these labels",
            object.id,
            labels.to_json()
        );
        out.find(
            object.id.clone(),
            message,
            Evidence::of(object, labels, "what it selects"),
        )
        .fix(Fix::advice("select the labels that the workload has"));
    }
}
