//! See the page beside this file.

use std::collections::BTreeSet;

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::workloads::{self, Selectors};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::views::{Container, PodTemplate};

pub(super) static RULE: Rule = Rule {
    code: "ML3801",
    name: "workload-without-policy",
    aka: &["KIA1301"],
    rung: Rung::Config,
    severity: Severity::Info,
    claim: "in a namespace that uses AuthorizationPolicies, every workload is covered by one",
    needs: Inputs::of(&[Kind::AuthorizationPolicy, Kind::Namespace]),
    uses: workloads::INPUTS,
    explains: &[],
    docs: include_str!("workload_without_policy.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let (mesh, root) = (facts.mesh, &*facts.mesh.config.root_namespace);
    let policies = mesh.objects.of_kind(Kind::AuthorizationPolicy);
    let selectors = Selectors::of(policies.iter());
    let is_covered = |namespace: &str| selectors.unlabelled(namespace).is_some();
    if is_covered(root) {
        return;
    }
    let using: BTreeSet<&str> = policies
        .iter()
        .map(|policy| policy.id.namespace.as_str())
        .collect();
    let is_near =
        |one: &PodTemplate<'_>| using.contains(one.namespace()) && !is_covered(one.namespace());
    for template in workloads::templates(mesh).filter(|one| is_near(one) && is_own(*one)) {
        out.examined();
        let (namespace, labels) = (template.namespace(), template.labels());
        let is_selected = [namespace, root]
            .iter()
            .any(|near| !selectors.selecting(near, labels).is_empty());
        if is_selected || !template.is_in_mesh(mesh) {
            continue;
        }
        let id = &template.object.id;
        let message = format!("no AuthorizationPolicy is for {id}, so everybody may call it");
        out.find(
            id.clone(),
            message,
            Evidence::object(template.object, "the workload"),
        )
        .fix(Fix::advice(
            "add an AuthorizationPolicy for it, or one for its whole namespace",
        ));
    }
}

/// What is written, not made by something else; gateways are there to be called.
fn is_own(template: PodTemplate<'_>) -> bool {
    let is_made = template
        .object
        .node
        .at(["metadata", "ownerReferences"])
        .is_some_and(|owners| !owners.items().is_empty());
    let mut args = template.containers().flat_map(Container::args);
    let is_gateway = args.any(|arg| *arg == "router")
        || template.annotation("inject.istio.io/templates").is_some();
    !is_made && !is_gateway
}
