//! See the page beside this file.

use super::known::{is_alpha, written};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;

pub(super) static RULE: Rule = Rule {
    code: "ML3305",
    name: "annotation-is-alpha",
    aka: &["IST0136"],
    rung: Rung::Config,
    severity: Severity::Info,
    claim: "no annotation of Istio's is an alpha feature",
    needs: Inputs::of(&[Kind::Namespace, Kind::Service, Kind::Pod, Kind::Deployment]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("annotation_is_alpha.md"),
    check: Check::Object(check),
};

/// What the CNI plugin's injection writes into every pod.
const BY_DEFAULT: [&str; 4] = [
    "sidecar.istio.io/interceptionMode",
    "traffic.sidecar.istio.io/excludeInboundPorts",
    "traffic.sidecar.istio.io/includeInboundPorts",
    "traffic.sidecar.istio.io/includeOutboundIPRanges",
];

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for (object, annotation) in
        written(facts.mesh).filter(|(_, annotation)| is_alpha(&annotation.key))
    {
        out.examined();
        if BY_DEFAULT.contains(&&*annotation.key) && is_redirected_by_cni(object) {
            continue;
        }
        let message = format!(
            "{} has annotation {}, which is alpha: it may change or go",
            object.id, annotation.key
        );
        out.find(
            object.id.clone(),
            message,
            Evidence::of(object, &annotation.value, "the annotation"),
        )
        .fix(Fix::advice("keep it in mind when Istio is upgraded"));
    }
}

/// Without the CNI plugin a container `istio-init` redirects.
fn is_redirected_by_cni(object: &Object) -> bool {
    let mut starting = object.spec_list("initContainers").iter();
    object.id.is(Kind::Pod)
        && !starting.any(|container| container.str_at("name") == Some("istio-init"))
}
