//! See the page beside this file.

use std::collections::BTreeSet;

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::endpoints::called_service::CalledService;
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::services::{number, ports};
use meshladder_mesh::{Object, ObjectRef, PodFacts};
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0906",
    name: "ext-authz-unreachable",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "every external authorization service that a proxy asks is there",
    needs: Inputs::of(&[Kind::Pod, Kind::Service]),
    uses: Inputs::of(&[
        Kind::EnvoyFilter,
        Kind::AuthorizationPolicy,
        Kind::ServiceEntry,
        Kind::ConfigMap,
        Kind::EndpointSlice,
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
    ])
    .and(&[Part::Proxies, Part::Logs]),
    explains: &[],
    docs: include_str!("ext_authz_unreachable.md"),
    check: Check::Either(check),
};

/// Part of the type of the filter that asks.
pub(super) const TYPE: &str = "envoy.extensions.filters.http.ext_authz.";

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let mut known: Vec<ObjectRef> = Vec::new();
    let servers = case.map(servers);
    let is_asked = |pod: &PodFacts| {
        let name = (pod.namespace.as_str(), pod.name.as_str());
        servers
            .as_ref()
            .is_none_or(|servers| servers.contains(&name))
    };
    for pod in facts
        .mesh
        .pods
        .iter()
        .filter(|pod| pod.has_proxy && is_asked(pod))
    {
        out.examined();
        for (filter, value) in accounts::envoy_filters(facts, pod, TYPE) {
            if let Some(missing) = missing(facts, value) {
                if !known.contains(&filter.id) {
                    tell(facts, case, filter, value, &missing, out);
                    known.push(filter.id.clone());
                }
                if let Some(finding) = out
                    .findings
                    .iter_mut()
                    .find(|finding| finding.subject == filter.id)
                {
                    finding.hits(pod.reference());
                }
            }
        }
        provider(facts, case, pod, out);
    }
}

/// The servers of a request that may have been refused so, by namespace and name.
fn servers<'c>(case: &'c Case<'_>) -> BTreeSet<(&'c str, &'c str)> {
    let may_be = case
        .seen
        .is_none_or(|seen| seen.code == 403 || seen.has("UAEX"));
    let servers = case.servers.iter().filter(|_| may_be);
    servers
        .map(|server| (server.namespace.as_str(), server.name.as_str()))
        .collect()
}

/// Why the service of an `ExtAuthz` cannot be asked; none when it can, or when nothing depends on
/// it.
fn missing(facts: &Facts<'_>, value: &Node) -> Option<String> {
    let config = accounts::find_type(value, TYPE)?;
    if config
        .get("failure_mode_allow")
        .is_some_and(|allow| allow.value == Value::Bool(true))
    {
        return None;
    }
    let cluster = config.at(["http_service", "server_uri", "cluster"]);
    let cluster = cluster
        .or_else(|| config.at(["grpc_service", "envoy_grpc", "cluster_name"]))?
        .str()?;
    let name = ClusterName::parse(cluster)?;
    unreachable(facts, name.host, name.port.parse().ok())
        .map(|(_, why)| format!("the cluster {cluster}, and {why}"))
}

/// Why a host cannot be asked, and what to change when that is neither who asks nor what is asked.
fn unreachable(
    facts: &Facts<'_>,
    host: &str,
    port: Option<u16>,
) -> Option<(Option<ObjectRef>, String)> {
    if facts.mesh.registered(host).next().is_none() {
        return Some((
            None,
            format!("no Service or ServiceEntry has the host {host}"),
        ));
    }
    let service = facts.mesh.service_of_host(host)?;
    if let Some(port) = port.filter(|port| ports(service).all(|own| own.number != *port)) {
        return Some((None, format!("{} has no port {port}", service.id)));
    }
    let has_slices = facts.mesh.endpoint_slices(service).next().is_some();
    let is_empty = has_slices
        && !facts
            .mesh
            .endpoints(service)
            .iter()
            .any(|endpoint| endpoint.is_ready);
    let behind = CalledService {
        service,
        port: None,
        subset: String::new(),
    }
    .workloads(facts.mesh, None)
    .into_iter()
    .next();
    let subject = behind.map_or_else(|| service.id.clone(), |workload| workload.id.clone());
    is_empty.then(|| {
        (
            Some(subject),
            format!("{} has no ready endpoint", service.id),
        )
    })
}

fn tell(
    facts: &Facts<'_>,
    case: Option<&Case<'_>>,
    filter: &Object,
    value: &Node,
    missing: &str,
    out: &mut Sink,
) {
    let message = format!(
        "{} has every request authorized by {missing}, so that all are denied",
        filter.id
    );
    let proof = Evidence::of(filter, value, "the filter that asks");
    let finding = out.find(filter.id.clone(), message, proof);
    see_denial(facts, case, finding);
    finding.fixes.extend(accounts::without_patch(filter, value));
    finding.fix(Fix::advice(
        "deploy the authorization service that it names",
    ));
}

fn see_denial(facts: &Facts<'_>, case: Option<&Case<'_>>, finding: &mut crate::finding::Finding) {
    let Some(case) = case else { return };
    if let Some(told) = accounts::of(facts, case)
        .into_iter()
        .find(|told| told.details.starts_with("ext_authz"))
    {
        finding.see(told.proof);
    }
}

/// The provider of a CUSTOM policy: `extensionProviders` name its Service.
fn provider(facts: &Facts<'_>, case: Option<&Case<'_>>, pod: &PodFacts, out: &mut Sink) {
    for policy in super::denial::policies(facts, case, pod, "CUSTOM") {
        let name = policy
            .spec_at(["provider", "name"])
            .and_then(Node::str)
            .unwrap_or_default();
        let Some((config, service, port)) = service_of(facts, name) else {
            continue;
        };
        let host = service
            .rsplit_once('/')
            .map_or(service.as_str(), |(_, host)| host);
        let Some((subject, why)) = unreachable(facts, host, port) else {
            continue;
        };
        let is_config = subject.is_none();
        let subject = subject.unwrap_or(config);
        if out
            .findings
            .iter()
            .any(|finding| finding.subject == subject)
        {
            continue;
        }
        let message = format!(
            "{} is decided by the provider {name}, and {why}, so that all it matches is denied",
            policy.id
        );
        let finding = out.find(
            subject,
            message,
            Evidence::object(policy, "the policy that asks it"),
        );
        see_denial(facts, case, finding);
        finding.hits(pod.reference());
        finding.fix(Fix::advice(if is_config {
            format!("correct `service` and `port` of the provider {name} in extensionProviders")
        } else {
            format!("bring up {host}, or take the provider {name} out of the policy")
        }));
    }
}

/// The ConfigMap that has the provider, and the Service and port that it names.
fn service_of(facts: &Facts<'_>, name: &str) -> Option<(ObjectRef, String, Option<u16>)> {
    let config = &facts.mesh.config;
    let kind = &config.authorization_provider(name)?.kind;
    let providers = config.tree.as_ref()?.get("extensionProviders")?.items();
    let provider = providers
        .iter()
        .find(|provider| provider.str_at("name") == Some(name))?;
    let fails_open = provider
        .at([kind, "failOpen"])
        .is_some_and(|open| open.value == Value::Bool(true));
    let service = provider
        .at([kind, "service"])
        .filter(|_| !fails_open)?
        .str()?
        .to_owned();
    Some((
        config.object.clone()?,
        service,
        provider.at([kind, "port"]).and_then(number),
    ))
}
