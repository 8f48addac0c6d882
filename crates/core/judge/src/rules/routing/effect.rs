//! "My VirtualService has no effect": how far one gets towards the clients that it should act for.

use std::collections::{BTreeMap, BTreeSet};

use super::action::Action;
use super::http_route::{RouteCall, Taken};
use crate::finding::{Evidence, Finding, Severity};
use crate::rules::{Case, Facts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, ProxyRef};
use meshladder_mesh::gateways::{gateway_name, servers};
use meshladder_mesh::host::covers;
use meshladder_mesh::scope::{Scope, is_router};
use meshladder_mesh::traffic::{Step, StepKind, destinations, hosts};
use meshladder_mesh::{Mesh, Object, ObjectRef};
use meshladder_sim::trace::{EndKind, HopDirection, TraceStage};
use meshladder_sim::walk::Scheme;
use meshladder_text::tree::Node;

/// What such a rule reads beside VirtualServices.
pub(super) const USES: Inputs = Inputs::of(&[
    Kind::Gateway,
    Kind::Pod,
    Kind::Service,
    Kind::ServiceEntry,
    Kind::Sidecar,
]);

/// A VirtualService that does not act for clients it should act for.
#[derive(Debug)]
pub(super) struct Lost<'m> {
    /// The VirtualService.
    pub(super) service: &'m Object,
    /// The host that gets lost, as written.
    pub(super) host: &'m Node,
    /// The way to a client; it ends at the first step that is not taken.
    pub(super) steps: Vec<Step<'m>>,
    /// Who does not get it.
    pub(super) hits: Vec<ObjectRef>,
    /// How bad.
    pub(super) severity: Severity,
    /// What requests go without, in words, when one was asked about.
    pub(super) without: Option<String>,
    /// The route that the request takes instead.
    instead: Option<Evidence>,
}

impl<'m> Lost<'m> {
    /// The step that was not taken.
    pub(super) fn at(&self) -> Option<&Step<'m>> {
        self.steps.last().filter(|step| !step.holds)
    }

    /// The finding's first proof: what decided, else the host.
    pub(super) fn proof(&self) -> Evidence {
        let Some(step) = self.at() else {
            return Evidence::of(self.service, self.host, "the host");
        };
        let (object, node) = step.by.unwrap_or((self.service, self.host));
        Evidence::of(
            object,
            node,
            format!("{}: no, {}", word(step.kind), step.why),
        )
    }

    /// Adds the steps before it, who suffers, and how bad it is.
    pub(super) fn tell(&self, finding: &mut Finding) {
        for step in self.steps.iter().filter(|step| step.holds) {
            let (object, node) = step.by.unwrap_or((self.service, self.host));
            finding.see(Evidence::of(
                object,
                node,
                format!("{}: yes, {}", word(step.kind), step.why),
            ));
        }
        finding.evidence.extend(self.instead.clone());
        for hit in &self.hits {
            finding.hits(hit.clone());
        }
        finding.severity(self.severity);
    }

    /// `, so 90 % to subset v1 … is not applied`
    pub(super) fn consequence(&self) -> String {
        self.without.as_ref().map_or_else(String::new, |without| {
            format!(", so {without} is not applied")
        })
    }
}

/// The step's name.
fn word(kind: StepKind) -> &'static str {
    match kind {
        StepKind::Exported => "exported to the client",
        StepKind::Imported => "imported by the client",
        StepKind::GatewayBound => "bound to the client's proxy",
        StepKind::HostKnown => "its host is known",
        StepKind::NotShadowed => "not shadowed",
    }
}

/// The VirtualServices that get lost at this step: for the request that was asked about, or for
/// every client there is.
pub(super) fn lost_at<'m>(
    facts: &Facts<'m>,
    case: Option<&Case<'_>>,
    kind: StepKind,
) -> Vec<Lost<'m>> {
    let mut found = match case {
        Some(case) => for_request(facts.mesh, case),
        None => everywhere(facts.mesh),
    };
    found.retain(|lost| lost.at().is_some_and(|step| step.kind == kind));
    found
}

