//! As the objects alone show it.

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tree::{Node, Value};

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Warning,
    needs: Inputs::of(&[Kind::Pod, Kind::Deployment]),
    uses: Inputs::NONE,
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    let pods = facts
        .mesh
        .objects
        .of_kind(Kind::Pod)
        .iter()
        .map(|pod| (pod, pod.spec()));
    let deployments = facts.mesh.objects.of_kind(Kind::Deployment).iter();
    let templates =
        deployments.map(|deployment| (deployment, deployment.spec_at(["template", "spec"])));
    for (object, spec) in pods.chain(templates) {
        let is_own = object.label("istio").is_some() || object.label("release") == Some("istio");
        let Some(spec) = spec.filter(|_| !is_own) else {
            continue;
        };
        out.examined();
        if let Some(user) = user_1337(spec) {
            let message = format!(
                "{} has an application that runs as user 1337, which is the proxy's",
                object.id
            );
            out.find(
                object.id.clone(),
                message,
                Evidence::of(object, user, "the user"),
            )
            .fix(Fix::advice("let the application run as another user"));
        }
    }
}

fn user_1337(spec: &Node) -> Option<&Node> {
    let list = |key: &str| spec.get(key).map_or(&[][..], Node::items).iter();
    let is_app = |container: &&Node| {
        !["istio-proxy", "istio-operator"].contains(&container.str_at("name").unwrap_or_default())
    };
    let containers = list("containers")
        .chain(list("initContainers"))
        .filter(is_app);
    let users = std::iter::once(spec)
        .chain(containers)
        .filter_map(|part| part.at(["securityContext", "runAsUser"]));
    users
        .into_iter()
        .find(|user| user.value == Value::Number("1337".into()))
}
