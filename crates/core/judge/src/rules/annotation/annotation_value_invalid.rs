//! See the page beside this file.

use super::known::{is_in_place, written};
use super::value::fault;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML3303",
    name: "annotation-value-invalid",
    aka: &["IST0125"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "the injector can read the value of every annotation",
    needs: Inputs::of(&[Kind::Namespace, Kind::Service, Kind::Pod, Kind::Deployment]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("annotation_value_invalid.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for (object, annotation) in
        written(facts.mesh).filter(|(object, annotation)| is_in_place(object, &annotation.key))
    {
        out.examined();
        let Some((value, why)) = annotation
            .value
            .str()
            .and_then(|value| Some((value, fault(&annotation.key, value)?)))
        else {
            continue;
        };
        let message = format!(
            "{} has annotation {} with value '{value}': {why}",
            object.id, annotation.key
        );
        out.find(
            object.id.clone(),
            message,
            Evidence::of(object, &annotation.value, "the value"),
        )
        .fix(Fix::advice("give it a value that the injector takes"));
    }
}
