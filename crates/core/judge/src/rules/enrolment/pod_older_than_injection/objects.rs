//! As the objects alone show it.

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::views::Pod;
use meshladder_text::tree::Value;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Warning,
    needs: Inputs::of(&[Kind::Pod, Kind::Namespace]),
    uses: Inputs::NONE,
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    let injected = |namespace: &&Object| namespace.label("istio-injection") == Some("enabled");
    for namespace in facts
        .mesh
        .objects
        .of_kind(Kind::Namespace)
        .iter()
        .filter(injected)
    {
        for pod in facts
            .mesh
            .objects
            .in_namespace(Kind::Pod, &namespace.id.name)
        {
            out.examined();
            if !is_left_out(pod) && !Pod::of(pod).has_proxy() {
                let message = format!("{} has no proxy, though its namespace asks for one", pod.id);
                out.find(
                    pod.id.clone(),
                    message,
                    Evidence::object(pod, "no container istio-proxy"),
                )
                .fix(Fix::advice(
                    "make the pod anew: a proxy is added when a pod is created",
                ));
            }
        }
    }
}

/// "the label takes precedence over the annotation"
fn is_left_out(pod: &Object) -> bool {
    let inject = pod
        .label("sidecar.istio.io/inject")
        .or_else(|| pod.annotation("sidecar.istio.io/inject"));
    let on_host = pod
        .spec_at(["hostNetwork"])
        .is_some_and(|on| on.value == Value::Bool(true));
    inject == Some("false") || on_host
}
