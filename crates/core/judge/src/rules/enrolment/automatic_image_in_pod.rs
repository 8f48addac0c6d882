//! See the page beside this file.

use super::image::automatic;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;

pub(super) static RULE: Rule = Rule {
    code: "ML2808",
    name: "automatic-image-in-pod",
    aka: &["IST0147"],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "no pod has the image that the injector should have replaced",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("automatic_image_in_pod.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for pod in facts
        .mesh
        .objects
        .of_kind(Kind::Pod)
        .iter()
        .filter(|pod| !Object::is_assumed(pod))
    {
        out.examined();
        let Some(image) = pod.spec().and_then(automatic) else {
            continue;
        };
        let message = format!(
            "{} was not injected: the image of its proxy is still auto",
            pod.id
        );
        out.find(
            pod.id.clone(),
            message,
            Evidence::of(pod, image, "the image"),
        )
        .fix(Fix::advice(
            "have the pod selected by an injector webhook, and make it anew",
        ));
    }
}
