//! Whether policy lets one request in: as the server's proxy would decide, where its dump is at
//! hand, and as the objects say.

use std::net::IpAddr;

use meshladder_capture::Kind;
use meshladder_capture::snapshot::Snapshot;
use meshladder_mesh::ambient::Redirection;
use meshladder_mesh::{Mesh, PodFacts};
use meshladder_sim::state;
use meshladder_sim::walk::{Call, Caller, Principal};

mod ambient;
mod dump;
mod frame;
mod objects;
mod policies;
mod port;
mod server;

pub use frame::{DecidingRule, PolicyExcerpt};
use objects::AuthzObjects;
pub use server::PolicyServer;

/// The answer.
#[derive(Clone, Debug)]
pub struct AuthzCheck {
    /// The pod, or the workload when there is no pod: `shop/payments-68f779d5c8-6hbvg`.
    pub server: String,
    /// The pod's port, when it is known.
    pub port: u16,
    /// Who calls, in words.
    pub caller: String,
    /// What the answer is drawn from.
    pub basis: Basis,
    /// What is decided.
    pub decision: AuthzDecision,
    /// What the objects say, where the proxy decides otherwise: it does not have what the objects
    /// say.
    pub objects: Option<AuthzDecision>,
    /// What else should be known.
    pub notes: Vec<String>,
}

/// What an answer is drawn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The server's config dump.
    Dump,
    /// Kubernetes objects alone.
    Objects,
}

/// One decision and its reasons.
#[derive(Clone, Debug)]
pub struct AuthzDecision {
    /// What it is.
    pub verdict: AuthzVerdict,
    /// Why, in one line; for an undecided one the fact that is missing.
    pub because: String,
    /// What decided: a rule, or a whole object.
    pub by: Option<DecidingRule>,
    /// Rules that did not match for one reason only, each with that reason.
    pub near: Vec<(DecidingRule, String)>,
    /// What policies that are only tried out would have done: whether they deny, and which.
    pub dry_run: Vec<(bool, Option<DecidingRule>)>,
    /// What the caller gets when it is not let in.
    pub seen: Option<CallerAnswer>,
}

/// Whether the request is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthzVerdict {
    /// It is.
    Allow,
    /// It is not.
    Deny,
    /// It cannot be told.
    Undecided,
}

/// What a caller that is not let in gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallerAnswer {
    /// An answer.
    Answer {
        /// The status; 200 for gRPC.
        code: u16,
        /// The body, when it is known; gRPC has it as `grpc-message`.
        body: Option<&'static str>,
        /// What the log of the server's proxy says.
        details: String,
    },
    /// A connection that is closed.
    Closed {
        /// What the log of the server's proxy says; empty when it says nothing.
        details: String,
    },
}

/// What is asked again for every request, read once.
#[derive(Debug)]
pub struct Checker<'s> {
    snapshot: &'s Snapshot,
    mesh: &'s Mesh,
    objects: AuthzObjects<'s>,
}

impl<'s> Checker<'s> {
    /// Reads the objects.
    pub fn new(snapshot: &'s Snapshot, mesh: &'s Mesh) -> Self {
        Self {
            snapshot,
            mesh,
            objects: AuthzObjects::new(mesh),
        }
    }

    /// Decides one request to one server: by its proxy's dump where that is at hand, and by the
    /// objects.
    pub fn check(&self, call: &Call, server: &PolicyServer) -> AuthzCheck {
        let caller = Who::of(call, self.mesh, self.objects);
        let port = port::find(self.objects, self.mesh, server, &call.to);
        if let Some(decision) = ambient::decide(self, call, server) {
            return AuthzCheck {
                server: server.to_string(),
                port: port.number.unwrap_or(call.to.port),
                caller: caller.words(),
                basis: Basis::Dump,
                decision,
                objects: None,
                notes: server.notes.clone(),
            };
        }
        let by_dump = dump::decide(self, &caller.told(call), server, port.number, &caller);
        let is_plain = by_dump.as_ref().is_some_and(|by_dump| by_dump.is_plain);
        let caller = if is_plain {
            Who {
                state: state::Peer::Plain,
                ..caller
            }
        } else {
            caller
        };
        let by_objects = policies::decide(self, &caller.told(call), server, &port, &caller);
        let shown = AuthzCheck {
            server: server.to_string(),
            port: port.number.unwrap_or(call.to.port),
            caller: caller.words(),
            basis: Basis::Objects,
            decision: by_objects,
            objects: None,
            notes: server.notes.clone(),
        };
        let Some(by_dump) = by_dump else {
            let notes = shown
                .notes
                .iter()
                .cloned()
                .chain(self.objects.note(self.snapshot))
                .collect();
            return AuthzCheck { notes, ..shown };
        };
        shown.beside(by_dump)
    }

