//! See the page beside this file.

use super::{called_service, locality};
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0716",
    name: "distribute-leads-nowhere",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "every locality distribution leads to a locality that has pods",
    needs: Inputs::of(&[Kind::DestinationRule, Kind::Service, Kind::Pod]),
    uses: Inputs::of(&[Kind::Node]),
    explains: &["ML07"],
    docs: include_str!("distribute_leads_nowhere.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let mesh = facts.mesh;
    let services = called_service::services(facts, case);
    let client = case
        .and_then(|case| called_service::client_pod(facts, case))
        .map(|pod| locality::of_pod(mesh, pod));
    for rule in mesh.objects.of_kind(Kind::DestinationRule) {
        let host = facts.mesh.domain.fqdn(
            rule.spec_at(["host"])
                .and_then(Node::str)
                .unwrap_or_default(),
            &rule.id.namespace,
        );
        let Some(called) = services.iter().find(|called| called.host(facts) == host) else {
            continue;
        };
        let setting = rule.spec_at([
            "trafficPolicy",
            "loadBalancer",
            "localityLbSetting",
            "distribute",
        ]);
        let pods = called.pods(mesh, None);
        let places: Vec<String> = pods
            .iter()
            .map(|pod| locality::of_pod(mesh, pod))
            .filter(|l| !l.is_empty())
            .collect();
        for entry in setting.map_or(&[][..], Node::items) {
            out.examined();
            let Some(to) = entry.get("to") else { continue };
            let from = entry.str_at("from").unwrap_or_default();
            let concerns = case.is_none()
                || client
                    .as_ref()
                    .is_some_and(|client| locality::covers(from, client));
            let leads = to
                .members()
                .iter()
                .any(|m| places.iter().any(|place| locality::covers(&m.key, place)));
            if places.is_empty() || leads || !concerns {
                continue;
            }
            let wanted: Vec<&str> = to.members().iter().map(|m| &*m.key).collect();
            let message = format!(
                "{} sends calls from {from} to {} in {} only, where it has no pod; its pods are in {}",
                rule.id,
                called.service.id,
                wanted.join(", "),
                distinct(&places)
            );
            let finding = out.find(
                rule.id.clone(),
                message,
                Evidence::of(rule, to, "where calls are sent"),
            );
            called_service::hit(finding, called.service, &pods, case);
            if case.is_none() {
                finding.severity(Severity::Warning);
            }
            let remove = vec![Op::remove(rule.path_of(entry))];
            finding.fix(Fix::patch(&rule.id, remove));
            finding.fix(Fix::advice(
                "use failover instead of distribute, or distribute to localities that have pods",
            ));
        }
    }
}

fn distinct(places: &[String]) -> String {
    let places: std::collections::BTreeSet<&str> = places.iter().map(String::as_str).collect();
    places.into_iter().collect::<Vec<_>>().join(", ")
}
