//! What the rules of this family share: who was denied by what, and what the objects say of it.

use std::net::{IpAddr, Ipv4Addr};

use crate::finding::Evidence;
use crate::policy::{PolicyObjects, PolicyVerdict, Traffic, WorkloadPolicies};
use crate::rules::accounts::{self, Account};
use crate::rules::identity::bypassed;
use crate::rules::{Case, Facts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Coverage, Need};
use meshladder_mesh::peer_authentication::MutualTls;
use meshladder_mesh::policies::Workload;
use meshladder_mesh::services::{self, Protocol};
use meshladder_mesh::{Object, PodFacts};
use meshladder_sim::cluster::TlsMode;
use meshladder_sim::rbac::{PolicyName, policy_in};
use meshladder_sim::request::{Claims, Connection, Request, Tls};
use meshladder_sim::trace::HopDirection;
use meshladder_sim::walk::Scheme;
use meshladder_sim::{DecisionRecord, RequestState};
use meshladder_text::tree::{Node, Value};

/// A request that role-based access control turned away.
#[derive(Debug)]
pub(super) struct Denial<'r> {
    /// The policy's name as the proxy has it; none when no ALLOW policy matched.
    pub(super) policy: Option<&'r str>,
    pub(super) server: &'r PodFacts,
    pub(super) proof: Evidence,
}

/// The denials of a request, one for each policy and server.
pub(super) fn denials<'r>(facts: &Facts<'r>, case: &'r Case<'r>) -> Vec<Denial<'r>> {
    let mut found: Vec<Denial<'r>> = Vec::new();
    for told in accounts::of(facts, case) {
        let Some(policy) = policy_in(told.details) else {
            continue;
        };
        let policy = Some(policy).filter(|policy| *policy != "none");
        let Some(server) = server(case, &told) else {
            continue;
        };
        if found.iter().all(|known| known.policy != policy) {
            found.push(Denial {
                policy,
                server,
                proof: told.proof,
            });
        }
    }
    found
}

impl<'r> Denial<'r> {
    pub(super) fn name(&self) -> Option<PolicyName<'r>> {
        self.policy.and_then(PolicyName::parse)
    }
}

/// The pod whose policies decide: a gateway that denies is its own server.
fn server<'r>(case: &'r Case<'r>, told: &Account<'r>) -> Option<&'r PodFacts> {
    let is_caller = |pod: &&PodFacts| {
        case.client
            .is_some_and(|client| client.reference() == pod.reference())
    };
    told.pod
        .filter(|pod| !is_caller(pod))
        .or(case.servers.first().copied())
}

/// Whether AuthorizationPolicies were all read.
pub(super) fn is_readable(facts: &Facts<'_>) -> bool {
    let need = Need::Objects(Kind::AuthorizationPolicy);
    facts.snapshot.coverage(&need) == Coverage::Complete
}

/// How the caller shows up, when not as it is.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::rules) struct As<'a> {
    /// With this service account.
    pub(in crate::rules) account: Option<&'a str>,
    /// With mutual TLS, whatever is used now.
    pub(in crate::rules) mutual_tls: bool,
}

/// What the objects decide of the request at a server; none when the server is not known.
pub(in crate::rules) fn verdict(
    facts: &Facts<'_>,
    case: &Case<'_>,
    server: &PodFacts,
    who: As<'_>,
) -> Option<PolicyVerdict> {
    let pod = facts
        .mesh
        .objects
        .get(Kind::Pod, &server.namespace, &server.name)?;
    if is_rewritten(facts, case) {
        return Some(PolicyVerdict::Undecided(
            "what the path is rewritten to".into(),
        ));
    }
    let nodes = |kind: Kind| {
        facts
            .mesh
            .objects
            .of_kind(kind)
            .iter()
            .map(|object| &object.node)
            .collect()
    };
    let objects = PolicyObjects {
        authorization_policies: nodes(Kind::AuthorizationPolicy),
        request_authentications: nodes(Kind::RequestAuthentication),
    };
    let traffic = traffic(facts, case);
    let policies = WorkloadPolicies::compile(
        &objects,
        &workload(facts, case, pod),
        &facts.mesh.config,
        traffic,
    );
    let request = arriving(facts, case, server, who);
    let mut state = if traffic == Traffic::Http {
        RequestState::new(&request)
    } else {
        RequestState::tcp(&request)
    };
    Some(policies.evaluate(
        &mut state,
        facts.snapshot.taken_at()?,
        &mut DecisionRecord::dropping(),
    ))
}

