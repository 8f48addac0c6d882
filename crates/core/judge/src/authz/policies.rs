//! What the objects say: the policies as istiod would compile them, asked as the proxy would ask
//! them.

use std::net::{IpAddr, Ipv4Addr};

use super::objects::AuthzObjects;
use super::port::ServerPort;
use super::{AuthzDecision, AuthzVerdict, CallerAnswer, Checker, DecidingRule, PolicyServer, Who};
use crate::policy::{self, Traffic, WorkloadPolicies};
use meshladder_capture::snapshot::Snapshot;
use meshladder_mesh::Mesh;
use meshladder_mesh::peer_authentication::{MutualTls, PeerMode};
use meshladder_mesh::policies::Workload;
use meshladder_sim::filters::{FilterEnvironment, HttpFilters, Overrides, UpstreamState};
use meshladder_sim::path::{PreparedRequest, RequestPreparation};
use meshladder_sim::rbac;
use meshladder_sim::runtime::Runtime;
use meshladder_sim::state::{Peer, RequestState};
use meshladder_sim::trace::DryRun;
use meshladder_sim::walk::{self, Call};
use meshladder_sim::{DecisionRecord, Request};
use meshladder_text::json::Raw;
use meshladder_text::time::Time;
use meshladder_text::tree::Value;

pub(super) fn decide(
    checker: &Checker<'_>,
    call: &Call,
    server: &PolicyServer,
    port: &ServerPort,
    caller: &Who,
) -> AuthzDecision {
    let Checker {
        snapshot,
        mesh,
        objects,
    } = checker;
    if server.has_proxy == Some(false) {
        return AuthzDecision::new(
            AuthzVerdict::Allow,
            "no proxy runs in the pod, so no policy is enforced there",
        );
    }
    if let Some(fact) = objects.missing(snapshot) {
        return AuthzDecision::new(AuthzVerdict::Undecided, fact);
    }
    if let Some(patch) = objects.find_patch(&server.namespace, &server.labels) {
        let fact = format!(
            "what {} {}/{} puts into the proxy",
            patch.id.kind, patch.id.namespace, patch.id.name
        );
        return AuthzDecision::new(AuthzVerdict::Undecided, fact);
    }
    let number = port.number.unwrap_or(call.to.port);
    let case = PolicyCase {
        snapshot,
        mesh,
        objects: *objects,
        server,
        port,
    };
    let admitted = match case.admit(&caller.state, number) {
        Ok(admitted) => admitted,
        Err(refused) => return *refused,
    };
    let address = mesh
        .pod(&server.namespace, &server.name)
        .and_then(|pod| pod.ips.first().copied());
    let address = address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
    let call = Call {
        principal: caller.principal.clone(),
        ..call.clone()
    };
    case.ask(
        &walk::arriving(snapshot, mesh, &call, (address, number)),
        &admitted,
    )
}

/// Why a request is let in.
pub(super) fn allowed(by: Option<&DecidingRule>) -> String {
    by.map_or_else(
        || "no policy forbids it".to_owned(),
        |rule| format!("{rule} lets it in"),
    )
}

/// Why a request is kept out by policies.
pub(super) fn denied(by: Option<&DecidingRule>) -> String {
    match by {
        Some(rule) => format!("{rule} keeps it out"),
        None => "there are ALLOW policies for the workload, and none of them matches".to_owned(),
    }
}

struct PolicyCase<'a> {
    snapshot: &'a Snapshot,
    mesh: &'a Mesh,
    objects: AuthzObjects<'a>,
    server: &'a PolicyServer,
    port: &'a ServerPort,
}

