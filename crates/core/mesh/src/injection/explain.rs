//! Why no webhook selects a pod, said of the object that would have to change.

use super::{Candidate, Decision, INJECT, INJECTION, Injectors, PodTemplate, REVISION, Stage};
use crate::Object;
use meshladder_text::tree::Node;

impl<'m> Injectors<'m> {
    pub(super) fn explain(
        &self,
        template: PodTemplate<'m>,
        candidates: &[Candidate<'m>],
    ) -> Decision<'m> {
        let pod = template.object;
        if candidates.is_empty() {
            return Decision::new(pod, None, "there is no injector webhook".to_owned());
        }
        let name = template.namespace();
        let Some(labels) = self.namespace_labels(name) else {
            return nearest(candidates);
        };
        let value = |node: Option<&'m Node>| node.and_then(Node::str).unwrap_or_default();
        let at_object = candidates
            .iter()
            .find(|candidate| candidate.stage == Some(Stage::Object));
        match (labels.injection, labels.revision, at_object) {
            (None, None, _) => self.unlabelled(template, labels.object),
            (_, _, Some(candidate)) => Decision::new(
                pod,
                candidate.pod_label.or(template.labels()),
                candidate.why.clone(),
            ),
            (Some(label), _, None) if value(Some(label)) == "enabled" => {
                let what = format!(
                    "no webhook selects namespaces with {INJECTION}=enabled{}",
                    self.there_are()
                );
                Decision::new(labels.object, Some(label), what)
            }
            (Some(label), _, None) => {
                let what = format!(
                    "namespace {name} has label {INJECTION}={}",
                    value(Some(label))
                );
                Decision::new(labels.object, Some(label), what)
            }
            (None, Some(label), None) if !labels.revision_is_provided => {
                let what = format!(
                    "no webhook selects {REVISION}={}{}",
                    value(Some(label)),
                    self.there_are()
                );
                Decision::new(labels.object, Some(label), what)
            }
            (None, Some(_), None) => nearest(candidates),
        }
    }

    /// The namespace says nothing, so the pod would have to ask, and by a label: webhooks do not
    /// see annotations.
    fn unlabelled(&self, template: PodTemplate<'m>, namespace: &'m Object) -> Decision<'m> {
        let (pod, name) = (template.object, template.namespace());
        let wants = |node: &&Node| node.str() == Some("true");
        if let Some(label) = template.label(REVISION)
            && let Some(revision) = label
                .str()
                .filter(|revision| !self.revisions().contains(revision))
        {
            let what = format!(
                "no webhook selects {REVISION}={revision}{}",
                self.there_are()
            );
            return Decision::new(pod, Some(label), what);
        }
        if let Some(label) = template.label(INJECT).filter(wants) {
            let what = format!(
                "no webhook selects pods with {INJECT}=true in namespaces without a label for it"
            );
            return Decision::new(pod, Some(label), what);
        }
        if let Some(annotation) = template.annotation(INJECT).filter(wants) {
            let what = format!(
                "{INJECT}=true is an annotation, webhooks select by labels, and namespace {name} has none"
            );
            return Decision::new(pod, Some(annotation), what);
        }
        let what = format!("namespace {name} has neither label {INJECTION} nor {REVISION}");
        Decision::new(namespace, namespace.node.at(["metadata", "labels"]), what)
    }

    /// `; there are canary, default`
    fn there_are(&self) -> String {
        let revisions: Vec<_> = self.revisions().into_iter().collect();
        if revisions.is_empty() {
            String::new()
        } else {
            format!("; there are {}", revisions.join(", "))
        }
    }
}

/// The webhook that got furthest.
fn nearest<'m>(candidates: &[Candidate<'m>]) -> Decision<'m> {
    let rank = |candidate: &&Candidate<'m>| match candidate.stage {
        Some(Stage::Rules) => 0,
        Some(Stage::Namespace) => 1,
        _ => 2,
    };
    candidates
        .iter()
        .rev()
        .max_by_key(rank)
        .expect("there is a webhook")
        .decision()
}