    /// What the server's proxy would decide of requests that reach it as they are described; none
    /// without a dump of it.
    pub fn by_dump(&self, calls: &[Call], server: &PolicyServer) -> Option<Vec<AuthzDecision>> {
        let proxy = server.proxy.as_ref()?;
        let inbound = calls.iter().map(|call| {
            let caller = Who::of(call, self.mesh, self.objects);
            (
                caller.told(call),
                port::find(self.objects, self.mesh, server, &call.to).number,
                caller,
            )
        });
        Some(dump::decide_inbound(
            self,
            &inbound.collect::<Vec<_>>(),
            proxy,
        ))
    }

    /// What the objects say, whatever a proxy has.
    pub fn by_objects(&self, call: &Call, server: &PolicyServer) -> AuthzDecision {
        let caller = Who::of(call, self.mesh, self.objects);
        let port = port::find(self.objects, self.mesh, server, &call.to);
        policies::decide(self, &caller.told(call), server, &port, &caller)
    }
}

impl AuthzCheck {
    /// The dump decides; the objects are told where they say otherwise.
    fn beside(self, mut by_dump: dump::ByDump) -> Self {
        let verdicts = [self.decision.verdict, by_dump.decision.verdict];
        // A filter chain that is not there does not tell which object took it away.
        if verdicts == [AuthzVerdict::Deny; 2]
            && by_dump.decision.by.is_none()
            && let Some(rule) = self
                .decision
                .by
                .as_ref()
                .filter(|rule| rule.kind == "PeerAuthentication")
        {
            by_dump.decision.by = Some(rule.clone());
            by_dump.decision.because.clone_from(&self.decision.because);
        }
        let differs = verdicts[0] != verdicts[1] && !verdicts.contains(&AuthzVerdict::Undecided);
        Self {
            basis: Basis::Dump,
            objects: differs.then_some(self.decision),
            decision: by_dump.decision,
            notes: [self.notes, by_dump.notes].concat(),
            ..self
        }
    }
}

/// The caller as the server sees it.
struct Who {
    state: state::Peer,
    principal: Option<Principal>,
    source: Option<IpAddr>,
}

impl Who {
    /// A pod with a proxy comes by mutual TLS, with the identity of its service account; one
    /// without, in plain text.
    fn of(call: &Call, mesh: &Mesh, objects: AuthzObjects<'_>) -> Self {
        let pod = match &call.from {
            Caller::Pod { namespace, name } => mesh.pod(namespace, name),
            Caller::Outside | Caller::Somebody => None,
        };
        let domain = objects
            .settings()
            .trust_domains
            .first()
            .map_or("cluster.local", |domain| domain);
        // ztunnel speaks in the name of the pods that it has captured.
        let is_captured = |pod: &PodFacts| {
            let object = mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name);
            object.is_some_and(|object| Redirection::of(object) == Redirection::Enabled)
        };
        let own = pod.filter(|pod| pod.has_proxy || is_captured(pod));
        let own = own.map(|pod| Principal::of(domain, &pod.namespace, &pod.service_account));
        let principal = call.principal.clone().or(own);
        let state = match (&principal, pod) {
            (Some(principal), _) => state::Peer::Tls(vec![principal.uri().to_owned()]),
            (None, Some(_)) => state::Peer::Plain,
            (None, None) => state::Peer::Unknown,
        };
        let source = call
            .source_ip
            .or_else(|| pod.and_then(|pod| pod.ips.first().copied()));
        Self {
            state,
            principal,
            source,
        }
    }

    /// The question with what is known of the caller filled in.
    fn told(&self, call: &Call) -> Call {
        Call {
            source_ip: self.source,
            ..call.clone()
        }
    }

    fn words(&self) -> String {
        match (&self.state, &self.principal) {
            (state::Peer::Tls(_), Some(principal)) => principal.uri().to_owned(),
            (state::Peer::Unknown, _) => "a caller whose identity was not said".to_owned(),
            _ => "a caller in plain text".to_owned(),
        }
    }
}
