//! See the page beside this file.

use super::called_service;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_text::shell;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0721",
    name: "pods-not-created",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "every workload behind a Service gets the pods it asks for",
    needs: Inputs::of(&[Kind::Service, Kind::Pod, Kind::Deployment]),
    uses: Inputs::of(&[
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::DestinationRule,
        Kind::ServiceEntry,
        Kind::Sidecar,
    ]),
    explains: &["ML07", "ML10"],
    docs: include_str!("pods_not_created.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for called in called_service::services(facts, case) {
        out.examined();
        let subset = called.subset_labels(facts, case);
        if !called.pods(facts.mesh, subset).is_empty() {
            continue;
        }
        for workload in called.workloads(facts.mesh, subset) {
            let Some(condition) = failure(workload) else {
                continue;
            };
            let why = condition
                .str_at("message")
                .unwrap_or("no reason given")
                .trim_end_matches('.');
            let message = format!(
                "no pod of {} can be created, so {} has no endpoint: {why}",
                workload.id, called.service.id
            );
            let proof = Evidence::of(workload, condition, "why no pod is created");
            let finding = out.find(workload.id.clone(), message, proof);
            called_service::hit(finding, called.service, &[], case);
            let (kind, name) = (workload.id.kind.to_lowercase(), &workload.id.name);
            finding.fix(Fix::look(shell::command(
                "kubectl describe {} {} -n {}",
                &[&kind, name, &workload.id.namespace],
            )));
        }
    }
}

/// The condition of a workload that asks for pods and cannot have them.
fn failure(workload: &Object) -> Option<&Node> {
    let is_zero = |node: &Node| matches!(&node.value, Value::Number(text) if &**text == "0");
    let wants = workload
        .spec_at(["replicas"])
        .is_none_or(|replicas| !is_zero(replicas));
    let conditions = workload
        .node
        .at(["status", "conditions"])
        .map_or(&[][..], Node::items);
    let failed = |c: &&Node| {
        c.str_at("type") == Some("ReplicaFailure") && c.str_at("status") == Some("True")
    };
    conditions.iter().find(failed).filter(|_| wants)
}
