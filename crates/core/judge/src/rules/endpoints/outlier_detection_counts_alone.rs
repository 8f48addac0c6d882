//! See the page beside this file.

use std::collections::BTreeMap;

use super::{called_service, outliers};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::{DocId, Inputs, Part};

pub(super) static RULE: Rule = Rule {
    code: "ML0712",
    name: "outlier-detection-counts-alone",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Info,
    claim: "where outlier detection is configured, failing endpoints reach its threshold in the client's own count",
    needs: Inputs::of(&[Kind::DestinationRule]).and(&[Part::Logs]),
    uses: Inputs::of(&[Kind::Pod, Kind::Service, Kind::ServiceEntry, Kind::Sidecar]),
    explains: &[],
    docs: include_str!("outlier_detection_counts_alone.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let Some(scope) = called_service::client_scope(facts, case) else {
        return;
    };
    for cluster in case.clusters() {
        let Some(name) = ClusterName::parse(cluster) else {
            continue;
        };
        let rule =
            outliers::of_client(facts, scope, name.host, name.port.parse().ok(), name.subset);
        let Some((rule, detection)) = rule else {
            continue;
        };
        out.examined();
        // "Defaults to 5"
        let threshold = outliers::whole(detection, "consecutive5xxErrors").unwrap_or(5);
        let mut runs: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        let lines = || {
            case.client_log
                .iter()
                .filter(|line| line.cluster == cluster && !line.upstream_host.is_empty())
        };
        for line in lines() {
            let (run, longest) = runs.entry(line.upstream_host.as_str()).or_default();
            *run = if line.code >= 500 { *run + 1 } else { 0 };
            *longest = (*longest).max(*run);
        }
        let longest = runs
            .values()
            .map(|(_, longest)| *longest)
            .max()
            .unwrap_or(0);
        let (Some(last), true) = (lines().rfind(|line| line.code >= 500), longest < threshold)
        else {
            continue;
        };
        let message = format!(
            "{} ejects an endpoint of {} after {threshold} errors in a row from one client; this one has seen {longest} in a row from one of {}",
            rule.id,
            name.host,
            called_service::count(runs.len(), "endpoint")
        );
        let finding = out.find(
            rule.id.clone(),
            message,
            Evidence::of(rule, detection, "the threshold"),
        );
        finding.see(Evidence::line(
            &DocId::new(&last.doc),
            last.number,
            "the last error",
        ));
        finding.fix(Fix::advice(
            "lower consecutive5xxErrors: each proxy counts for itself, and requests are spread over all endpoints",
        ));
    }
}
