//! See the page beside this file.

use super::known::{is_in_place, kinds, written};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML3301",
    name: "annotation-misplaced",
    aka: &["IST0107"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every annotation of Istio's is on a kind that it is for",
    needs: Inputs::of(&[Kind::Namespace, Kind::Service, Kind::Pod, Kind::Deployment]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("annotation_misplaced.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for (object, annotation) in written(facts.mesh) {
        out.examined();
        let Some(kinds) = kinds(&annotation.key).filter(|_| !is_in_place(object, &annotation.key))
        else {
            continue;
        };
        let message = format!(
            "{} has annotation {}, which is for {}",
            object.id,
            annotation.key,
            kinds.join(", ")
        );
        let advice = match object.id.kind.as_str() {
            "Deployment" if kinds == ["Pod"] => "put it into spec.template.metadata.annotations",
            _ => "put it where it is for, or remove it",
        };
        out.find(
            object.id.clone(),
            message,
            Evidence::of(object, &annotation.value, "the annotation"),
        )
        .fix(Fix::advice(advice));
    }
}
