//! Injector webhooks, and which pods the API server asks them about.

use super::{Decision, PodTemplate, REVISION};
use crate::namespaces::NamespaceMatch;
use crate::selector;
use crate::views::MutatingWebhook;
use crate::views::webhook::Webhook;
use crate::{Mesh, Object, present};
use meshladder_text::tree::Node;
use meshladder_text::tri::Tri;

/// One webhook of a MutatingWebhookConfiguration that injects proxies.
#[derive(Clone, Copy, Debug)]
pub struct Injector<'m> {
    /// The configuration.
    pub config: &'m Object,
    /// The webhook in it.
    pub node: &'m Node,
    /// Its name.
    pub name: &'m str,
    /// The revision of the istiod behind it.
    pub revision: Option<&'m str>,
    /// The tag it was made for.
    pub tag: Option<&'m str>,
}

/// A webhook and whether the API server asks it about a pod.
#[derive(Clone, Debug)]
pub struct Candidate<'m> {
    /// The webhook.
    pub injector: Injector<'m>,
    /// Whether it is asked.
    pub selects: Tri,
    /// Which part of it declined, or could not be evaluated.
    pub stage: Option<Stage>,
    /// Why it is not asked, in words; empty when it is.
    pub why: String,
    /// The part of the webhook that declined; the webhook when it is asked.
    pub node: &'m Node,
    /// The pod's label that made the objectSelector decline.
    pub pod_label: Option<&'m Node>,
}

/// The parts of a webhook that decide, in the order they are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// `rules`
    Rules,
    /// `namespaceSelector`
    Namespace,
    /// `objectSelector`
    Object,
    /// `matchConditions`
    Conditions,
}

/// Every injector webhook.
pub(super) fn all(mesh: &Mesh) -> Vec<Injector<'_>> {
    let mut injectors = Vec::new();
    for config in MutatingWebhook::all(&mesh.objects) {
        for hook in config.webhooks().filter(|hook| is_injector(hook.node)) {
            injectors.push(Injector {
                config: config.object,
                node: hook.node,
                name: hook.name(),
                revision: config.object.label(REVISION),
                tag: config.object.label("istio.io/tag"),
            });
        }
    }
    injectors
}

/// Other meshes have injectors too; `/inject` is the path istiod serves, and `istio.io` ends the
/// names Istio gives.
fn is_injector(hook: &Node) -> bool {
    let path = hook
        .at(["clientConfig", "service", "path"])
        .and_then(Node::str)
        .unwrap_or_default();
    let url = hook
        .at(["clientConfig", "url"])
        .and_then(Node::str)
        .unwrap_or_default();
    let url_path = url.splitn(4, '/').nth(3).unwrap_or_default();
    let serves = |path: &str| path == "inject" || path.starts_with("inject/");
    let name = hook.str_at("name").unwrap_or_default();
    serves(path.trim_start_matches('/'))
        || serves(url_path)
        || (name.contains("sidecar-injector") && name.ends_with(".istio.io"))
}

impl<'m> Injector<'m> {
    /// Whether a pod is refused when the webhook does not answer. "Defaults to Fail."
    pub fn fails_closed(self) -> bool {
        Webhook::of(self.node).fails_closed()
    }