/// The calling pod, when its own proxy routes the request.
pub(super) fn sidecar<'m>(mesh: &'m Mesh, case: &Case<'_>) -> Option<&'m Object> {
    let outbound = case
        .trace
        .hops
        .first()
        .is_some_and(|hop| hop.direction == HopDirection::Outbound);
    let client = case.client.filter(|_| outbound)?;
    mesh.objects
        .get(Kind::Pod, &client.namespace, &client.name)
        .filter(|pod| !is_router(pod))
}

/// The gateway's pod, when the request comes from outside.
pub(super) fn gateway<'m>(mesh: &'m Mesh, case: &Case<'_>) -> Option<&'m Object> {
    let hop = case
        .trace
        .hops
        .first()
        .filter(|hop| hop.direction == HopDirection::Gateway)?;
    let ProxyRef { namespace, pod, .. } = &hop.proxy;
    mesh.objects.get(Kind::Pod, namespace, pod)
}

/// The host that the request asks for, without a port, in lower case.
pub(super) fn authority(case: &Case<'_>) -> String {
    let authority = RouteCall::of(case, None).authority;
    authority
        .rsplit_once(':')
        .map_or(authority.as_str(), |(host, _)| host)
        .to_ascii_lowercase()
}

/// The VirtualServices that route the request: one for a sidecar, at a gateway all that have the
/// host.
pub(super) fn serving<'m>(
    mesh: &'m Mesh,
    case: &Case<'_>,
    client: Option<&'m Object>,
) -> Vec<&'m Object> {
    if let Some(client) = client {
        // What is no plain HTTP to the client's proxy takes no HTTP route.
        if case.call.to.scheme != Scheme::Http {
            return Vec::new();
        }
        return mesh
            .virtual_services(mesh.scope(client), &case.host)
            .into_iter()
            .take(1)
            .collect();
    }
    let Some(pod) = gateway(mesh, case) else {
        return Vec::new();
    };
    let host = authority(case);
    let Some(server) = mesh.server_for(pod, case.call.to.port, &host) else {
        return Vec::new();
    };
    let has_host =
        |service: &&Object| hosts(service, &mesh.domain).any(|(_, full)| covers(&full, &host));
    mesh.bound(server, &pod.id.namespace)
        .into_iter()
        .filter(has_host)
        .collect()
}

/// What the VirtualService that owns the host does to the request, as objects tell; none when that
/// cannot be told.
pub(super) fn current(mesh: &Mesh, case: &Case<'_>, client: &Object) -> Option<Action> {
    let call = RouteCall::of(case, Some(client));
    let Some(winner) = mesh
        .virtual_services(mesh.scope(client), &case.host)
        .into_iter()
        .next()
    else {
        return Some(Action::of_nothing(&case.host, call.port));
    };
    match call.takes(winner) {
        Taken::Route(_, route) => Some(Action::of(mesh, winner, route, call.port)),
        Taken::Nothing => Some(Action::default()),
        Taken::Unknown => None,
    }
}

fn for_request<'m>(mesh: &'m Mesh, case: &Case<'_>) -> Vec<Lost<'m>> {
    let Some(client) = sidecar(mesh, case).filter(|_| case.call.to.scheme == Scheme::Http) else {
        return Vec::new();
    };
    let Some(current) = current(mesh, case, client) else {
        return Vec::new();
    };
    let scope = mesh.scope(client);
    let call = RouteCall::of(case, Some(client));
    let owners: BTreeSet<&str> = mesh
        .registered(&case.host)
        .map(|owner| owner.id.namespace.as_str())
        .collect();
    let is_owned = !mesh.virtual_services(scope, &case.host).is_empty();
    let mut found = Vec::new();
    for service in mesh.objects.of_kind(Kind::VirtualService) {
        // What is kept in a third namespace is for somebody else.
        if service.id.namespace != scope.namespace
            && !owners.contains(service.id.namespace.as_str())
        {
            continue;
        }
        let Some(host) = naming(mesh, service, &case.host) else {
            continue;
        };
        let steps = until_lost(mesh.sidecar_steps(service, host.str().unwrap_or_default(), scope));
        let Some(step) = steps.last().filter(|step| !step.holds) else {
            continue;
        };
        // One for gateways stands beside one for sidecars.
        if step.kind == StepKind::GatewayBound && (is_owned || is_for_gateway(mesh, service, host))
        {
            continue;
        }
        // A wildcard gives way to a full name by design.
        let is_wide = host.str().is_some_and(|host| host.starts_with('*'));
        if is_wide && matches!(step.kind, StepKind::GatewayBound | StepKind::NotShadowed) {
            continue;
        }
        let Taken::Route(_, route) = call.takes(service) else {
            continue;
        };
        let wanted = Action::of(mesh, service, route, call.port);
        let Some(without) = wanted.beyond(&current) else {
            continue;
        };
        let severity = if may_explain(case, &wanted, &current) {
            Severity::Warning
        } else {
            Severity::Info
        };
        let mut hits = vec![client.id.clone()];
        hits.extend(
            case.service
                .map(|service| ObjectRef::of(Kind::Service, &service.namespace, &service.name)),
        );
        found.push(Lost {
            service,
            host,
            steps,
            hits,
            severity,
            without: Some(without),
            instead: instead(case),
        });
    }
    found
}

