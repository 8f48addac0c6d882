//! See the page beside this file.

use super::{called_service, outliers};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0713",
    name: "ejection-percent-below-one",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Info,
    claim: "maxEjectionPercent is at least one endpoint",
    needs: Inputs::of(&[Kind::DestinationRule, Kind::Service, Kind::Pod]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("ejection_percent_below_one.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let called = called_service::services(facts, case);
    for rule in facts.mesh.objects.of_kind(Kind::DestinationRule) {
        let Some(detection) = rule.spec_at(["trafficPolicy", "outlierDetection"]) else {
            continue;
        };
        let host = rule
            .spec_at(["host"])
            .and_then(Node::str)
            .unwrap_or_default();
        let full = facts.mesh.domain.fqdn(host, &rule.id.namespace);
        let Some(called) = called.iter().find(|called| called.host(facts) == full) else {
            continue;
        };
        out.examined();
        let pods = called.pods(facts.mesh, None).len();
        let percent = outliers::max_ejection_percent(detection);
        if pods == 0 || percent * pods as u64 >= 100 {
            continue;
        }
        let message = format!(
            "{} may eject {percent} % of {}, less than one of its {}: Envoy ejects none of them, and older ones one",
            rule.id,
            called.service.id,
            called_service::count(pods, "pod")
        );
        let finding = out.find(
            rule.id.clone(),
            message,
            Evidence::of(rule, detection, "the share that may be ejected"),
        );
        finding.hits(called.service.id.clone());
        finding.fix(Fix::advice(format!(
            "set maxEjectionPercent to at least {}",
            100_usize.div_ceil(pods)
        )));
    }
}
