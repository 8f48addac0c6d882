//! Injection: whether a pod gets a proxy when it is created, and the one label, selector or field
//! that decides it.
//!
//! Two decide, one after the other: the API server by the selectors of the injector webhooks, then
//! istiod by the pod.

use std::collections::BTreeSet;

use super::{Mesh, Object};
use meshladder_capture::Kind;
use meshladder_text::tree::Node;
use meshladder_text::tri::Tri;

mod explain;
mod policy;
mod served;
mod webhook;

use crate::views::PodTemplate;
use policy::Policy;
pub use served::{Ca, WebhookBackend};
pub use webhook::{Candidate, Injector, Stage};

/// The label that turns injection on or off for a namespace.
pub const INJECTION: &str = "istio-injection";
/// The label that names a revision or a tag.
pub const REVISION: &str = "istio.io/rev";
/// The label, or the annotation, by which a pod asks for a proxy or declines it.
pub const INJECT: &str = "sidecar.istio.io/inject";

/// Every injector webhook with what its istiod was told.
#[derive(Debug)]
pub struct Injectors<'m> {
    mesh: &'m Mesh,
    /// The webhooks, by the name of their configuration and then as they stand in it.
    pub webhooks: Vec<Injector<'m>>,
    policies: Vec<Policy<'m>>,
}

/// Whether a pod gets a proxy.
#[derive(Clone, Debug)]
pub struct Injection<'m> {
    /// Whether it does, as far as objects tell. That the webhook also answers is
    /// [`Injectors::served`].
    pub expected: Tri,
    /// What decided.
    pub decided_by: Decision<'m>,
    /// The revision of the webhook that selects the pod.
    pub revision: Option<&'m str>,
    /// Every webhook, and why it does not select the pod. More than one that does is a fault of its
    /// own.
    pub candidates: Vec<Candidate<'m>>,
}

/// What decided, with its place.
#[derive(Clone, Debug)]
pub struct Decision<'m> {
    /// In words: `namespace shop has label istio-injection=disabled`
    pub what: String,
    /// The object in which it stands.
    pub object: &'m Object,
    /// The part of it.
    pub node: &'m Node,
}

/// What a namespace's labels say of injection.
#[derive(Clone, Copy, Debug)]
pub struct NamespaceLabels<'m> {
    /// The Namespace.
    pub object: &'m Object,
    /// `istio-injection`
    pub injection: Option<&'m Node>,
    /// `istio.io/rev`
    pub revision: Option<&'m Node>,
    /// Whether a webhook selects that revision or tag; false when none is named.
    pub revision_is_provided: bool,
}

impl NamespaceLabels<'_> {
    /// Whether one of them asks for a proxy, be there a webhook that hears it or not.
    pub fn asks(&self) -> bool {
        self.revision.is_some()
            || self
                .injection
                .is_some_and(|label| label.str() == Some("enabled"))
    }

    /// Whether both labels are there: `istio-injection` then decides alone, and the revision is not
    /// heeded.
    pub fn both(&self) -> bool {
        self.injection.is_some() && self.revision.is_some()
    }
}

impl Mesh {
    /// Every injector webhook. Made once and asked for each pod.
    pub fn injectors(&self) -> Injectors<'_> {
        let policies = self
            .objects
            .of_kind(Kind::ConfigMap)
            .iter()
            .filter_map(Policy::of)
            .collect();
        Injectors {
            mesh: self,
            webhooks: webhook::all(self),
            policies,
        }
    }
}

impl<'m> Injectors<'m> {
    /// Whether a pod made from this template gets a proxy.
    pub fn injection(&self, template: PodTemplate<'m>) -> Injection<'m> {
        let candidates: Vec<_> = self
            .webhooks
            .iter()
            .map(|hook| hook.candidate(self.mesh, template))
            .collect();
        let selecting = candidates
            .iter()
            .find(|candidate| candidate.selects == Tri::Yes);
        let revision = selecting.and_then(|candidate| candidate.injector.revision);
        let unknown = candidates
            .iter()
            .find(|candidate| matches!(candidate.selects, Tri::Unknown(_)));
        let (expected, decided_by) = if let Some(refusal) = policy::refusal(template) {
            (Tri::No, refusal)
        } else if let Some(candidate) = selecting {
            self.asked(template, candidate.injector)
        } else if let Some(candidate) = unknown {
            (candidate.selects.clone(), candidate.decision())
        } else {
            (Tri::No, self.explain(template, &candidates))
        };
        Injection {
            expected,
            decided_by,
            revision,
            candidates,
        }
    }

    /// What istiod answers once the API server asks it.
    fn asked(&self, template: PodTemplate<'m>, injector: Injector<'m>) -> (Tri, Decision<'m>) {
        let by_pod = policy::choice(template).filter(|(wants, _)| *wants);
        if let Some((_, decision)) = by_pod {
            return (Tri::Yes, decision);
        }
        let policy = self.policies.iter().find(|policy| policy.is_of(injector));
        if let Some((injects, decision)) = policy.and_then(|policy| policy.decide(template)) {
            return (injects.into(), decision);
        }
        let what = format!(
            "webhook {} of {} selects it",
            injector.name, injector.config.id
        );
        (
            Tri::Yes,
            Decision {
                what,
                object: injector.config,
                node: injector.node,
            },
        )
    }

    /// The revisions and tags that some webhook selects.
    pub fn revisions(&self) -> BTreeSet<&'m str> {
        self.webhooks
            .iter()
            .flat_map(|hook| hook.selected_revisions())
            .collect()
    }

    /// What the labels of a namespace say; none when its object is not here.
    pub fn namespace_labels(&self, namespace: &str) -> Option<NamespaceLabels<'m>> {
        let object = self.mesh.objects.get(Kind::Namespace, "", namespace)?;
        let label = |key| object.node.at(["metadata", "labels", key]);
        let revision = label(REVISION);
        let named = revision.and_then(Node::str);
        let revision_is_provided =
            named.is_some_and(|revision| self.revisions().contains(revision));
        Some(NamespaceLabels {
            object,
            injection: label(INJECTION),
            revision,
            revision_is_provided,
        })
    }

    /// Whether anything answers a webhook's calls.
    pub fn served(&self, injector: Injector<'m>) -> WebhookBackend<'m> {
        served::of(self.mesh, injector)
    }
}

impl<'m> Decision<'m> {
    fn new(object: &'m Object, node: Option<&'m Node>, what: String) -> Self {
        Self {
            what,
            object,
            node: node.unwrap_or(&object.node),
        }
    }
}

#[cfg(test)]
mod tests;
