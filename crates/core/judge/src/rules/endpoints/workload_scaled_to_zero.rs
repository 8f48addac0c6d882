//! See the page beside this file.

use super::called_service;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0703",
    name: "workload-scaled-to-zero",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "a Service that is called has a workload with replicas",
    needs: Inputs::of(&[Kind::Service, Kind::Pod, Kind::Deployment]),
    uses: Inputs::of(&[
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::DestinationRule,
        Kind::ServiceEntry,
        Kind::Sidecar,
        Kind::VirtualService,
    ]),
    explains: &["ML07", "ML0906", "ML10"],
    docs: include_str!("workload_scaled_to_zero.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for called in called_service::services_and_subsets(facts, case) {
        out.examined();
        let subset = called.subset_labels(facts, case);
        let workloads = called.workloads(facts.mesh, subset);
        let idle = workloads
            .iter()
            .all(|workload| replicas(workload).is_some());
        if workloads.is_empty() || !idle || !called.pods(facts.mesh, subset).is_empty() {
            continue;
        }
        for workload in workloads {
            let Some(node) = replicas(workload) else {
                continue;
            };
            // What the whole Service lacks is not told again of its subsets.
            if out
                .findings
                .iter()
                .any(|f| f.subject == workload.id && f.hits.contains(&called.service.id))
            {
                continue;
            }
            let of = if called.subset.is_empty() {
                String::new()
            } else {
                format!("subset {} of ", called.subset)
            };
            let message = format!(
                "{} is scaled to zero, so {of}{} has no endpoint",
                workload.id, called.service.id
            );
            let finding = out.find(
                workload.id.clone(),
                message,
                Evidence::of(workload, node, "no replicas"),
            );
            called_service::hit(finding, called.service, &[], case);
            // Nobody may need it just now.
            if case.is_none() {
                finding.severity(Severity::Warning);
            }
            finding.see(Evidence::of(
                called.service,
                selector_or_all(called.service),
                "the Service that selects its pods",
            ));
            finding.fix(Fix::merge(
                &workload.id,
                Value::nested(["spec", "replicas"], 1_u16),
            ));
        }
    }
}

/// `spec.replicas`, when it is zero.
fn replicas(workload: &Object) -> Option<&Node> {
    let node = workload.spec_at(["replicas"])?;
    matches!(&node.value, Value::Number(text) if &**text == "0").then_some(node)
}

fn selector_or_all(service: &Object) -> &Node {
    called_service::selector(service).unwrap_or(&service.node)
}
