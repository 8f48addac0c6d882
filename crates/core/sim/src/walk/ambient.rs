//! Pods without a proxy of their own whose traffic their node's ztunnel takes: out of them as
//! ztunnel looks addresses up, through a waypoint where one is named, and into them past the
//! policies of layer 4.

use std::net::IpAddr;
use std::rc::Rc;

use super::documents::{self, ZtunnelEntry};
use super::hop::{Forward, Next, Sent, Way};
use super::{Call, Caller, Scheme, Server, Walk, Walker, nowhere};
use crate::cluster::TlsMode;
use crate::request::{Request, Tls};
use crate::trace::{
    At, Branch, End, EndKind, EndpointFact, EndpointHealth, Hop, HopDirection, Log, Step,
    StepOutcome, TraceStage, TunnelEnd, TunnelFault,
};
use meshladder_capture::Kind;
use meshladder_capture::ztunnel::dump::{ZtunnelDump, ZtunnelSection, ZtunnelWorkload};
use meshladder_capture::ztunnel::policy::{L4Connection, L4Decision, L4Policy, decide};
use meshladder_mesh::ambient::{HBONE, NodeAgent, Redirection};
use meshladder_mesh::views::Pod;
use meshladder_mesh::{Object, PodFacts};

mod lookup;

use lookup::{Lead, look_up, told};

/// The ztunnel of a pod's node.
enum NodeZtunnel<'w, 'd> {
    /// Its dump.
    Here(&'w ZtunnelDump<'d>, &'w ZtunnelEntry<'d>),
    /// None runs there.
    None,
    /// There is no dump of it: the missing fact.
    Unseen(String),
}

impl<'d> Walk<'d> {
    /// A ztunnel's dump, read.
    fn ztunnel(&self, number: usize) -> Result<&ZtunnelDump<'d>, &str> {
        let read = || {
            let document = self.documents.ztunnels[number].open(self.documents.snapshot)?;
            ZtunnelDump::read(&document.text).map_err(|fault| document.problem(&fault).to_string())
        };
        let read = self.ztunnels[number].get_or_init(read);
        read.as_ref().map_err(String::as_str)
    }

    /// The ztunnel of a pod's node.
    fn ztunnel_of(&self, pod: &Object) -> NodeZtunnel<'_, 'd> {
        let node = Pod::of(pod).node_name().map_or("", |node| node.value);
        let by_objects = self.mesh.node_agent(NodeAgent::Ztunnel, node);
        let name = by_objects.map(|pod| (pod.namespace(), pod.name()));
        for (number, entry) in self.documents.ztunnels.iter().enumerate() {
            let is_named = name.is_some_and(|(namespace, name)| entry.proxy.is_of(namespace, name));
            // Where its pod is not known, it says itself where it runs.
            let is_here = is_named
                || name.is_none()
                    && self
                        .mesh
                        .pod(&entry.proxy.namespace, &entry.proxy.pod)
                        .is_none()
                    && self.ztunnel(number).is_ok_and(|dump| dump.node == node);
            if is_here {
                return match self.ztunnel(number) {
                    Ok(dump) => NodeZtunnel::Here(dump, entry),
                    Err(fact) => NodeZtunnel::Unseen(fact.to_owned()),
                };
            }
        }
        match name {
            Some((namespace, name)) => NodeZtunnel::Unseen(documents::missing(namespace, name)),
            None => NodeZtunnel::None,
        }
    }

    /// Whether the traffic of a pod is redirected to ztunnel.
    pub(super) fn redirection(&self, pod: &PodFacts) -> Redirection {
        let object = self.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name);
        match object {
            Some(object) if !pod.has_proxy => Redirection::of(object),
            _ => Redirection::None,
        }
    }
}

