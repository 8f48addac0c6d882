//! What several of Istio's kinds are made of: selectors, references to targets, exports.

use super::describe::FieldType::{Map, Of, Text as TextOf};
use super::describe::{FieldType, MessageSchema, STRING, checked, list, may, must};
use super::fault::{Flaw, shown};
use super::fields::{has, items, set, text};
use super::names::is_label;
use super::text::TextRule;
use super::walk::SchemaWalk;
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

/// `istio.type.v1beta1.WorkloadSelector`
pub(super) static WORKLOAD_SELECTOR: MessageSchema = checked(
    "WorkloadSelector",
    &[may("matchLabels", Map(TextRule::Free, &STRING))],
    |node, walk| {
        labels_selected(node, "matchLabels", walk);
    },
);

/// `istio.networking.v1alpha3.WorkloadSelector`
pub(super) static LABEL_SELECTOR: MessageSchema = checked(
    "WorkloadSelector",
    &[may("labels", Map(TextRule::Free, &STRING))],
    |node, walk| {
        labels_selected(node, "labels", walk);
    },
);

/// `istio.type.v1beta1.PolicyTargetReference`
pub(super) static TARGET_REF: MessageSchema = checked(
    "PolicyTargetReference",
    &[
        may("group", STRING),
        must("kind", TextOf(TextRule::Filled)),
        must("name", TextOf(TextRule::Filled)),
        may("namespace", STRING),
    ],
    target,
);

pub(super) const TARGET_REFS: FieldType = FieldType::List(&Of(&TARGET_REF), 0, 16);
pub(super) const SELECTOR: FieldType = Of(&WORKLOAD_SELECTOR);
pub(super) const EXPORT_TO: FieldType = list(&STRING);

/// "wildcard is not supported in selector", "workload selector specified without labels"
fn labels_selected<'n>(node: &'n Node, field: &str, walk: &mut SchemaWalk<'n>) {
    let members = node.get(field).map_or(&[][..], Node::members);
    if members.is_empty() {
        walk.fault(
            Flaw::Wider,
            node,
            "names no label, so it selects every workload",
        );
    }
    for member in members {
        if member.key.is_empty() {
            walk.fault(Flaw::InvalidValue, &member.value, "has no name");
        } else if member.key.contains('*')
            || member.value.str().is_some_and(|value| value.contains('*'))
        {
            walk.fault(
                Flaw::InvalidValue,
                &member.value,
                "has a wildcard, and selectors have none",
            );
        }
    }
}

/// "targetRef namespace must not be set", "targetRef must be to one of …"
fn target<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    if let Some(namespace) = set(node, "namespace").filter(|namespace| namespace.str() != Some(""))
    {
        walk.fault(
            Flaw::Misfit,
            namespace,
            "is set, and a target is always in the same namespace",
        );
    }
    let (group, kind) = (text(node, "group"), text(node, "kind"));
    let is_known = matches!(
        (group, kind),
        ("" | "core", "Service")
            | ("networking.istio.io", "ServiceEntry")
            | ("gateway.networking.k8s.io", "Gateway" | "GatewayClass")
            | ("inference.networking.k8s.io", "InferencePool")
    );
    if let Some(node) = node.get("kind").filter(|_| !is_known && !kind.is_empty()) {
        let group = if group.is_empty() {
            "the core group".to_owned()
        } else {
            format!("group {group}")
        };
        let what = format!(
            "is {} of {group}, which is no target of policies",
            shown(node)
        );
        walk.fault(Flaw::InvalidValue, node, what);
    }
}

/// "only one of targetRefs or workloadSelector can be set"
pub(super) fn one_selection<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    super::fields::at_most_one(node, &["selector", "targetRef", "targetRefs"], walk);
}

/// Whether `.`, `*`, `~` and names go together in `exportTo`.
pub(super) fn export_to<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    let entries = items(spec, "exportTo");
    let is_entry = walk.object.id.is(Kind::ServiceEntry);
    let own = walk.object.id.namespace.as_str();
    let name = |node: &'n Node| node.str().map(|text| if text == "." { own } else { text });
    for (at, entry) in entries.iter().enumerate() {
        let Some(said) = entry.str() else { continue };
        let is_alone = matches!(said, "*" | "~") && entries.len() > 1;
        if !matches!(said, "." | "*" | "~") && !is_label(said) || said == "~" && !is_entry {
            walk.value_fault(
                Flaw::InvalidValue,
                entry,
                "not `.`, `*` or the name of a namespace",
            );
        } else if entries[..at]
            .iter()
            .any(|before| name(before) == name(entry))
        {
            walk.fault(Flaw::Duplicate, entry, format!("repeats {}", shown(entry)));
        } else if is_alone {
            walk.value_fault(
                Flaw::ExclusiveFields,
                entry,
                "which stands alone or not at all",
            );
        }
    }
    if has(spec, "workloadSelector") && walk.object.id.is(Kind::DestinationRule) {
        for entry in entries
            .iter()
            .filter(|entry| name(entry).is_some_and(|name| name != own))
        {
            walk.fault(
                Flaw::Misfit,
                entry,
                "reaches beyond the namespace, and a workloadSelector does not",
            );
        }
    }
}
