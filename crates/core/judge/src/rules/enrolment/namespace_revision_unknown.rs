//! See the page beside this file.

use std::collections::BTreeSet;

use super::outsider::{self, Outsider};
use crate::finding::{Evidence, Finding, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::ObjectRef;
use meshladder_mesh::injection::{INJECTION, Injectors, NamespaceLabels, REVISION};
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0303",
    name: "namespace-revision-unknown",
    aka: &["IST0102", "IST0103"],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "a webhook provides the injection that a namespace asks for",
    needs: Inputs::of(&[Kind::Namespace, Kind::MutatingWebhook]),
    uses: Inputs::of(&[
        Kind::Pod,
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::Service,
        Kind::ConfigMap,
        Kind::AuthorizationPolicy,
        Kind::RequestAuthentication,
    ]),
    explains: &["ML06", "ML08", "ML09", "ML10"],
    docs: include_str!("namespace_revision_unknown.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let injectors = facts.mesh.injectors();
    let outsiders = outsider::all(facts, &injectors, case);
    for namespace in facts.mesh.objects.of_kind(Kind::Namespace) {
        let Some(labels) = injectors.namespace_labels(&namespace.id.name) else {
            continue;
        };
        let inside: Vec<&Outsider<'_>> = outsiders
            .iter()
            .filter(|o| o.pod.namespace == namespace.id.name)
            .collect();
        if case.is_some() && inside.is_empty() {
            continue;
        }
        out.examined();
        if let Some((node, wants)) = unheard(&injectors, labels) {
            tell(facts, case, &injectors, labels, node, &wants, &inside, out);
        }
    }
}

/// The label that asks for injection and that no webhook selects.
fn unheard<'m>(
    injectors: &Injectors<'m>,
    labels: NamespaceLabels<'m>,
) -> Option<(&'m Node, String)> {
    let value = |node: &'m Node| node.str().unwrap_or_default();
    match (labels.injection, labels.revision) {
        (Some(label), _) if value(label) == "enabled" && !selects_enabled(injectors) => {
            Some((label, format!("{INJECTION}=enabled")))
        }
        (None, Some(label)) if !labels.revision_is_provided => {
            Some((label, format!("{REVISION}={}", value(label))))
        }
        _ => None,
    }
}

/// Whether a webhook is for namespaces with `istio-injection=enabled`.
fn selects_enabled(injectors: &Injectors<'_>) -> bool {
    injectors.webhooks.iter().any(|hook| {
        let Some(selector) = hook.node.get("namespaceSelector") else {
            return true;
        };
        let pair = selector.at(["matchLabels", INJECTION]).and_then(Node::str) == Some("enabled");
        let expressions = selector
            .get("matchExpressions")
            .map_or(&[][..], Node::items)
            .iter();
        let mut about = expressions.filter(|e| e.str_at("key") == Some(INJECTION));
        let lists = |e: &Node| match e.str_at("operator") {
            Some("In") => e
                .get("values")
                .map_or(&[][..], Node::items)
                .iter()
                .any(|v| v.str() == Some("enabled")),
            Some("NotIn") => e
                .get("values")
                .map_or(&[][..], Node::items)
                .iter()
                .all(|v| v.str() != Some("enabled")),
            Some("Exists") => true,
            _ => false,
        };
        let has_any = !selector
            .members()
            .iter()
            .all(|m| m.value.items().is_empty() && m.value.members().is_empty());
        pair || about.any(lists) || !has_any
    })
}

#[expect(clippy::too_many_arguments, reason = "all of it is told")]
fn tell(
    facts: &Facts<'_>,
    case: Option<&Case<'_>>,
    injectors: &Injectors<'_>,
    labels: NamespaceLabels<'_>,
    node: &Node,
    wants: &str,
    inside: &[&Outsider<'_>],
    out: &mut Sink,
) {
    let there: Vec<&str> = injectors.revisions().into_iter().collect();
    let there = if there.is_empty() {
        String::new()
    } else {
        format!("; there are {}", there.join(", "))
    };
    let names: BTreeSet<String> = inside.iter().map(|outsider| outsider.name()).collect();
    let names: Vec<String> = names.into_iter().collect();
    let harm = match names.len() {
        0 => "its next pods get no proxy".to_owned(),
        1..=3 => format!("{} has no proxy", names.join(", ")),
        count => format!("{count} workloads have no proxy"),
    };
    let id = &labels.object.id;
    let message =
        format!("{id} asks for injection by {wants}, which no webhook selects{there}, so {harm}");
    let finding = out.find(
        id.clone(),
        message,
        Evidence::of(labels.object, node, "no webhook selects this"),
    );
    if inside.is_empty() {
        finding.severity(Severity::Warning);
    }
    for outsider in inside {
        outsider.finish(facts, case, finding);
    }
    ask_for_injection(finding, injectors, id);
}

/// Offers the labels that a webhook may select, and what is to be done then.
pub(super) fn ask_for_injection(
    finding: &mut Finding,
    injectors: &Injectors<'_>,
    namespace: &ObjectRef,
) {
    let mut choices = vec![Value::object([
        (REVISION, Value::Null),
        (INJECTION, "enabled".into()),
    ])];
    for revision in injectors.revisions() {
        choices.push(Value::object([
            (REVISION, Value::from(revision)),
            (INJECTION, Value::Null),
        ]));
    }
    for labels in choices.into_iter().take(3) {
        let patch = Value::nested(["metadata", "labels"], labels);
        finding.fix(Fix::merge(namespace, patch));
    }
    finding.fix(Fix::advice(
        "then restart the workloads of the namespace: injection happens when a pod is made",
    ));
}
