//! See the page beside this file.

use super::image::{Images, with_variant};
use crate::finding::{Evidence, Fix, Risk, Rung, Severity};
use crate::rules::analyzed::proxy_image;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_text::shell;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2806",
    name: "proxy-image-differs",
    aka: &["IST0158"],
    rung: Rung::Enrolment,
    severity: Severity::Warning,
    claim: "every proxy has the image that the injector gives to new pods",
    needs: Inputs::of(&[Kind::Namespace, Kind::Pod, Kind::ConfigMap]),
    uses: Inputs::of(&[Kind::ProxyConfig]),
    explains: &[],
    docs: include_str!("proxy_image_differs.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let images = Images::of(facts.mesh);
    for namespace in facts.mesh.objects.of_kind(Kind::Namespace) {
        let Some(wanted) = revision(namespace).and_then(|revision| images.of_revision(revision))
        else {
            continue;
        };
        let pods = facts
            .mesh
            .objects
            .in_namespace(Kind::Pod, &namespace.id.name);
        let mut differing = Vec::new();
        for pod in pods.filter(|pod| {
            pod.annotation("sidecar.istio.io/proxyImage")
                .is_none_or(str::is_empty)
        }) {
            out.examined();
            let Some(image) = pod.spec().and_then(proxy_image) else {
                continue;
            };
            let wanted = with_variant(facts.mesh, wanted, pod);
            if image.str().is_some_and(|image| *image != *wanted) {
                differing.push((pod, image, wanted));
            }
        }
        tell(namespace, &differing, out);
    }
}

/// The revision that injects the pods of a namespace.
fn revision(namespace: &Object) -> Option<&str> {
    let named = namespace.label("istio.io/rev");
    named.or_else(|| (namespace.label("istio-injection") == Some("enabled")).then_some("default"))
}

fn tell(namespace: &Object, differing: &[(&Object, &Node, String)], out: &mut Sink) {
    let Some((pod, image, wanted)) = differing.first() else {
        return;
    };
    let others = match differing.len() {
        1 => String::new(),
        count => format!(" and {} more pods", count - 1),
    };
    let message = format!(
        "{} has pods with another proxy than new ones get: {}{others} has {}, the injector gives {wanted}",
        namespace.id,
        pod.id,
        image.str().unwrap_or_default()
    );
    let finding = out.find(
        namespace.id.clone(),
        message,
        Evidence::object(namespace, "it is injected"),
    );
    for (pod, image, _) in differing
        .iter()
        .take(5)
        .filter(|(pod, _, _)| !pod.is_assumed())
    {
        finding.see(Evidence::of(pod, image, "its proxy"));
    }
    for (pod, _, _) in differing {
        finding.hits(pod.id.clone());
    }
    finding.fix(Fix::command(
        Risk::Disruptive,
        shell::command(
            "kubectl rollout restart deployment -n {}",
            &[&namespace.id.name],
        ),
    ));
}
