//! See the page beside this file.

use super::meets::{crossed_waypoint, hit_ends, is_captured, service, tunnel_ends};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_capture::ztunnel::policy::{L4Action, L4Connection, L4Policy};
use meshladder_mesh::Object;
use meshladder_mesh::ambient::conversion::convert;
use meshladder_mesh::views::{AuthorizationPolicy, K8sGateway, Pod};
use meshladder_sim::trace::TunnelFault;

pub(super) static RULE: Rule = Rule {
    code: "ML4025",
    name: "allow-forgets-waypoint",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "every ALLOW policy of pods behind a waypoint lets the waypoint in",
    needs: Inputs::of(&[Kind::Service, Kind::Namespace, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::AuthorizationPolicy,
        Kind::K8sGateway,
        Kind::GatewayClass,
        Kind::ConfigMap,
        Kind::PeerAuthentication,
    ])
    .and(&[Part::Ztunnels]),
    explains: &["ML07", "ML08", "ML09", "ML10", "ML4026"],
    docs: include_str!("allow_forgets_waypoint.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    if let Some(case) = case {
        let is_refused = tunnel_ends(case).any(|(_, end)| {
            end.identity.is_some()
                && matches!(end.why, TunnelFault::NotAllowed | TunnelFault::Denied(..))
        });
        if !is_refused || crossed_waypoint(facts, case).is_none() {
            return;
        }
    }
    let called = case.map(|case| service(facts, case));
    for object in facts.mesh.objects.of_kind(Kind::Service) {
        if called.is_some_and(|called| called.is_none_or(|called| called.id != object.id)) {
            continue;
        }
        let Some(gateway) = facts.mesh.service_waypoint(object).gateway() else {
            continue;
        };
        for pod in facts.mesh.selected_pods(object) {
            if !is_captured(facts, pod) {
                continue;
            }
            out.examined();
            let Some(policy) = forgetful(facts, case, pod, gateway) else {
                continue;
            };
            tell(facts, case, object, pod, gateway, policy, out);
            break;
        }
    }
}

fn tell(
    facts: &Facts<'_>,
    case: Option<&Case<'_>>,
    service: &Object,
    pod: &Object,
    gateway: K8sGateway<'_>,
    policy: &Object,
    out: &mut Sink,
) {
    if let Some(known) = out
        .findings
        .iter_mut()
        .find(|finding| finding.subject == policy.id)
    {
        known.hits(service.id.clone());
        return;
    }
    let identity = waypoint_identity(facts, gateway);
    let message = format!(
        "{} does not let the waypoint {}/{} in, and what reaches {} comes from it: it needs {identity}",
        policy.id,
        gateway.namespace(),
        gateway.name(),
        service.id
    );
    let rules = policy.spec_at(["rules"]).or_else(|| policy.spec());
    let finding = out.find(
        policy.id.clone(),
        message,
        Evidence::of(policy, rules.unwrap_or(&policy.node), "whom it lets in"),
    );
    finding.see(Evidence::object(
        gateway.object,
        "the waypoint of the Service",
    ));
    finding.hits(pod.id.clone());
    finding.hits(service.id.clone());
    if let Some(case) = case {
        hit_ends(finding, case);
    }
    finding.fix(Fix::advice(format!(
        "say who may call in a policy with targetRefs for the Service, and let {identity} in here"
    )));
}

/// The ALLOW policy that keeps a waypoint from a pod; of several the one that lets the caller in.
fn forgetful<'f>(
    facts: &Facts<'f>,
    case: Option<&Case<'_>>,
    pod: &'f Object,
    gateway: K8sGateway<'_>,
) -> Option<&'f Object> {
    let policies = facts.mesh.l4_policies_of(pod);
    let waypoint = facts.mesh.deployed_pods(gateway).next();
    let connection = |identity: String, source| L4Connection {
        source,
        identity: Some(identity),
        destination: (
            Pod::of(pod)
                .ips()
                .first()
                .copied()
                .unwrap_or([0, 0, 0, 0].into()),
            first_port(pod),
        ),
    };
    let source = waypoint.and_then(|pod| pod.ips().first().copied());
    let of_waypoint = connection(waypoint_identity(facts, gateway), source);
    // Addresses and ports are the affair of single connections.
    let is_by_identity = |policy: &&L4Policy| {
        let mut matches = policy.rules.iter().flatten().flatten();
        !matches.any(|one| !one.source_ips.is_empty() || !one.destination_ports.is_empty())
    };
    let allows: Vec<&L4Policy> = policies
        .iter()
        .filter(|policy| policy.action == L4Action::Allow)
        .collect();
    if allows.is_empty() || allows.iter().any(|policy| policy.matches(&of_waypoint)) {
        return None;
    }
    if case.is_none() && !allows.iter().all(is_by_identity) {
        return None;
    }
    let client = case.and_then(|case| case.client);
    let domain = facts
        .mesh
        .config
        .trust_domains
        .first()
        .map_or("cluster.local", |domain| domain);
    let lets_client = |policy: &&&L4Policy| {
        client.is_some_and(|client| {
            let identity = format!(
                "{domain}/ns/{}/sa/{}",
                client.namespace, client.service_account
            );
            policy.matches(&connection(identity, client.ips.first().copied()))
        })
    };
    let chosen = allows.iter().find(lets_client).or_else(|| allows.first())?;
    let object =
        facts
            .mesh
            .objects
            .get(Kind::AuthorizationPolicy, &chosen.namespace, &chosen.name)?;
    // One that has nothing left at ztunnel refuses everybody.
    let root = &*facts.mesh.config.root_namespace;
    let is_whole = convert(AuthorizationPolicy::of(object), root)
        .beyond
        .is_empty();
    is_whole.then_some(object)
}

/// As whom a waypoint calls, without `spiffe://`.
pub(super) fn waypoint_identity(facts: &Facts<'_>, gateway: K8sGateway<'_>) -> String {
    let domain = facts
        .mesh
        .config
        .trust_domains
        .first()
        .map_or("cluster.local", |domain| domain);
    let pod = facts.mesh.deployed_pods(gateway).next();
    let account = pod.map_or(gateway.name(), Pod::service_account);
    format!("{domain}/ns/{}/sa/{account}", gateway.namespace())
}

fn first_port(pod: &Object) -> u16 {
    let mut ports = Pod::of(pod)
        .containers()
        .flat_map(meshladder_mesh::views::Container::ports);
    ports.next().map_or(0, |port| port.number)
}
