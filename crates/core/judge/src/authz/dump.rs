//! What the server's own proxy would decide.

use super::objects::AuthzObjects;
use super::{AuthzDecision, AuthzVerdict, CallerAnswer, Checker, DecidingRule, PolicyServer, Who};
use meshladder_capture::snapshot::{ProxyRef, Shape, Snapshot};
use meshladder_mesh::Mesh;
use meshladder_sim::cluster::TlsMode;
use meshladder_sim::rbac;
use meshladder_sim::state;
use meshladder_sim::trace::{End, EndKind, Hop, HopDirection, Trace};
use meshladder_sim::walk::{self, Call, Caller};
use meshladder_sim::{CandidateName, MatchCandidate, Tri};

/// The decision, and how it was come by.
pub(super) struct ByDump {
    pub(super) decision: AuthzDecision,
    /// Whether the caller's own proxy sends plain text.
    pub(super) is_plain: bool,
    pub(super) notes: Vec<String>,
}

pub(super) fn decide(
    checker: &Checker<'_>,
    call: &Call,
    server: &PolicyServer,
    port: Option<u16>,
    caller: &Who,
) -> Option<ByDump> {
    let Checker {
        snapshot,
        mesh,
        objects,
    } = checker;
    let proxy = server.proxy.as_ref()?;
    let reader = WalkReader {
        snapshot,
        objects: *objects,
    };
    let mut notes = Vec::new();
    if call.principal.is_none() && has_dump(snapshot, &call.from) {
        let trace = walk::trace(snapshot, mesh, call, true);
        if let Some(decision) = reader.hop_of(&trace, proxy, mesh) {
            // A gateway that is itself the server tells nothing of how it is called.
            let is_plain = trace.hops.first().is_some_and(|hop| {
                hop.direction == HopDirection::Outbound && hop.tls == TlsMode::None
            });
            return Some(ByDump {
                decision,
                is_plain,
                notes,
            });
        }
        notes.push(format!(
            "the caller's own proxy does not send it there: {}",
            trace.outcome.because
        ));
    }
    let call = Call {
        principal: caller.principal.clone(),
        ..call.clone()
    };
    let traces = walk::inbound(snapshot, mesh, proxy, &[(call, port)], true);
    let decision = reader.read_inbound(traces.first()?, caller);
    Some(ByDump {
        decision,
        is_plain: false,
        notes,
    })
}

/// Checks many requests whose callers' own proxies are not looked at.
pub(super) fn decide_inbound(
    checker: &Checker<'_>,
    case: &[(Call, Option<u16>, Who)],
    proxy: &ProxyRef,
) -> Vec<AuthzDecision> {
    let Checker {
        snapshot,
        mesh,
        objects,
    } = checker;
    let told = |(call, port, who): &(Call, Option<u16>, Who)| {
        (
            Call {
                principal: who.principal.clone(),
                ..call.clone()
            },
            *port,
        )
    };
    let calls: Vec<_> = case.iter().map(told).collect();
    let traces = walk::inbound(snapshot, mesh, proxy, &calls, true);
    let reader = WalkReader {
        snapshot,
        objects: *objects,
    };
    traces
        .iter()
        .zip(case)
        .map(|(trace, (.., who))| reader.read_inbound(trace, who))
        .collect()
}

fn has_dump(snapshot: &Snapshot, from: &Caller) -> bool {
    let (namespace, name) = match from {
        Caller::Pod { namespace, name } => (namespace, name),
        // Of gateways the walk finds the one that fits.
        Caller::Outside => return true,
        Caller::Somebody => return false,
    };
    snapshot
        .proxies_with(Shape::ConfigDump)
        .any(|(proxy, _)| proxy.namespace == *namespace && proxy.pod == *name)
}

/// The policies that a proxy looked at, in order.
fn policies(hop: &Hop) -> impl Iterator<Item = &MatchCandidate> {
    hop.steps
        .iter()
        .flat_map(|step| &step.considered)
        .filter(|candidate| matches!(candidate.what, CandidateName::Policy { .. }))
}

/// Reads what policies decided out of a walk.
struct WalkReader<'s> {
    snapshot: &'s Snapshot,
    objects: AuthzObjects<'s>,
}

