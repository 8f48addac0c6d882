//! See the page beside this file.

use super::denial::{self, As};
use crate::finding::{Evidence, Rung, Severity};
use crate::policy::PolicyVerdict;
use crate::rules::endpoints::meant_pods;
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::{ObjectRef, PodFacts};
use meshladder_sim::rbac::PolicyName;
use meshladder_sim::trace::EndKind;

/// One fault may hide another: the request does not get as far as the policy that would deny it.
pub(super) static RULE: Rule = Rule {
    code: "ML0917",
    name: "denied-once-repaired",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Info,
    claim: "no policy would deny a request that fails before it gets there",
    needs: Inputs::of(&[Kind::Pod, Kind::Service, Kind::AuthorizationPolicy]),
    uses: Inputs::of(&[
        Kind::RequestAuthentication,
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::VirtualService,
        Kind::Sidecar,
    ])
    .and(&[Part::Proxies, Part::Logs]),
    explains: &[],
    docs: include_str!("denied_once_repaired.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let Some(server) = server(facts, case).filter(|_| ends_before(case)) else {
        return;
    };
    let caller = As {
        account: None,
        mutual_tls: case.client.is_some_and(|client| client.has_proxy),
    };
    let Some(PolicyVerdict::Denied { policy }) = denial::verdict(facts, case, server, caller)
    else {
        return;
    };
    let named = policy.as_deref().and_then(PolicyName::parse);
    let id = match named {
        Some(name) => Some(ObjectRef::of(
            Kind::AuthorizationPolicy,
            name.namespace,
            name.name,
        )),
        None => denial::policies(facts, Some(case), server, "ALLOW")
            .first()
            .map(|policy| policy.id.clone()),
    };
    let Some(stored) = id.and_then(|id| facts.mesh.objects.find(&id)) else {
        return;
    };
    let message = format!(
        "once that is repaired, {} will still deny {} at {}",
        stored.id,
        accounts::call(case),
        server.workload()
    );
    let rules = stored.spec_at(["rules"]).unwrap_or(&stored.node);
    out.find(
        stored.id.clone(),
        message,
        Evidence::of(stored, rules, "what it lets through, or denies"),
    )
    .hits(server.reference());
}

/// Whether the caller's own proxy ends the request.
fn ends_before(case: &Case<'_>) -> bool {
    let early = |kind: EndKind| {
        matches!(
            kind,
            EndKind::NoRoute | EndKind::NoCluster | EndKind::NoEndpoints | EndKind::NoListener
        )
    };
    !case.trace.branches.is_empty()
        && case
            .trace
            .branches
            .iter()
            .all(|branch| early(branch.end.kind))
}

/// A pod that the request is meant for.
fn server<'r>(facts: &Facts<'r>, case: &Case<'r>) -> Option<&'r PodFacts> {
    let meant = || {
        let service = case.service?;
        let service = facts.mesh.service(&service.namespace, &service.name)?;
        let pod = meant_pods(facts.mesh, service).into_iter().next()?;
        facts.mesh.pod(&pod.id.namespace, &pod.id.name)
    };
    case.servers
        .first()
        .copied()
        .or_else(meant)
        .filter(|pod| pod.has_proxy)
}
