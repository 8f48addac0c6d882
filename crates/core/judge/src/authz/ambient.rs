//! A server without a proxy of its own that its node's ztunnel stands before: the ztunnel decides by
//! layer 4, and the waypoint, where the call goes through one, by the rest.

use super::frame::DecidingRule;
use super::{AuthzDecision, AuthzVerdict, CallerAnswer, Checker, PolicyServer};
use meshladder_capture::Kind;
use meshladder_mesh::ambient::Redirection;
use meshladder_sim::rbac::policy_in;
use meshladder_sim::trace::{End, EndKind, TunnelFault};
use meshladder_sim::walk::{self, Call, Caller};

/// What is decided on the way to a captured pod; none for another server, or where nobody said who
/// calls.
pub(super) fn decide(
    checker: &Checker<'_>,
    call: &Call,
    server: &PolicyServer,
) -> Option<AuthzDecision> {
    let pod = checker
        .mesh
        .objects
        .get(Kind::Pod, &server.namespace, &server.name)?;
    let is_captured =
        server.has_proxy != Some(true) && Redirection::of(pod) == Redirection::Enabled;
    if !is_captured || call.from == Caller::Somebody {
        return None;
    }
    let trace = walk::trace(checker.snapshot, checker.mesh, call, false);
    let end = &trace.outcome;
    let verdict = match end.kind {
        EndKind::Forwarded => AuthzVerdict::Allow,
        EndKind::Denied => AuthzVerdict::Deny,
        _ => AuthzVerdict::Undecided,
    };
    let because = match end.kind {
        EndKind::Forwarded => "neither ztunnel nor a waypoint refuses it".to_owned(),
        EndKind::Denied | EndKind::Undecided => end.because.clone(),
        _ => format!("it does not get as far as policies: {}", end.because),
    };
    Some(AuthzDecision {
        verdict,
        because,
        by: by(checker, end),
        near: Vec::new(),
        dry_run: Vec::new(),
        seen: (verdict == AuthzVerdict::Deny).then(|| seen(end)),
    })
}

/// The object that refuses, where one does by itself.
fn by(checker: &Checker<'_>, end: &End) -> Option<DecidingRule> {
    if let Some(policy) = policy_in(&end.details) {
        return DecidingRule::named(policy, checker.objects, checker.snapshot);
    }
    let Some(TunnelFault::Denied(namespace, name)) = end.tunnel.as_ref().map(|end| &end.why) else {
        return None;
    };
    let policy = checker
        .objects
        .find_policy(Kind::AuthorizationPolicy, namespace, name)?;
    Some(DecidingRule::object(
        "AuthorizationPolicy",
        policy,
        checker.snapshot,
    ))
}

/// A waypoint answers; ztunnel closes the connection.
fn seen(end: &End) -> CallerAnswer {
    if end.code == 0 {
        return CallerAnswer::Closed {
            details: end.details.clone(),
        };
    }
    CallerAnswer::Answer {
        code: end.code,
        body: None,
        details: end.details.clone(),
    }
}