/// A pod as policies see it; a waypoint decides for the Service that is called.
pub(in crate::rules) fn workload<'w>(
    facts: &Facts<'_>,
    case: &Case<'w>,
    pod: &'w Object,
) -> Workload<'w> {
    let called = case
        .service
        .map(|s| (s.namespace.as_str(), s.name.as_str()));
    Workload {
        service: called.filter(|_| facts.mesh.waypoint_of_pod(pod).is_some()),
        ..Workload::of(pod)
    }
}

/// Whether the objects deny the request as they are, so that a push changes nothing.
pub(super) fn is_asked_for(facts: &Facts<'_>, case: &Case<'_>, server: &PodFacts) -> bool {
    matches!(
        verdict(facts, case, server, As::default()),
        Some(PolicyVerdict::Denied { .. })
    )
}

/// What the server's proxy takes the request for.
pub(super) fn traffic(facts: &Facts<'_>, case: &Case<'_>) -> Traffic {
    let declared = accounts::called_port(facts, case).map(|(_, port)| port.protocol);
    let is_tcp = matches!(
        declared,
        Some(Protocol::Tcp | Protocol::Tls | Protocol::Https)
    );
    if case.call.to.scheme == Scheme::Tcp || is_tcp {
        Traffic::Tcp
    } else {
        Traffic::Http
    }
}

/// The pod that calls a server; none for a gateway's clients.
pub(super) fn caller<'r>(
    facts: &Facts<'r>,
    case: &Case<'r>,
    server: &PodFacts,
) -> Option<&'r PodFacts> {
    accounts::caller(facts, case).filter(|pod| pod.reference() != server.reference())
}

/// As whom the server knows the caller, when it comes over mutual TLS:
/// `cluster.local/ns/tools/sa/curl`.
pub(super) fn principal(facts: &Facts<'_>, case: &Case<'_>, server: &PodFacts) -> Option<String> {
    let caller = caller(facts, case, server).filter(|_| is_mutual_tls(facts, case, server))?;
    let domain = facts.mesh.config.trust_domains.first()?;
    Some(format!(
        "{domain}/ns/{}/sa/{}",
        caller.namespace, caller.service_account
    ))
}

/// Whether the caller's proxy shows its certificate.
pub(super) fn is_mutual_tls(facts: &Facts<'_>, case: &Case<'_>, server: &PodFacts) -> bool {
    // What comes to a waypoint comes through a tunnel.
    if is_waypoint(facts, server) {
        return caller(facts, case, server).is_some();
    }
    let plain = case
        .trace
        .hops
        .iter()
        .any(|hop| hop.direction != HopDirection::Inbound && hop.tls == TlsMode::None);
    let bypasses = |pod: &PodFacts| {
        let stored = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name);
        stored.is_some_and(|stored| bypassed(stored, case).is_some())
    };
    let plain = plain || plain_server(facts, case, server).is_some();
    !plain && caller(facts, case, server).is_some_and(|pod| pod.has_proxy && !bypasses(pod))
}

/// The PeerAuthentication that has the port which is called take plain text only.
pub(super) fn plain_server<'r>(
    facts: &Facts<'r>,
    case: &Case<'_>,
    server: &PodFacts,
) -> Option<(&'r Object, &'r Node)> {
    let pod = facts
        .mesh
        .objects
        .get(Kind::Pod, &server.namespace, &server.name)?;
    let (_, port) = accounts::called_port(facts, case)?;
    let mode = facts
        .mesh
        .mutual_tls(&Workload::of(pod), services::target_port(&port, pod)?);
    mode.by.filter(|_| mode.mode == MutualTls::Disable)
}

/// Whether a route may change the path before the server sees it.
fn is_rewritten(facts: &Facts<'_>, case: &Case<'_>) -> bool {
    let routes = |service: &&Object| {
        service
            .spec_list("http")
            .iter()
            .any(|route| route.get("rewrite").is_some())
    };
    accounts::virtual_services(facts, case).iter().any(routes)
}