/// The route in the client's proxy, and who made it.
fn instead(case: &Case<'_>) -> Option<Evidence> {
    let step = case
        .trace
        .hops
        .first()?
        .steps
        .iter()
        .find(|step| step.stage == TraceStage::Route)?;
    let at = step.evidence.first()?;
    let by = step.object.as_deref().unwrap_or("no VirtualService");
    Some(Evidence::offset(
        &at.doc,
        at.offset,
        format!(
            "in the client's routes: no, it takes {}, made by {by}",
            step.chosen
        ),
    ))
}

/// Whether what was seen could be due to a route that is not applied. A refusal by policy or a
/// broken connection is not.
pub(super) fn may_explain(case: &Case<'_>, wanted: &Action, current: &Action) -> bool {
    let outcome = &case.trace.outcome;
    let (succeeded, code) = match case.seen {
        Some(seen) => (seen.is_success(), seen.code),
        None => (outcome.kind == EndKind::Forwarded, outcome.code),
    };
    let misled = matches!(
        outcome.kind,
        EndKind::NoRoute | EndKind::NoCluster | EndKind::NoEndpoints | EndKind::Answered
    );
    succeeded || matches!(code, 404 | 504) || misled || !wanted.shares_a_host(current)
}

/// The host of a VirtualService that means the one asked for: it has the name, or would if it were
/// written in full.
fn naming<'m>(mesh: &Mesh, service: &'m Object, host: &str) -> Option<&'m Node> {
    let exact = hosts(service, &mesh.domain).find(|(_, full)| full == host);
    let wide = || {
        hosts(service, &mesh.domain).find(|(_, full)| full.starts_with("*.") && covers(full, host))
    };
    let misspelt = || {
        hosts(service, &mesh.domain)
            .find(|(node, full)| means(mesh, node, full).is_some_and(|meant| meant == host))
    };
    exact.or_else(wide).or_else(misspelt).map(|(node, _)| node)
}

/// The full name of the Service that a host should have named: `catalog` in another namespace, or
/// `catalog.shop`.
pub(super) fn means(mesh: &Mesh, host: &Node, full: &str) -> Option<String> {
    if full.starts_with('*') || mesh.registered(full).next().is_some() {
        return None;
    }
    let written = host.str()?.strip_suffix(".svc").unwrap_or(host.str()?);
    let (name, namespace) = match written.split_once('.') {
        None => (written, None),
        Some((name, namespace)) if !namespace.contains('.') => (name, Some(namespace)),
        Some(_) => {
            let (name, namespace) = mesh.domain.service_name(written)?;
            (name, Some(namespace))
        }
    };
    let mut named = mesh.services.iter().filter(|service| {
        service.name == name && namespace.is_none_or(|wanted| wanted == service.namespace)
    });
    let service = named.next().filter(|_| named.next().is_none())?;
    Some(mesh.domain.service(&service.name, &service.namespace))
}

/// Whether a Gateway names this very host, so that the VirtualService is meant for it.
fn is_for_gateway(mesh: &Mesh, service: &Object, host: &Node) -> bool {
    let gateways = service.spec_strings("gateways").filter_map(|entry| {
        let (namespace, name) = gateway_name(entry, &service.id.namespace);
        mesh.gateway(namespace, name)
    });
    gateways.flat_map(servers).any(|server| {
        server.takes(service, host, &mesh.domain)
            && server.hosts().any(|(_, pattern)| pattern != "*")
    })
}