impl Walker<'_, '_> {
    /// A call of a pod whose traffic ztunnel takes.
    pub(super) fn leave_captured(
        &self,
        pod: &PodFacts,
        source: Option<IpAddr>,
    ) -> (Vec<Hop>, Vec<Branch>) {
        let walk = self.walk;
        let Some(object) = walk.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) else {
            return nowhere(End::undecided("the calling pod"));
        };
        let ended = |why, because: String| {
            nowhere(ended(
                EndKind::Reset,
                (&pod.namespace, &pod.name),
                None,
                why,
                because,
            ))
        };
        if Redirection::of(object) == Redirection::Pending {
            let because = format!("{}: ztunnel has not taken its traffic over", object.id);
            return ended(TunnelFault::NotServed, because);
        }
        let (dump, entry) = match walk.ztunnel_of(object) {
            NodeZtunnel::Here(dump, entry) => (dump, entry),
            NodeZtunnel::None => {
                let because = format!("no ztunnel runs on the node of {}", object.id);
                return ended(TunnelFault::NoZtunnel, because);
            }
            NodeZtunnel::Unseen(fact) => return nowhere(End::undecided(&fact)),
        };
        let Some(own) = dump.pod(&pod.namespace, &pod.name) else {
            if !dump.has(ZtunnelSection::Workloads) {
                return nowhere(End::undecided(&documents::missing(
                    &entry.proxy.namespace,
                    &entry.proxy.pod,
                )));
            }
            let because = format!("ztunnel {} does not know {}", entry.proxy, object.id);
            return ended(TunnelFault::UnknownPod, because);
        };
        let identity = identity_of(self.call, own);
        let request = self.request(self.plain_connection(source));
        let mut hop = Hop {
            proxy: entry.proxy.clone(),
            direction: HopDirection::Outbound,
            is_ztunnel: true,
            ..Hop::default()
        };
        let mut ways = Vec::new();
        let targets = self.dialled();
        #[expect(
            clippy::cast_precision_loss,
            reason = "a Service has far fewer pods than a float has digits"
        )]
        let share = 1.0 / targets.len().max(1) as f64;
        for target in targets {
            let found = look_up(dump, own, target);
            let outcome = if found.is_ok() {
                StepOutcome::GoesOn
            } else {
                StepOutcome::Ended
            };
            let (chosen, at) = told(&found, target);
            hop.steps
                .push(step(TraceStage::Endpoint, outcome, chosen, at, entry));
            ways.extend(self.ways(found, target, share, &identity, &request, own, &mut hop));
        }
        let (mut hops, branches) = self.onwards(hop, ways);
        // ztunnel logs connections, and no answers.
        if let Some(first) = hops.first_mut() {
            first.log = Log::default();
        }
        (hops, branches)
    }

    /// The addresses that the application dials for the URL's host.
    fn dialled(&self) -> Vec<(IpAddr, u16)> {
        let Call { to, from, .. } = self.call;
        let namespace = if let Caller::Pod { namespace, .. } = from {
            namespace
        } else {
            "default"
        };
        let host = to.host.trim_end_matches('.').to_ascii_lowercase();
        if let Some(service) = self.walk.mesh.service_named(&host, namespace)
            && service.cluster_ips.is_empty()
            && service.external_name.is_empty()
        {
            let pods = self.walk.mesh.pods_of(service);
            let addresses = pods.filter_map(|pod| Some((*pod.ips.first()?, to.port)));
            return addresses.collect();
        }
        vec![(self.walk.address(&to.host, namespace), to.port)]
    }

    #[expect(clippy::too_many_arguments, reason = "what one connection is made of")]
    fn ways(
        &self,
        found: Result<Vec<Lead>, (TunnelFault, usize)>,
        target: (IpAddr, u16),
        share: f64,
        identity: &str,
        request: &Request,
        own: &ZtunnelWorkload<'_>,
        hop: &mut Hop,
    ) -> Vec<Way> {
        let end_here = |why: TunnelFault| {
            let because = match &why {
                TunnelFault::NoWaypoint(name) => format!("the waypoint {name} has no endpoint"),
                _ => format!("nothing behind {}:{} can take it", target.0, target.1),
            };
            let kind = EndKind::NoEndpoints;
            ended(
                kind,
                (&own.namespace, &own.name),
                Some(identity),
                why,
                because,
            )
        };
        let way = |weight, endpoint, next| Way {
            weight: Some(weight),
            cluster: None,
            endpoint,
            flags: Vec::new(),
            next,
        };
        let leads = match found {
            Ok(leads) => leads,
            Err((why, _)) => return vec![way(share, None, Next::End(end_here(why)))],
        };
        let is_tcp = self.call.to.scheme == Scheme::Tcp;
        #[expect(clippy::cast_precision_loss, reason = "few endpoints")]
        let share = share / leads.len().max(1) as f64;
        let mut ways = Vec::new();
        for lead in leads {
            if lead.by_tunnel {
                hop.tls = TlsMode::Istio;
            }
            let socket = lead.waypoint.unwrap_or(lead.destination);
            hop.endpoints.push(EndpointFact {
                cluster: String::new(),
                address: format!("{}:{}", socket.0, socket.1),
                socket: Some(socket),
                health: EndpointHealth::Healthy,
                elsewhere: None,
            });
            if lead.is_pod && self.is_gone(lead.destination.0) {
                let (address, _) = lead.destination;
                let why = TunnelFault::Stale(address);
                let because = format!("no pod has the address {address} any more");
                let name = (&*own.namespace, &*own.name);
                let end = ended(EndKind::Reset, name, Some(identity), why, because);
                ways.push(way(share, Some(lead.destination), Next::End(end)));
                continue;
            }
            let mut sent = request.clone();
            sent.connection.destination = lead.destination;
            let sent = Rc::new(Sent {
                request: sent,
                is_tcp,
                unknown: None,
                tunnel: lead.by_tunnel.then(|| identity.to_owned()),
            });
            ways.push(way(
                share,
                Some(lead.destination),
                Next::Forward(Forward {
                    sent,
                    destination: lead.destination,
                    waypoint: lead.waypoint,
                    elsewhere: None,
                }),
            ));
        }
        ways
    }

    /// Whether no pod has an address, as far as pods are known.
    fn is_gone(&self, address: IpAddr) -> bool {
        !self.walk.mesh.pods.is_empty() && self.walk.mesh.pod_at(address).is_none()
    }

    /// A connection out of a tunnel at a waypoint.
    pub(super) fn enter_waypoint(
        &self,
        (address, _): (IpAddr, u16),
        forward: &Forward,
    ) -> (Vec<Hop>, Vec<Branch>) {
        let number = match self.walk.server(address) {
            Server::Proxy(number) => number,
            Server::Unseen(fact) => return nowhere(End::undecided(&fact)),
            Server::Captured | Server::None { .. } => {
                let because = format!("no waypoint answers at {address} any more");
                let pod = (String::new(), String::new());
                let end = ended(
                    EndKind::Reset,
                    (&pod.0, &pod.1),
                    forward.sent.tunnel.as_deref(),
                    TunnelFault::Stale(address),
                    because,
                );
                return nowhere(end);
            }
        };
        let proxy = match self.walk.proxy(number) {
            Ok(proxy) => proxy,
            Err(fact) => return nowhere(End::undecided(fact)),
        };
        let identity = forward.sent.tunnel.as_deref().unwrap_or_default();
        let request = forward.arrived();
        let (hop, ways) = proxy.waypoint(&request, identity, self.now, self.detail);
        self.onwards(hop, ways)
    }

    /// A connection at a pod that ztunnel stands before: through a tunnel, or in plain text.
    pub(super) fn enter_captured(
        &self,
        forward: &Forward,
        peer: Option<IpAddr>,
    ) -> (Vec<Hop>, Vec<Branch>) {
        let address = forward.destination.0;
        let walk = self.walk;
        let Some(pod) = walk.mesh.pod_at(address) else {
            return nowhere(End::undecided("the pod that is called"));
        };
        let Some(object) = walk.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) else {
            return nowhere(End::undecided("the pod that is called"));
        };
        let identity = forward.sent.tunnel.as_deref();
        let name = (pod.namespace.as_str(), pod.name.as_str());
        let connection = L4Connection {
            source: peer,
            identity: identity.map(|identity| identity.trim_start_matches("spiffe://").to_owned()),
            destination: forward.destination,
        };
        let of_objects: Vec<L4Policy>;
        let (policies, entry, dump) = match walk.ztunnel_of(object) {
            NodeZtunnel::Here(dump, entry) => {
                let Some(own) = dump.pod(&pod.namespace, &pod.name) else {
                    if !dump.has(ZtunnelSection::Workloads) {
                        let fact = documents::missing(&entry.proxy.namespace, &entry.proxy.pod);
                        return nowhere(End::undecided(&fact));
                    }
                    let because = format!("ztunnel {} does not know {}", entry.proxy, object.id);
                    let why = TunnelFault::UnknownPod;
                    return nowhere(ended(EndKind::Reset, name, identity, why, because));
                };
                (dump.policies_of(own).collect(), Some(entry), Some(dump))
            }
            NodeZtunnel::None => {
                let because = format!("no ztunnel runs on the node of {}", object.id);
                let why = TunnelFault::NoZtunnel;
                return nowhere(ended(EndKind::Reset, name, identity, why, because));
            }
            // What istiod would send is known from objects.
            NodeZtunnel::Unseen(_) => {
                of_objects = walk.mesh.l4_policies_of(object);
                (of_objects.iter().collect::<Vec<_>>(), None, None)
            }
        };
        if peer.is_none() && policies.iter().any(|policy| asks_for_source(policy)) {
            return nowhere(End::undecided("the source address"));
        }
        let decision = decide(policies.iter().copied(), &connection);
        let (end, chosen) = conclude(&decision, name, identity);
        let at = match &decision {
            L4Decision::Denied(policy) | L4Decision::Allowed(Some(policy)) => {
                dump.and_then(|dump| place_of(dump, policy))
            }
            L4Decision::Allowed(None) | L4Decision::NotAllowed => None,
        };
        let mut end = end;
        let mut hops = Vec::new();
        if let Some(entry) = entry {
            let outcome = if end.kind == EndKind::Forwarded {
                StepOutcome::GoesOn
            } else {
                StepOutcome::Ended
            };
            end.evidence.extend(at.map(|offset| At {
                doc: entry.id.clone(),
                offset,
            }));
            hops.push(Hop {
                proxy: entry.proxy.clone(),
                direction: HopDirection::Inbound,
                is_ztunnel: true,
                steps: vec![step(TraceStage::Network, outcome, chosen, at, entry)],
                ..Hop::default()
            });
        }
        let (_, branches) = nowhere(end);
        (hops, branches)
    }

    /// A connection through a tunnel to a pod with a sidecar, which ends the tunnel itself.
    pub(super) fn out_of_tunnel(forward: &Forward) -> Request {
        let mut request = forward.arrived();
        if let Some(identity) = &forward.sent.tunnel {
            let alpn = if forward.sent.is_tcp {
                "istio-peer-exchange"
            } else {
                "istio-http/1.1"
            };
            request.connection.tls = Some(Tls {
                sni: None,
                alpn: vec![alpn.to_owned(), "istio".to_owned()],
                peer: Some(vec![identity.clone()]),
            });
            request.connection.plain_http = None;
        }
        request
    }

    /// Who is called by tunnel and is not captured: nothing listens on the tunnel's port.
    pub(super) fn not_captured(&self, forward: &Forward) -> (Vec<Hop>, Vec<Branch>) {
        let (address, _) = forward.destination;
        let identity = forward.sent.tunnel.as_deref();
        let (name, why, because) = match self.walk.mesh.pod_at(address) {
            Some(pod) => (
                (pod.namespace.as_str(), pod.name.as_str()),
                TunnelFault::NotCaptured,
                format!(
                    "{}/{} is not captured: nothing listens on its port {HBONE}",
                    pod.namespace, pod.name
                ),
            ),
            None => (
                ("", ""),
                TunnelFault::Stale(address),
                format!("no pod has the address {address} any more"),
            ),
        };
        nowhere(ended(EndKind::Reset, name, identity, why, because))
    }
}