/// The request as it arrives at the server.
fn arriving(facts: &Facts<'_>, case: &Case<'_>, server: &PodFacts, who: As<'_>) -> Request {
    let call = case.call;
    let caller = caller(facts, case, server);
    let domain = facts
        .mesh
        .config
        .trust_domains
        .first()
        .map_or("cluster.local", |domain| domain);
    let identity = caller.map(|pod| {
        let account = who.account.unwrap_or(&pod.service_account);
        format!("spiffe://{domain}/ns/{}/sa/{account}", pod.namespace)
    });
    let shows = who.mutual_tls || is_mutual_tls(facts, case, server);
    let host = call
        .headers
        .iter()
        .find(|(name, _)| name == "host")
        .map(|(_, value)| value.clone());
    let nowhere = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    Request {
        connection: Connection {
            destination: (
                server.ips.first().copied().unwrap_or(nowhere),
                server_port(facts, case, server),
            ),
            source: call
                .source_ip
                .or_else(|| caller.and_then(|pod| pod.ips.first().copied()))
                .map(|ip| (ip, 0)),
            tls: identity.filter(|_| shows).map(|id| Tls {
                sni: None,
                alpn: Vec::new(),
                peer: Some(vec![id]),
            }),
            plain_http: Some("http/1.1"),
        },
        method: call.method.clone(),
        scheme: call.to.scheme.word().to_owned(),
        authority: host.unwrap_or_else(|| call.to.authority()),
        path: call.to.path.clone(),
        headers: call
            .headers
            .iter()
            .filter(|(name, _)| name != "host")
            .cloned()
            .collect(),
        claims: call.claims.clone(),
        unknown_headers: Vec::new(),
    }
}

fn is_waypoint(facts: &Facts<'_>, pod: &PodFacts) -> bool {
    let object = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name);
    object.is_some_and(|object| facts.mesh.waypoint_of_pod(object).is_some())
}

/// The port of the pod that the request comes to; at a waypoint the Service's own.
pub(super) fn server_port(facts: &Facts<'_>, case: &Case<'_>, server: &PodFacts) -> u16 {
    if is_waypoint(facts, server) {
        return case.call.to.port;
    }
    let pod = facts
        .mesh
        .objects
        .get(Kind::Pod, &server.namespace, &server.name);
    let port = accounts::called_port(facts, case).map(|(_, port)| port);
    port.zip(pod)
        .and_then(|(port, pod)| services::target_port(&port, pod))
        .unwrap_or(case.call.to.port)
}

/// The enforced policies of an action that reach a pod.
pub(super) fn policies<'r>(
    facts: &Facts<'r>,
    case: Option<&Case<'_>>,
    pod: &PodFacts,
    action: &str,
) -> Vec<&'r Object> {
    let Some(stored) = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) else {
        return Vec::new();
    };
    let mut all = facts.mesh.policies(
        Kind::AuthorizationPolicy,
        &case.map_or_else(
            || Workload::of(stored),
            |case| workload(facts, case, stored),
        ),
    );
    all.retain(|policy| action_of(policy) == action && !is_dry_run(policy));
    all
}

/// `ALLOW` unless it says otherwise.
pub(super) fn action_of(policy: &Object) -> &str {
    policy
        .spec_at(["action"])
        .and_then(Node::str)
        .unwrap_or("ALLOW")
}

pub(super) fn is_dry_run(policy: &Object) -> bool {
    matches!(
        policy.annotation("istio.io/dry-run"),
        Some("1" | "t" | "T" | "true" | "TRUE" | "True")
    )
}

/// The fields of a rule, `from`'s and `to`'s and `when`'s keys, each with its node.
pub(super) fn fields(rule: &Node) -> Vec<(&str, &Node)> {
    let list = |key: &str| rule.get(key).map_or(&[][..], Node::items).iter();
    let inner = list("from")
        .filter_map(|from| from.get("source"))
        .chain(list("to").filter_map(|to| to.get("operation")));
    let mut found: Vec<_> = inner
        .flat_map(Node::members)
        .map(|member| (&*member.key, &member.value))
        .collect();
    found.extend(list("when").filter_map(|when| Some((when.str_at("key")?, when))));
    found.retain(|(_, node)| node.value != Value::Null);
    found
}

/// Whether a field says something that only HTTP has.
pub(super) fn is_http_only(field: &str) -> bool {
    const HTTP: [&str; 8] = [
        "hosts",
        "notHosts",
        "methods",
        "notMethods",
        "paths",
        "notPaths",
        "requestPrincipals",
        "notRequestPrincipals",
    ];
    HTTP.contains(&field) || field.starts_with("request.")
}

/// Whether a field wants a token.
pub(super) fn is_of_token(field: &str) -> bool {
    field == "requestPrincipals" || field.starts_with("request.auth.")
}

/// Whether a policy asks for something of a token.
pub(super) fn wants_token(policy: &Object) -> bool {
    let tokens = |field: &str| is_of_token(field) || field == "notRequestPrincipals";
    policy
        .spec_list("rules")
        .iter()
        .any(|rule| fields(rule).iter().any(|(field, _)| tokens(field)))
}

/// Whether the request comes with a token, or its claims were told.
pub(super) fn has_token(case: &Case<'_>) -> bool {
    let is_told = !matches!(case.call.claims, Claims::None);
    is_told
        || case
            .call
            .headers
            .iter()
            .any(|(name, _)| name == "authorization")
}
