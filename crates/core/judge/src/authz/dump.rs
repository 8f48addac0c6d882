//! What the server's own proxy would decide.

use super::objects::Objects;
use super::{Checker, Decision, Rule, Seen, Server, Verdict, Who};
use meshladder_capture::snapshot::{ProxyRef, Shape, Snapshot};
use meshladder_mesh::Mesh;
use meshladder_sim::rbac;
use meshladder_sim::state;
use meshladder_sim::trace::{End, EndKind, Hop, Trace};
use meshladder_sim::walk::{self, Call, Caller};
use meshladder_sim::{MatchCandidate, Tri};

/// The decision, and how it was come by.
pub(super) struct ByDump {
    pub(super) decision: Decision,
    /// Whether the caller's own proxy sends plain text.
    pub(super) is_plain: bool,
    pub(super) notes: Vec<String>,
}

pub(super) fn decide(
    checker: &Checker<'_>,
    call: &Call,
    server: &Server,
    port: Option<u16>,
    caller: &Who,
) -> Option<ByDump> {
    let Checker {
        snapshot,
        mesh,
        objects,
    } = checker;
    let proxy = server.proxy.as_ref()?;
    let reader = Reader {
        snapshot,
        objects: *objects,
    };
    let mut notes = Vec::new();
    if call.principal.is_none() && has_dump(snapshot, &call.from) {
        let trace = walk::trace(snapshot, mesh, call, true);
        if let Some(decision) = reader.hop_of(&trace, proxy, mesh) {
            // A gateway that is itself the server tells nothing of how it is called.
            let is_plain = trace
                .hops
                .first()
                .is_some_and(|hop| hop.direction == "outbound" && hop.tls == "none");
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

/// The same for many requests whose callers' own proxies are not looked at.
pub(super) fn decide_inbound(
    checker: &Checker<'_>,
    case: &[(Call, Option<u16>, Who)],
    proxy: &ProxyRef,
) -> Vec<Decision> {
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
    let reader = Reader {
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
        .filter(|considered| considered.what.starts_with("policy "))
}

/// Reads what policies decided out of a walk.
struct Reader<'s> {
    snapshot: &'s Snapshot,
    objects: Objects<'s>,
}

impl Reader<'_> {
    /// The server's part in a walk that began at the caller; none when the walk does not come
    /// there.
    fn hop_of(&self, trace: &Trace, server: &ProxyRef, mesh: &Mesh) -> Option<Decision> {
        let name = format!("{}/{}", server.namespace, server.pod);
        let hop = trace
            .hops
            .iter()
            .find(|hop| hop.direction != "outbound" && hop.proxy == name)?;
        let pod = mesh.pod(&server.namespace, &server.pod);
        let leads = |endpoint: &String| {
            let address = endpoint
                .rsplit_once(':')
                .and_then(|(address, _)| address.trim_matches(['[', ']']).parse().ok());
            address.is_some_and(|address| pod.is_some_and(|pod| pod.ips.contains(&address)))
        };
        let branch = trace
            .branches
            .iter()
            .find(|branch| branch.endpoint.as_ref().is_some_and(leads));
        Some(self.read(
            branch.map_or(&trace.outcome, |branch| &branch.end),
            Some(hop),
        ))
    }

    /// A walk that began at the server.
    fn read_inbound(&self, trace: &Trace, caller: &Who) -> Decision {
        let hop = trace.hops.first();
        let decision = self.read(&trace.outcome, hop);
        // The walk was in plain text, which is one guess of many.
        let is_guess = caller.state == state::Peer::Unknown
            && (decision.verdict != Verdict::Allow
                || hop.is_some_and(|hop| policies(hop).next().is_some()));
        if is_guess {
            Decision::new(Verdict::Undecided, "the caller's identity")
        } else {
            decision
        }
    }

    fn read(&self, end: &End, hop: Option<&Hop>) -> Decision {
        let verdict = match end.kind {
            EndKind::Denied | EndKind::TlsMismatch | EndKind::Reset | EndKind::NoListener => {
                Verdict::Deny
            }
            EndKind::Undecided => Verdict::Undecided,
            _ => Verdict::Allow,
        };
        let allowed_by = || {
            let matched =
                hop.and_then(|hop| policies(hop).filter(|p| p.matched == Tri::Yes).last());
            matched
                .and_then(|policy| policy.what.strip_prefix("policy "))
                .map(str::to_owned)
        };
        let policy = match verdict {
            Verdict::Deny => rbac::policy_in(&end.details).map(str::to_owned),
            Verdict::Allow => allowed_by(),
            Verdict::Undecided => None,
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
        Decision {
            because: because(verdict, end, by.as_ref()),
            seen: (verdict == Verdict::Deny).then(|| seen(end)),
            near: near.collect(),
            dry_run: dry_run
                .map(|dry| (dry.denies, dry.policy.as_ref().and_then(|p| self.rule(p))))
                .collect(),
            verdict,
            by,
        }
    }

    fn rule(&self, policy: &str) -> Option<Rule> {
        Rule::named(policy, self.objects, self.snapshot)
    }
}

fn because(verdict: Verdict, end: &End, by: Option<&Rule>) -> String {
    match (verdict, end.kind) {
        (Verdict::Allow, EndKind::Forwarded) => super::policies::allowed(by),
        (Verdict::Allow, _) => format!("{}; {}", super::policies::allowed(by), end.because),
        (Verdict::Deny, _) if rbac::policy_in(&end.details).is_some() => {
            super::policies::denied(by)
        }
        _ => end.because.clone(),
    }
}

fn seen(end: &End) -> Seen {
    if end.code == 0 {
        return Seen::Closed {
            details: end.details.clone(),
        };
    }
    let body = rbac::policy_in(&end.details).map(|_| "RBAC: access denied");
    Seen::Answer {
        code: end.code,
        body,
        details: end.details.clone(),
    }
}
