//! See the page beside this file.

use super::called_service;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0715",
    name: "failover-without-outlier-detection",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Warning,
    claim: "a DestinationRule with locality failover has the outlier detection that makes it act",
    needs: Inputs::of(&[Kind::DestinationRule]),
    uses: Inputs::of(&[Kind::Service]),
    explains: &[],
    docs: include_str!("failover_without_outlier_detection.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let called = case.map(|_| called_service::services(facts, case));
    for rule in facts.mesh.objects.of_kind(Kind::DestinationRule) {
        let host = facts
            .mesh
            .domain
            .fqdn(
                rule.spec_at(["host"])
                    .and_then(Node::str)
                    .unwrap_or_default(),
                &rule.id.namespace,
            )
            .into_owned();
        if called
            .as_ref()
            .is_some_and(|called| !called.iter().any(|called| called.host(facts) == host))
        {
            continue;
        }
        out.examined();
        let Some(policy) = rule.spec_at(["trafficPolicy"]) else {
            continue;
        };
        let setting = policy.at(["loadBalancer", "localityLbSetting"]);
        let failover = setting.and_then(|setting| {
            setting
                .get("failover")
                .or_else(|| setting.get("failoverPriority"))
        });
        let Some(failover) = failover.filter(|_| policy.get("outlierDetection").is_none()) else {
            continue;
        };
        let message = format!(
            "{} asks for locality failover of {host}, which does nothing without outlierDetection",
            rule.id
        );
        let finding = out.find(
            rule.id.clone(),
            message,
            Evidence::of(rule, failover, "what is asked for"),
        );
        if let Some(service) = facts.mesh.service_of_host(&host) {
            finding.hits(service.id.clone());
        }
        // A request that is answered has not needed it.
        if case.is_some_and(|case| case.seen.is_none_or(crate::rules::Symptom::is_success)) {
            finding.severity(Severity::Info);
        }
        let detection = Value::object([
            ("consecutive5xxErrors", Value::from(5_u16)),
            ("interval", "10s".into()),
            ("baseEjectionTime", "30s".into()),
        ]);
        finding.fix(Fix::merge(
            &rule.id,
            Value::nested(["spec", "trafficPolicy", "outlierDetection"], detection),
        ));
    }
}
