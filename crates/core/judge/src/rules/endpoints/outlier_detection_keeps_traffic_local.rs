//! See the page beside this file.

use super::{called_service, locality, outliers};
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::Object;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0714",
    name: "outlier-detection-keeps-traffic-local",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Warning,
    claim: "no outlier detection keeps traffic in one zone that nobody asked to keep there",
    needs: Inputs::of(&[Kind::DestinationRule]).and(&[Part::Proxies]),
    uses: Inputs::of(&[
        Kind::ConfigMap,
        Kind::Pod,
        Kind::Service,
        Kind::ServiceEntry,
        Kind::Sidecar,
    ]),
    explains: &[],
    docs: include_str!("outlier_detection_keeps_traffic_local.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let Some(client) = called_service::client_pod(facts, case) else {
        return;
    };
    let Some(doc) = called_service::clusters_of(facts, &client.id.namespace, &client.id.name)
    else {
        return;
    };
    let scope = facts.mesh.scope(client);
    for cluster in case.clusters() {
        let (Some(name), Some((hosts, proof))) = (
            ClusterName::parse(cluster),
            called_service::hosts_of(&doc, cluster),
        ) else {
            continue;
        };
        out.examined();
        let idle = hosts.iter().filter(|host| host.priority > 0).count();
        let near: Vec<_> = hosts.iter().filter(|host| host.priority == 0).collect();
        let port = name.port.parse().ok();
        let Some((rule, detection)) =
            outliers::of_client(facts, scope, name.host, port, name.subset)
        else {
            continue;
        };
        let subset = Some(name.subset).filter(|subset| !subset.is_empty());
        let rules = facts.mesh.destination_rule(scope, name.host);
        let balancer = rules
            .as_ref()
            .and_then(|rules| rules.setting("loadBalancer", port?, subset));
        let setting = locality::setting(facts.mesh, balancer.map(|(_, node)| node));
        if idle == 0 || near.is_empty() || !locality::is_on(setting) {
            continue;
        }
        let zone = near.first().map_or("", |host| host.locality.as_str());
        let message = format!(
            "{} switches outlier detection on, and with it locality priority: {} sends {} only to the {} in its own zone {zone}, and {idle} elsewhere get none",
            rule.id,
            client.id,
            name.host,
            called_service::count(near.len(), "endpoint")
        );
        let finding = out.find(
            rule.id.clone(),
            message,
            Evidence::of(rule, detection, "what makes priorities count"),
        );
        finding.see(proof).hits(client.id.clone());
        if let Some(service) = facts.mesh.service_of_host(name.host) {
            finding.hits(service.id.clone());
        }
        // Who writes the setting wants it; and a request that fails has another cause.
        let fails = case.seen.is_some_and(|seen| !seen.is_success());
        if setting.is_some() || fails {
            finding.severity(Severity::Info);
        }
        finding.is_side_effect();
        finding.fix(switch_off(rule, detection));
    }
}

/// Beside `outlierDetection`, since settings of a port are not inherited.
fn switch_off(rule: &Object, detection: &Node) -> Fix {
    let own = rule.path_of(detection);
    let policy = own.strip_suffix("/outlierDetection").unwrap_or(&own);
    let has_balancer = rule
        .node
        .pointer(policy)
        .is_some_and(|policy| policy.get("loadBalancer").is_some());
    let (path, value) = if has_balancer {
        (
            format!("{policy}/loadBalancer/localityLbSetting"),
            Value::nested(["enabled"], false),
        )
    } else {
        (
            format!("{policy}/loadBalancer"),
            Value::nested(["localityLbSetting", "enabled"], false),
        )
    };
    Fix::patch(&rule.id, [Op::add(path, value)])
}
