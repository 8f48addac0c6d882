//! See the page beside this file.

use super::image::automatic;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::analyzed::list;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::selector::accepts;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML2807",
    name: "automatic-image-not-injected",
    aka: &["IST0146"],
    rung: Rung::Enrolment,
    severity: Severity::Warning,
    claim: "a Deployment that leaves the proxy's image to the injector is injected",
    needs: Inputs::of(&[Kind::Deployment, Kind::MutatingWebhook]),
    uses: Inputs::of(&[Kind::Namespace]),
    explains: &[],
    docs: include_str!("automatic_image_not_injected.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let configs = facts.mesh.objects.of_kind(Kind::MutatingWebhook);
    let hooks = configs
        .iter()
        .flat_map(|config| list(&config.node, "webhooks"));
    let hooks: Vec<&Node> = hooks
        .filter(|hook| {
            hook.str_at("name")
                .is_some_and(|name| name.ends_with("istio.io"))
        })
        .collect();
    // Files that hold no webhook say nothing about who injects.
    if hooks.is_empty() {
        return;
    }
    for deployment in facts.mesh.objects.of_kind(Kind::Deployment) {
        let Some(image) = deployment.spec_at(["template", "spec"]).and_then(automatic) else {
            continue;
        };
        out.examined();
        let labels = deployment.spec_at(["template", "metadata", "labels"]);
        let namespace = facts
            .mesh
            .objects
            .get(Kind::Namespace, "", &deployment.id.namespace)
            .and_then(Object::labels);
        let asks = |hook: &&Node| {
            takes(hook, "namespaceSelector", namespace) && takes(hook, "objectSelector", labels)
        };
        if !hooks.iter().any(asks) {
            let message = format!(
                "{} leaves the proxy's image to the injector, and no injector webhook selects its pods",
                deployment.id
            );
            out.find(
                deployment.id.clone(),
                message,
                Evidence::of(deployment, image, "the image"),
            )
            .fix(Fix::advice(
                "label the pods sidecar.istio.io/inject: \"true\", or the namespace",
            ));
        }
    }
}

/// "Default to the empty LabelSelector, which matches everything."
fn takes(hook: &Node, key: &str, labels: Option<&Node>) -> bool {
    hook.get(key)
        .filter(|selector| selector.value != Value::Null)
        .is_none_or(|selector| accepts(selector, labels))
}
