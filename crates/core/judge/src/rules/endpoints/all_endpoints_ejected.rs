//! See the page beside this file.

use super::{called_service, outliers};
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::{Inputs, Part};

pub(super) static RULE: Rule = Rule {
    code: "ML0710",
    name: "all-endpoints-ejected",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "outlier detection leaves the request an endpoint",
    needs: Inputs::of(&[Kind::DestinationRule]).and(&[Part::Proxies]),
    uses: Inputs::of(&[Kind::Pod, Kind::Service, Kind::ServiceEntry, Kind::Sidecar]),
    explains: &["ML0711", "ML10"],
    docs: include_str!("all_endpoints_ejected.md"),
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
    for cluster in case.clusters() {
        let Some((hosts, proof)) = called_service::hosts_of(&doc, cluster) else {
            continue;
        };
        out.examined();
        let name = ClusterName::parse(cluster);
        let (Some(name), true) = (
            name,
            !hosts.is_empty() && hosts.iter().all(|host| host.ejected),
        ) else {
            continue;
        };
        let scope = facts.mesh.scope(client);
        let detection =
            outliers::of_client(facts, scope, name.host, name.port.parse().ok(), name.subset);
        let Some((rule, detection)) =
            detection.filter(|(_, node)| outliers::permits_all(node, hosts.len()))
        else {
            continue;
        };
        let percent = outliers::max_ejection_percent(detection);
        let message = format!(
            "{} lets outlier detection eject {percent} % of {}, and the proxy of {} has ejected all {}",
            rule.id,
            name.host,
            client.id,
            called_service::count(hosts.len(), "endpoint")
        );
        let finding = out.find(
            rule.id.clone(),
            message,
            Evidence::of(rule, detection, "what ejects endpoints"),
        );
        finding.see(proof).hits(client.id.clone());
        if let Some(service) = facts.mesh.service_of_host(name.host) {
            finding.hits(service.id.clone());
        }
        if hosts.len() > 1 {
            let path = format!("{}/maxEjectionPercent", rule.path_of(detection));
            finding.fix(Fix::patch(&rule.id, [Op::add(path, 50_u16)]));
        } else {
            let remove = vec![Op::remove(rule.path_of(detection))];
            finding.fix(Fix::patch(&rule.id, remove));
            finding.fix(Fix::advice("a single endpoint cannot be spared"));
        }
        finding.fix(called_service::restart(facts.mesh, client));
    }
}
