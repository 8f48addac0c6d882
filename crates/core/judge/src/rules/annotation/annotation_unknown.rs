//! See the page beside this file.

use super::known::{kinds, names, written};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::config::nearest::nearest;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML3302",
    name: "annotation-unknown",
    aka: &["IST0108"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every annotation in Istio's name is one that Istio knows",
    needs: Inputs::of(&[Kind::Namespace, Kind::Service, Kind::Pod, Kind::Deployment]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("annotation_unknown.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for (object, annotation) in written(facts.mesh) {
        out.examined();
        if kinds(&annotation.key).is_some() {
            continue;
        }
        let meant = nearest(&annotation.key, names());
        let instead = meant
            .map(|meant| format!("; {meant} is one"))
            .unwrap_or_default();
        let message = format!(
            "{} has annotation {}, which Istio does not know{instead}",
            object.id, annotation.key
        );
        out.find(
            object.id.clone(),
            message,
            Evidence::of(object, &annotation.value, "the annotation"),
        )
        .fix(Fix::advice("spell it as Istio does, or remove it"));
    }
}