impl WalkReader<'_> {
    /// The server's part in a walk that began at the caller; none when the walk does not come
    /// there.
    fn hop_of(&self, trace: &Trace, server: &ProxyRef, mesh: &Mesh) -> Option<AuthzDecision> {
        let is_server = |hop: &&Hop| {
            hop.direction != HopDirection::Outbound
                && hop.proxy.is_of(&server.namespace, &server.pod)
        };
        let hop = trace.hops.iter().find(is_server)?;
        let pod = mesh.pod(&server.namespace, &server.pod);
        let leads = |(address, _)| pod.is_some_and(|pod| pod.ips.contains(&address));
        let branch = trace
            .branches
            .iter()
            .find(|branch| branch.endpoint.is_some_and(leads));
        Some(self.read(
            branch.map_or(&trace.outcome, |branch| &branch.end),
            Some(hop),
        ))
    }

    /// A walk that began at the server.
    fn read_inbound(&self, trace: &Trace, caller: &Who) -> AuthzDecision {
        let hop = trace.hops.first();
        let decision = self.read(&trace.outcome, hop);
        // The walk was in plain text, which is one guess of many.
        let is_guess = caller.state == state::Peer::Unknown
            && (decision.verdict != AuthzVerdict::Allow
                || hop.is_some_and(|hop| policies(hop).next().is_some()));
        if is_guess {
            AuthzDecision::new(AuthzVerdict::Undecided, "the caller's identity")
        } else {
            decision
        }
    }

    fn read(&self, end: &End, hop: Option<&Hop>) -> AuthzDecision {
        let verdict = match end.kind {
            EndKind::Denied | EndKind::TlsMismatch | EndKind::Reset | EndKind::NoListener => {
                AuthzVerdict::Deny
            }
            EndKind::Undecided => AuthzVerdict::Undecided,
            _ => AuthzVerdict::Allow,
        };
        let allowed_by = || {
            let matched =
                hop.and_then(|hop| policies(hop).filter(|p| p.matched == Tri::Yes).last());
            match &matched?.what {
                CandidateName::Policy { name, .. } => Some(name.clone()),
                CandidateName::Other(_) => None,
            }
        };
        let policy = match verdict {
            AuthzVerdict::Deny => rbac::policy_in(&end.details).map(str::to_owned),
            AuthzVerdict::Allow => allowed_by(),
            AuthzVerdict::Undecided => None,
        };
        let by = policy.and_then(|policy| self.rule(&policy));
        let near = hop.into_iter().flat_map(policies);
        let near = near.filter_map(|considered| {
            Some((
                self.rule(rbac::near_miss(considered)?)?,
                considered.why.clone(),
            ))
        });
        let dry_run = hop.into_iter().flat_map(|hop| &hop.dry_run);
        AuthzDecision {
            because: because(verdict, end, by.as_ref()),
            seen: (verdict == AuthzVerdict::Deny).then(|| seen(end)),
            near: near.collect(),
            dry_run: dry_run
                .map(|dry| (dry.denies, dry.policy.as_ref().and_then(|p| self.rule(p))))
                .collect(),
            verdict,
            by,
        }
    }

    fn rule(&self, policy: &str) -> Option<DecidingRule> {
        DecidingRule::named(policy, self.objects, self.snapshot)
    }
}

fn because(verdict: AuthzVerdict, end: &End, by: Option<&DecidingRule>) -> String {
    match (verdict, end.kind) {
        (AuthzVerdict::Allow, EndKind::Forwarded) => super::policies::allowed(by),
        (AuthzVerdict::Allow, _) => format!("{}; {}", super::policies::allowed(by), end.because),
        (AuthzVerdict::Deny, _) if rbac::policy_in(&end.details).is_some() => {
            super::policies::denied(by)
        }
        _ => end.because.clone(),
    }
}

fn seen(end: &End) -> CallerAnswer {
    if end.code == 0 {
        return CallerAnswer::Closed {
            details: end.details.clone(),
        };
    }
    let body = rbac::policy_in(&end.details).map(|_| "RBAC: access denied");
    CallerAnswer::Answer {
        code: end.code,
        body,
        details: end.details.clone(),
    }
}