impl PolicyCase<'_> {
    fn workload(&self) -> Workload<'_> {
        Workload {
            namespace: &self.server.namespace,
            labels: Some(&self.server.labels),
            service: None,
        }
    }

    /// The caller as policies see it, or why the connection ends before them.
    fn admit(&self, caller: &Peer, port: u16) -> Result<Peer, Box<AuthzDecision>> {
        let PeerMode { mode, by } = self.mesh.mutual_tls(&self.workload(), port);
        match (mode, caller) {
            // Under STRICT a connection in plain text finds no filter chain.
            (MutualTls::Strict, Peer::Plain) => {
                let by = by.map(|(policy, _)| {
                    DecidingRule::object("PeerAuthentication", policy, self.snapshot)
                });
                let strict = by
                    .as_ref()
                    .map_or_else(|| "the mesh".to_owned(), ToString::to_string);
                let because =
                    format!("{strict} takes mutual TLS only, and the caller sends plain text");
                Err(Box::new(AuthzDecision {
                    by,
                    ..closed("filter_chain_not_found", because)
                }))
            }
            (MutualTls::Disable, Peer::Tls(_)) => Ok(Peer::Plain),
            (_, Peer::Tls(peers)) if !peers.iter().any(|peer| self.is_trusted(peer)) => {
                let domains = self.objects.settings().trust_domains.join(", ");
                let because = format!("the proxy takes certificates of {domains} only");
                Err(Box::new(closed("", because)))
            }
            _ => Ok(caller.clone()),
        }
    }

    /// istiod has proxies ask for certificates of the mesh's own trust domains.
    fn is_trusted(&self, peer: &str) -> bool {
        let domain = peer
            .strip_prefix("spiffe://")
            .and_then(|rest| rest.split('/').next());
        self.objects
            .settings()
            .trust_domains
            .iter()
            .any(|own| Some(&**own) == domain)
    }

    fn ask(&self, request: &Request, caller: &Peer) -> AuthzDecision {
        if self.port.traffic == Traffic::Tcp {
            return self.evaluate(RequestState {
                caller: caller.clone(),
                ..RequestState::tcp(request)
            });
        }
        let manager = manager(self.objects.normalization());
        let manager = Raw::of(&manager).expect("it was just written");
        match RequestPreparation::compile(manager, &Runtime::default()).enter(request) {
            PreparedRequest::Request(entered) => {
                let mut state = RequestState {
                    caller: caller.clone(),
                    ..RequestState::new(&entered)
                };
                look_at_forwarded_for(manager, &mut state);
                self.evaluate(state)
            }
            PreparedRequest::Answered { answer, .. } => {
                let because = format!(
                    "no policy is asked: the proxy answers {} {}",
                    answer.code, answer.details
                );
                AuthzDecision::new(AuthzVerdict::Allow, because)
            }
        }
    }

    fn evaluate(&self, mut state: RequestState<'_>) -> AuthzDecision {
        let objects = self.objects.policies();
        let policies = WorkloadPolicies::compile(
            &objects,
            &self.workload(),
            self.objects.settings(),
            self.port.traffic,
        );
        let now = self.snapshot.taken_at();
        if now.is_none() && policies.jwt.is_some() {
            return AuthzDecision::new(AuthzVerdict::Undecided, "when the Snapshot was taken");
        }
        let mut record = DecisionRecord::keeping();
        let is_tcp = self.port.traffic == Traffic::Tcp;
        let dry_run = self.dry_run(&policies, &state);
        let verdict = policies.evaluate(
            &mut state,
            now.unwrap_or(Time::from_seconds(0)),
            &mut record,
        );
        let near = record.considered.iter();
        let near = near
            .filter_map(|c| Some((self.rule(rbac::near_miss(c)?)?, c.why.clone())))
            .collect();
        AuthzDecision {
            near,
            dry_run,
            ..self.read(verdict, is_tcp, &state.request)
        }
    }

    fn read(
        &self,
        verdict: policy::PolicyVerdict,
        is_tcp: bool,
        request: &Request,
    ) -> AuthzDecision {
        match verdict {
            policy::PolicyVerdict::Allowed { policy } => {
                let by = policy.and_then(|policy| self.rule(&policy));
                AuthzDecision {
                    by: by.clone(),
                    ..AuthzDecision::new(AuthzVerdict::Allow, allowed(by.as_ref()))
                }
            }
            policy::PolicyVerdict::Denied { policy } => {
                let by = policy.as_ref().and_then(|policy| self.rule(policy));
                let details = rbac::details(policy.as_deref());
                let seen = if is_tcp {
                    CallerAnswer::Closed { details }
                } else {
                    let answer = meshladder_sim::Answer::new(request, 403, &[], details);
                    CallerAnswer::Answer {
                        code: answer.code,
                        body: Some("RBAC: access denied"),
                        details: answer.details,
                    }
                };
                let because = denied(by.as_ref());
                AuthzDecision {
                    by,
                    seen: Some(seen),
                    ..AuthzDecision::new(AuthzVerdict::Deny, because)
                }
            }
            policy::PolicyVerdict::Refused(answer) => AuthzDecision {
                seen: Some(CallerAnswer::Answer {
                    code: answer.code,
                    body: None,
                    details: answer.details,
                }),
                ..AuthzDecision::new(
                    AuthzVerdict::Deny,
                    format!("the token is refused: {}", answer.body),
                )
            },
            policy::PolicyVerdict::Undecided(fact) => {
                AuthzDecision::new(AuthzVerdict::Undecided, fact)
            }
        }
    }

    fn dry_run(
        &self,
        policies: &WorkloadPolicies,
        state: &RequestState<'_>,
    ) -> Vec<(bool, Option<DecidingRule>)> {
        let filters = [&policies.deny, &policies.allow].into_iter().flatten();
        let outcomes = filters
            .map(|filter| filter.evaluate(&mut state.clone(), &mut DecisionRecord::dropping()));
        let dry = outcomes.filter_map(|outcome| DryRun::of(&outcome));
        dry.map(|dry| (dry.denies, dry.policy.and_then(|policy| self.rule(&policy))))
            .collect()
    }

    fn rule(&self, policy: &str) -> Option<DecidingRule> {
        DecidingRule::named(policy, self.objects, self.snapshot)
    }
}

