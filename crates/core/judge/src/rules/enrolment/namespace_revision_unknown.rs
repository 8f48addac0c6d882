//! See the page beside this file.

use std::collections::{BTreeMap, BTreeSet};

use super::outsider::{self, Outsider};
use crate::finding::{Evidence, Finding, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Inputs, Need};
use meshladder_mesh::ObjectRef;
use meshladder_mesh::injection::{INJECTION, Injector, Injectors, NamespaceLabels, REVISION};
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

/// A namespace whose label no webhook hears, and its pods without a proxy.
struct LabelWithoutWebhook<'r, 'm> {
    labels: NamespaceLabels<'m>,
    node: &'m Node,
    wants: String,
    inside: Vec<&'r Outsider<'m>>,
}

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let injectors = facts.mesh.injectors();
    let outsiders = outsider::all(facts, &injectors, case);
    let mut of_webhook: BTreeMap<ObjectRef, Vec<LabelWithoutWebhook<'_, '_>>> = BTreeMap::new();
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
        let Some((node, wants)) = unheard(&injectors, labels) else {
            continue;
        };
        let unheard = LabelWithoutWebhook {
            labels,
            node,
            wants,
            inside,
        };
        match missing_webhook(facts, &injectors, labels) {
            Some(config) => of_webhook.entry(config).or_default().push(unheard),
            None => tell(facts, case, &injectors, &unheard, out),
        }
    }
    for (config, unheard) in of_webhook {
        tell_webhook(facts, case, &config, &unheard, out);
    }
}

/// The configuration whose part it is to hear the label: the one of the revision that is asked for,
/// which is `default` for `istio-injection=enabled`. It selects something else, or is gone although
/// that revision's istiod is there.
fn missing_webhook(
    facts: &Facts<'_>,
    injectors: &Injectors<'_>,
    labels: NamespaceLabels<'_>,
) -> Option<ObjectRef> {
    const NAME: &str = "istio-sidecar-injector";
    let revision = match labels.injection {
        Some(_) => "default",
        None => labels.revision?.str()?,
    };
    let is_its = |hook: &&Injector<'_>| {
        hook.tag == Some(revision) || (hook.tag.is_none() && hook.revision == Some(revision))
    };
    if let Some(hook) = injectors.webhooks.iter().find(is_its) {
        return Some(hook.config.id.clone());
    }
    let has_istiod = || {
        let mut istiods = facts.mesh.istiods(None).into_iter();
        istiods.any(|istiod| istiod.label(REVISION).unwrap_or("default") == revision)
    };
    let name = match revision {
        "default" => NAME.to_owned(),
        revision => format!("{NAME}-{revision}"),
    };
    has_istiod().then(|| ObjectRef::of(Kind::MutatingWebhook, "", &name))
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

fn tell(
    facts: &Facts<'_>,
    case: Option<&Case<'_>>,
    injectors: &Injectors<'_>,
    unheard: &LabelWithoutWebhook<'_, '_>,
    out: &mut Sink,
) {
    let there: Vec<&str> = injectors.revisions().into_iter().collect();
    let there = if there.is_empty() {
        String::new()
    } else {
        format!("; there are {}", there.join(", "))
    };
    let id = &unheard.labels.object.id;
    let message = format!(
        "{id} asks for injection by {}, which no webhook selects{there}, so {}",
        unheard.wants,
        harm(&unheard.inside)
    );
    let proof = Evidence::of(
        unheard.labels.object,
        unheard.node,
        "no webhook selects this",
    );
    let finding = out.find(id.clone(), message, proof);
    if unheard.inside.is_empty() {
        finding.severity(Severity::Warning);
    }
    for outsider in &unheard.inside {
        outsider.finish(facts, case, finding);
    }
    ask_for_injection(finding, injectors, id);
}

/// What comes of it that nobody hears a label.
fn harm(inside: &[&Outsider<'_>]) -> String {
    let names: BTreeSet<String> = inside.iter().map(|outsider| outsider.name()).collect();
    let names: Vec<String> = names.into_iter().collect();
    match names.len() {
        0 => "its next pods get no proxy".to_owned(),
        1..=3 => format!("{} has no proxy", names.join(", ")),
        count => format!("{count} workloads have no proxy"),
    }
}

/// The namespaces ask as they should, and the webhook is at fault.
fn tell_webhook(
    facts: &Facts<'_>,
    case: Option<&Case<'_>>,
    config: &ObjectRef,
    unheard: &[LabelWithoutWebhook<'_, '_>],
    out: &mut Sink,
) {
    let inside: Vec<&Outsider<'_>> = unheard
        .iter()
        .flat_map(|one| one.inside.iter().copied())
        .collect();
    let stored = facts.mesh.objects.find(config);
    let names: Vec<String> = unheard
        .iter()
        .map(|one| one.labels.object.id.to_string())
        .collect();
    let asks = match &names[..] {
        [one] => format!("{one} asks"),
        [first @ .., last] => format!("{} and {last} ask", first.join(", ")),
        [] => return,
    };
    let wants = &unheard[0].wants;
    let (fault, proof) = if let Some(stored) = stored {
        let hooks = stored.node.get("webhooks").unwrap_or(&stored.node);
        let proof = Evidence::of(stored, hooks, "none of them selects that label");
        (format!("{config} no longer selects {wants}"), proof)
    } else {
        let doc = DocId::new(Need::Objects(Kind::MutatingWebhook).path());
        let proof = Evidence::document(&doc, "it is not among them");
        (format!("there is no {config}"), proof)
    };
    let message = format!(
        "{fault}, by which {asks} for injection, so {}",
        harm(&inside)
    );
    let finding = out.find(config.clone(), message, proof);
    if inside.is_empty() {
        finding.severity(Severity::Warning);
    }
    for one in unheard {
        finding.see(Evidence::of(one.labels.object, one.node, "what it asks by"));
    }
    for outsider in inside {
        outsider.finish(facts, case, finding);
    }
    finding.fix(Fix::advice(
        "install the control plane's webhooks again (`istioctl install`, or `helm upgrade` of the istiod chart), then restart the \
         workloads: injection happens when a pod is made",
    ));
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
