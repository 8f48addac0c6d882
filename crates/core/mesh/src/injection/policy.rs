//! istiod's own decision about a pod that the API server asks it about.

use super::{Decision, INJECT, Injector, PodTemplate, REVISION};
use crate::Object;
use crate::selector;
use meshladder_text::tree::{Node, Value};
use meshladder_text::yaml;

/// Namespaces in which istiod never injects.
const IGNORED: [&str; 4] = [
    "kube-system",
    "kube-public",
    "kube-node-lease",
    "local-path-storage",
];

/// What the ConfigMap `istio-sidecar-injector` of a revision says.
#[derive(Debug)]
pub(super) struct Policy<'m> {
    object: &'m Object,
    node: &'m Node,
    enabled: bool,
    never: Vec<Node>,
    always: Vec<Node>,
}

/// What keeps a proxy out of a pod whatever webhooks and policies say.
pub(super) fn refusal(template: PodTemplate<'_>) -> Option<Decision<'_>> {
    let object = template.object;
    let namespace = template.namespace();
    if let Some(node) = template.host_network() {
        return Some(Decision::new(
            object,
            Some(node),
            format!("{} is on the host network", object.id),
        ));
    }
    if IGNORED.contains(&namespace) {
        let node = object.node.at(["metadata", "namespace"]);
        return Some(Decision::new(
            object,
            node,
            format!("istiod leaves namespace {namespace} alone"),
        ));
    }
    choice(template)
        .filter(|(wants, _)| !wants)
        .map(|(_, decision)| decision)
}

/// What the pod asks for itself. Values other than `true` and `false` ask for nothing.
pub(super) fn choice(template: PodTemplate<'_>) -> Option<(bool, Decision<'_>)> {
    let (kind, node) = template.inject()?;
    let value = node.str()?;
    let what = format!("{} has {kind} {INJECT}={value}", template.object.id);
    let decision = Decision::new(template.object, Some(node), what);
    match value {
        "true" => Some((true, decision)),
        "false" => Some((false, decision)),
        _ => None,
    }
}

impl<'m> Policy<'m> {
    pub(super) fn of(object: &'m Object) -> Option<Self> {
        let node = object
            .node
            .at(["data", "config"])
            .filter(|_| object.id.name.starts_with(NAME))?;
        let config = yaml::load(node.str()?).documents.into_iter().next()?;
        let list = |key: &str| config.get(key).map_or(&[][..], Node::items).to_vec();
        // istiod injects by default; any other word than `enabled` turns that off.
        let enabled = config
            .get("policy")
            .is_none_or(|policy| policy.str() == Some("enabled"));
        Some(Self {
            object,
            node,
            enabled,
            never: list("neverInjectSelector"),
            always: list("alwaysInjectSelector"),
        })
    }

    /// Whether it is the configuration of the istiod behind a webhook.
    pub(super) fn is_of(&self, injector: Injector<'_>) -> bool {
        let revision = injector.revision.unwrap_or("default");
        let service = injector
            .node
            .at(["clientConfig", "service", "namespace"])
            .and_then(Node::str);
        let by_name = match self.object.id.name.strip_prefix(NAME) {
            Some("") => revision == "default",
            Some(suffix) => suffix.strip_prefix('-') == Some(revision),
            None => false,
        };
        let by_label = self.object.label(REVISION).map(|label| label == revision);
        service.is_none_or(|namespace| namespace == self.object.id.namespace)
            && by_label.unwrap_or(by_name)
    }

    /// What it says of a pod that asks for nothing; none when it leaves the default, which is to
    /// inject.
    pub(super) fn decide(&self, template: PodTemplate<'m>) -> Option<(bool, Decision<'m>)> {
        let decision = |what: String| Decision {
            what,
            object: self.object,
            node: self.node,
        };
        let accepts = |selectors: &[Node]| {
            selectors.iter().any(|selector| {
                !is_empty(selector) && selector::accepts(selector, template.labels())
            })
        };
        let by = |field: &str| {
            decision(format!(
                "{field} of {} selects {}",
                self.object.id, template.object.id
            ))
        };
        if accepts(&self.never) {
            Some((false, by("neverInjectSelector")))
        } else if accepts(&self.always) {
            Some((true, by("alwaysInjectSelector")))
        } else {
            let what = || format!("policy of {} is not enabled", self.object.id);
            (!self.enabled).then(|| (false, decision(what())))
        }
    }
}

const NAME: &str = "istio-sidecar-injector";

/// istiod skips empty selectors, which elsewhere accept everything.
fn is_empty(selector: &Node) -> bool {
    let holds_nothing = |node: &Node| match &node.value {
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    };
    selector
        .members()
        .iter()
        .all(|member| holds_nothing(&member.value))
}