    /// The revisions and tags that its selectors ask for.
    pub fn selected_revisions(self) -> impl Iterator<Item = &'m str> {
        let selectors = ["namespaceSelector", "objectSelector"]
            .into_iter()
            .filter_map(move |key| self.node.get(key));
        selectors.flat_map(|selector| {
            let pair = selector.at(["matchLabels", REVISION]).into_iter();
            let expressions = selector
                .get("matchExpressions")
                .map_or(&[][..], Node::items)
                .iter();
            let listing = expressions
                .filter(|e| e.str_at("key") == Some(REVISION) && e.str_at("operator") == Some("In"))
                .flat_map(|e| e.get("values").map_or(&[][..], Node::items));
            pair.chain(listing).filter_map(Node::str)
        })
    }

    pub(super) fn candidate(self, mesh: &'m Mesh, template: PodTemplate<'m>) -> Candidate<'m> {
        let declines = self
            .rules()
            .or_else(|| self.namespace(mesh, template))
            .or_else(|| self.object(template));
        declines
            .or_else(|| self.conditions())
            .unwrap_or_else(|| Candidate {
                injector: self,
                selects: Tri::Yes,
                stage: None,
                why: String::new(),
                node: self.node,
                pod_label: None,
            })
    }

    fn declines(self, stage: Stage, node: &'m Node, why: String) -> Candidate<'m> {
        Candidate {
            injector: self,
            selects: Tri::No,
            stage: Some(stage),
            why,
            node,
            pod_label: None,
        }
    }

    fn cannot_tell(self, stage: Stage, node: &'m Node, fact: String) -> Candidate<'m> {
        let selects = Tri::unknown(fact.as_str());
        Candidate {
            injector: self,
            selects,
            stage: Some(stage),
            why: fact,
            node,
            pod_label: None,
        }
    }

    fn rules(self) -> Option<Candidate<'m>> {
        let rules = self.node.get("rules").unwrap_or(self.node);
        let what = || "its rules do not name the creation of pods".to_owned();
        (!rules.items().iter().any(creates_pods))
            .then(|| self.declines(Stage::Rules, rules, what()))
    }

    /// "Default to the empty LabelSelector, which matches everything."
    fn namespace(self, mesh: &'m Mesh, template: PodTemplate<'m>) -> Option<Candidate<'m>> {
        let selector = present(self.node, "namespaceSelector")?;
        let name = template.namespace();
        let (node, why) = match mesh.selects_namespace(selector, name) {
            NamespaceMatch::Yes => return None,
            NamespaceMatch::Unknown => {
                let fact = format!("the labels of namespace {name}");
                return Some(self.cannot_tell(Stage::Namespace, selector, fact));
            }
            NamespaceMatch::No(unmet) => (unmet.node, format!("namespace {name} {unmet}")),
            NamespaceMatch::NotByName(node) => (node, format!("the namespace is {name}")),
        };
        Some(self.declines(Stage::Namespace, node, why))
    }

    fn object(self, template: PodTemplate<'m>) -> Option<Candidate<'m>> {
        let unmet = selector::unmet(present(self.node, "objectSelector")?, template.labels())?;
        let declines = self.declines(
            Stage::Object,
            unmet.node,
            format!("{} {unmet}", template.object.id),
        );
        Some(Candidate {
            pod_label: template.label(unmet.key),
            ..declines
        })
    }

    /// They are CEL, and ask for more than objects hold.
    fn conditions(self) -> Option<Candidate<'m>> {
        let conditions = self
            .node
            .get("matchConditions")
            .filter(|conditions| !conditions.items().is_empty())?;
        let fact = format!("what the matchConditions of webhook {} give", self.name);
        Some(self.cannot_tell(Stage::Conditions, conditions, fact))
    }
}

impl<'m> Candidate<'m> {
    pub(super) fn decision(&self) -> Decision<'m> {
        Decision {
            what: self.why.clone(),
            object: self.injector.config,
            node: self.node,
        }
    }
}

fn creates_pods(rule: &Node) -> bool {
    let lists = |key: &str, wanted: &[&str]| {
        let mut values = rule
            .get(key)
            .map_or(&[][..], Node::items)
            .iter()
            .filter_map(Node::str);
        values.any(|value| wanted.contains(&value))
    };
    lists("operations", &["CREATE", "*"])
        && lists("apiGroups", &["", "*"])
        && lists("apiVersions", &["v1", "*"])
        && lists("resources", &["pods", "*", "*/*"])
        && rule.str_at("scope") != Some("Cluster")
}
