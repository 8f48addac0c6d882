//! See the page beside this file.

use super::known::{is_deprecated, written};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::injection::INJECT;

pub(super) static RULE: Rule = Rule {
    code: "ML3304",
    name: "annotation-deprecated",
    aka: &["IST0135"],
    rung: Rung::Config,
    severity: Severity::Info,
    claim: "no annotation of Istio's is deprecated",
    needs: Inputs::of(&[Kind::Namespace, Kind::Service, Kind::Pod, Kind::Deployment]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("annotation_deprecated.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for (object, annotation) in
        written(facts.mesh).filter(|(_, annotation)| is_deprecated(&annotation.key))
    {
        out.examined();
        let is_inject = &*annotation.key == INJECT;
        // Who has the label too knows, and serves an old istiod.
        if is_inject && object.label(INJECT).is_some() {
            continue;
        }
        let instead = if is_inject {
            ": use the label of the same name"
        } else {
            ""
        };
        let message = format!(
            "{} has annotation {}, which is deprecated{instead}",
            object.id, annotation.key
        );
        out.find(
            object.id.clone(),
            message,
            Evidence::of(object, &annotation.value, "the annotation"),
        )
        .fix(Fix::advice("say it as the page of annotations advises"));
    }
}