/// A connection that ends before any policy is asked.
fn closed(details: &str, because: String) -> AuthzDecision {
    let seen = CallerAnswer::Closed {
        details: details.to_owned(),
    };
    AuthzDecision {
        seen: Some(seen),
        ..AuthzDecision::new(AuthzVerdict::Deny, because)
    }
}

impl AuthzDecision {
    pub(super) fn new(verdict: AuthzVerdict, because: impl Into<String>) -> Self {
        let because = because.into();
        Self {
            verdict,
            because,
            by: None,
            near: Vec::new(),
            dry_run: Vec::new(),
            seen: None,
        }
    }
}

/// The part of a sidecar's inbound connection manager that changes what policies see.
/// "DEFAULT: Apply default normalizations. Currently, this is BASE."
fn manager(normalization: &str) -> String {
    let (normalize, merge, slashes) = match normalization {
        "NONE" => (false, false, "KEEP_UNCHANGED"),
        "MERGE_SLASHES" => (true, true, "KEEP_UNCHANGED"),
        "DECODE_AND_MERGE_SLASHES" => (true, true, "UNESCAPE_AND_FORWARD"),
        _ => (true, false, "KEEP_UNCHANGED"),
    };
    let manager = [
        ("normalize_path", Value::Bool(normalize)),
        ("merge_slashes", Value::Bool(merge)),
        ("path_with_escaped_slashes_action", slashes.into()),
        ("use_remote_address", Value::Bool(false)),
    ];
    Value::object(manager).to_json()
}

/// The client's address as the connection manager tells it to filters.
fn look_at_forwarded_for(manager: Raw<'_>, state: &mut RequestState<'_>) {
    let chain = HttpFilters::compile(manager, &Runtime::default(), &|_| None);
    let upstream = |_: &str| UpstreamState::Missing;
    let environment = FilterEnvironment {
        now: Time::from_seconds(0),
        upstream: &upstream,
        cluster: None,
    };
    chain.evaluate(
        &Overrides::default(),
        state,
        &environment,
        &mut DecisionRecord::dropping(),
    );
}
