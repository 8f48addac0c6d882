//! See the page beside this file.

use super::effect::{self, serving, sidecar};
use super::http_route::{RouteCall, Taken};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::traffic::Delegate;
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML0623",
    name: "delegate-not-used",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Error,
    claim: "every VirtualService that routes are left to exists and can be used",
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: effect::USES,
    explains: &["ML0613"],
    docs: include_str!("delegate_not_used.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let mesh = facts.mesh;
    let Some(case) = case else {
        for root in mesh.objects.of_kind(Kind::VirtualService) {
            for delegate in mesh.delegates(root) {
                out.examined();
                find(root, &delegate, out);
            }
        }
        return;
    };
    let client = sidecar(mesh, case);
    for root in serving(mesh, case, client) {
        let Taken::Route(_, route) = RouteCall::of(case, client).takes(root) else {
            continue;
        };
        let met = |delegate: &Delegate<'_>| {
            route
                .get("delegate")
                .is_some_and(|node| std::ptr::eq(node, delegate.node))
        };
        for delegate in mesh.delegates(root).into_iter().filter(met) {
            out.examined();
            find(root, &delegate, out);
        }
    }
}

fn find(root: &Object, delegate: &Delegate<'_>, out: &mut Sink) {
    if delegate.is_usable {
        return;
    }
    let (namespace, name) = delegate.name;
    let (subject, why) = match delegate.target {
        None => (root, "is not there".to_owned()),
        Some(target) if !target.spec_list("hosts").is_empty() => (
            target,
            "has hosts of its own, which a delegate must not".to_owned(),
        ),
        Some(target) => (
            target,
            format!("is not exported to namespace {}", root.id.namespace),
        ),
    };
    let message = format!(
        "{} leaves a route to VirtualService {namespace}/{name}, which {why}: what it matches is not routed",
        root.id
    );
    let finding = out.find(
        subject.id.clone(),
        message,
        Evidence::of(root, delegate.node, "the route is left to it"),
    );
    finding.hits(root.id.clone());
    if let Some(target) = delegate.target {
        let key = if target.spec_list("hosts").is_empty() {
            "exportTo"
        } else {
            "hosts"
        };
        if let Some(node) = target.spec_at([key]) {
            finding.see(Evidence::of(target, node, "what keeps it from being used"));
        }
        finding.fix(Fix::merge(
            &target.id,
            Value::nested(["spec", key], Value::Null),
        ));
    }
    finding.fix(Fix::advice(format!(
        "create VirtualService {namespace}/{name} without hosts, or give the route a destination"
    )));
}