fn until_lost(mut steps: Vec<Step<'_>>) -> Vec<Step<'_>> {
    if let Some(at) = steps.iter().position(|step| !step.holds) {
        steps.truncate(at + 1);
    }
    steps
}

/// The VirtualServices with a host that acts for nobody.
fn everywhere(mesh: &Mesh) -> Vec<Lost<'_>> {
    let clients = clients(mesh);
    let mut found = Vec::new();
    for service in mesh.objects.of_kind(Kind::VirtualService) {
        for (host, full) in hosts(service, &mesh.domain) {
            if !full.starts_with('*') && !acts_at_gateway(mesh, service, host) {
                found.extend(lost_for_all(mesh, &clients, service, host));
            }
        }
    }
    found
}

/// The different scopes that sidecars have, each with the pods in it.
fn clients(mesh: &Mesh) -> Vec<(Scope<'_>, Vec<ObjectRef>)> {
    let mut found: Vec<(Scope<'_>, Vec<ObjectRef>)> = Vec::new();
    let mut known: BTreeMap<(&str, Option<&ObjectRef>), usize> = BTreeMap::new();
    for pod in mesh.pods.iter().filter(|pod| pod.has_proxy) {
        let Some(stored) = mesh
            .objects
            .get(Kind::Pod, &pod.namespace, &pod.name)
            .filter(|pod| !is_router(pod))
        else {
            continue;
        };
        let scope = mesh.scope(stored);
        let key = (scope.namespace, scope.sidecar.map(|sidecar| &sidecar.id));
        let at = *known.entry(key).or_insert_with(|| {
            found.push((scope, Vec::new()));
            found.len() - 1
        });
        found[at].1.push(pod.reference());
    }
    found
}

fn acts_at_gateway(mesh: &Mesh, service: &Object, host: &Node) -> bool {
    let gateways = service.spec_strings("gateways").filter_map(|entry| {
        let (namespace, name) = gateway_name(entry, &service.id.namespace);
        mesh.gateway(namespace, name)
    });
    gateways.flat_map(servers).any(|server| {
        server.takes(service, host, &mesh.domain)
            && server
                .hosts()
                .any(|(_, pattern)| pattern != "*" || !is_internal(mesh, service, host))
    })
}

/// Whether a host is a Service's own name, which clients outside the mesh do not use.
fn is_internal(mesh: &Mesh, service: &Object, host: &Node) -> bool {
    let full = mesh
        .domain
        .fqdn(host.str().unwrap_or_default(), &service.id.namespace);
    mesh.service_of_host(&full).is_some()
}

fn lost_for_all<'m>(
    mesh: &'m Mesh,
    clients: &[(Scope<'m>, Vec<ObjectRef>)],
    service: &'m Object,
    host: &'m Node,
) -> Option<Lost<'m>> {
    let written = host.str().unwrap_or_default();
    // Without any proxy, its own namespace stands for all clients.
    let own = [(mesh.namespace_scope(&service.id.namespace), Vec::new())];
    let clients = if clients.is_empty() {
        &own[..]
    } else {
        clients
    };
    let mut furthest: Option<Lost<'m>> = None;
    let nearest_first = clients
        .iter()
        .filter(|(scope, _)| scope.namespace == service.id.namespace);
    let others = clients
        .iter()
        .filter(|(scope, _)| scope.namespace != service.id.namespace);
    for (scope, pods) in nearest_first.chain(others) {
        let steps = until_lost(mesh.sidecar_steps(service, written, *scope));
        if steps.last().is_none_or(|step| step.holds) {
            return None;
        }
        if furthest
            .as_ref()
            .is_none_or(|lost| lost.steps.len() < steps.len())
        {
            let severity = if is_sound(mesh, service) {
                Severity::Warning
            } else {
                Severity::Info
            };
            furthest = Some(Lost {
                service,
                host,
                steps,
                hits: pods.clone(),
                severity,
                without: None,
                instead: None,
            });
        }
    }
    furthest
}

/// Whether all it leads to is there: what leads nowhere is better off without effect.
fn is_sound(mesh: &Mesh, service: &Object) -> bool {
    destinations(service, &mesh.domain)
        .iter()
        .all(|destination| mesh.registered(&destination.host).next().is_some())
}
