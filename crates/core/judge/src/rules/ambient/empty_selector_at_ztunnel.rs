//! See the page beside this file.

use super::meets::{is_captured, service};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::ambient::conversion::has_targets;
use meshladder_mesh::policies::selector;
use meshladder_mesh::views::AuthorizationPolicy;

pub(super) static RULE: Rule = Rule {
    code: "ML4028",
    name: "empty-selector-at-ztunnel",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Warning,
    claim: "every policy with a selector selects by labels",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[
        Kind::AuthorizationPolicy,
        Kind::Namespace,
        Kind::ConfigMap,
        Kind::Service,
    ]),
    explains: &[],
    docs: include_str!("empty_selector_at_ztunnel.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let called = case.map(|case| service(facts, case));
    for policy in AuthorizationPolicy::all(&facts.mesh.objects) {
        let Some(node) = policy.object.spec_at(["selector"]) else {
            continue;
        };
        out.examined();
        let is_empty = selector(policy.object.spec()).is_none() && !has_targets(policy.object);
        let is_called = called.is_none_or(|called| {
            called.is_some_and(|called| called.id.namespace == policy.namespace())
        });
        let mut here = facts
            .mesh
            .objects
            .in_namespace(Kind::Pod, policy.namespace());
        if !is_empty || !is_called || !here.any(|pod| is_captured(facts, pod)) {
            continue;
        }
        let message = format!(
            "{} has a selector without labels: ztunnel holds nobody to it, where a sidecar holds everybody",
            policy.object.id
        );
        out.find(
            policy.object.id.clone(),
            message,
            Evidence::of(policy.object, node, "a selector that selects nobody"),
        )
        .fix(Fix::advice(
            "take the selector away: the policy is then for the whole namespace",
        ));
    }
}