/// The caller's identity as the tunnel's certificate has it.
fn identity_of(call: &Call, own: &ZtunnelWorkload<'_>) -> String {
    match &call.principal {
        Some(principal) => principal.uri().to_owned(),
        None => format!("spiffe://{}", own.identity()),
    }
}

fn asks_for_source(policy: &L4Policy) -> bool {
    let mut matches = policy.rules.iter().flatten().flatten();
    matches.any(|one| !one.source_ips.is_empty())
}

fn conclude(decision: &L4Decision<'_>, pod: (&str, &str), identity: Option<&str>) -> (End, String) {
    let who = identity.map_or("plain text, without an identity", |identity| identity);
    match decision {
        L4Decision::Allowed(policy) => {
            let chosen = match policy {
                Some(policy) => format!("the policy {} lets {who} in", policy.key()),
                None => "no policy of layer 4 is against it".to_owned(),
            };
            let because = "it reaches the application";
            (
                End::new(EndKind::Forwarded, 200, "via_upstream", because),
                chosen,
            )
        }
        L4Decision::Denied(policy) => {
            let because = format!("the policy {} denies {who}", policy.key());
            let why = TunnelFault::Denied(policy.namespace.clone(), policy.name.clone());
            let by = if policy.is_of_peer_authentication() {
                "PeerAuthentication".to_owned()
            } else {
                format!("AuthorizationPolicy {}", policy.key())
            };
            let end = ended(EndKind::Denied, pod, identity, why, because.clone()).by(by);
            (end, because)
        }
        L4Decision::NotAllowed => {
            let because = format!("there are ALLOW policies of layer 4, and none lets {who} in");
            let why = TunnelFault::NotAllowed;
            let end = ended(EndKind::Denied, pod, identity, why, because.clone());
            (end.by("the ALLOW policies"), because)
        }
    }
}

fn ended(
    kind: EndKind,
    (namespace, name): (&str, &str),
    identity: Option<&str>,
    why: TunnelFault,
    because: String,
) -> End {
    let mut end = End::new(kind, 0, "", because);
    end.tunnel = Some(Box::new(TunnelEnd {
        why,
        pod: (namespace.to_owned(), name.to_owned()),
        identity: identity.map(str::to_owned),
    }));
    end
}

fn place_of(dump: &ZtunnelDump<'_>, policy: &L4Policy) -> Option<usize> {
    let mut all = dump.policies.iter();
    let (_, raw) =
        all.find(|(own, _)| own.namespace == policy.namespace && own.name == policy.name)?;
    Some(raw.offset())
}

fn step(
    stage: TraceStage,
    outcome: StepOutcome,
    chosen: String,
    at: Option<usize>,
    entry: &ZtunnelEntry<'_>,
) -> Step {
    let evidence = at.map(|offset| At {
        doc: entry.id.clone(),
        offset,
    });
    Step {
        stage,
        outcome,
        chosen,
        considered: Vec::new(),
        evidence: evidence.into_iter().collect(),
        object: None,
    }
}
