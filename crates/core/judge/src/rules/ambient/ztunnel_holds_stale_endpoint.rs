//! See the page beside this file.

use super::meets::{hit_ends, tunnel_ends};
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::ObjectRef;
use meshladder_mesh::ambient::NodeAgent;
use meshladder_sim::trace::TunnelFault;

pub(super) static RULE: Rule = Rule {
    code: "ML4006",
    name: "ztunnel-holds-stale-endpoint",
    aka: &[],
    rung: Rung::Sync,
    severity: Severity::Error,
    claim: "ztunnel holds no address that no pod has any more",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[Kind::DaemonSet, Kind::Service]).and(&[Part::Ztunnels]),
    explains: &["ML06", "ML07", "ML08", "ML10"],
    docs: include_str!("ztunnel_holds_stale_endpoint.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let Some(hop) = case.trace.hops.first().filter(|hop| hop.is_ztunnel) else {
        return;
    };
    out.examined();
    let stale = tunnel_ends(case).find_map(|(_, end)| match end.why {
        TunnelFault::Stale(address) => Some(address),
        _ => None,
    });
    let Some(address) = stale else { return };
    let subject = facts.mesh.node_agent_set(NodeAgent::Ztunnel).map_or_else(
        || ObjectRef::of(Kind::Pod, &hop.proxy.namespace, &hop.proxy.pod),
        |set| set.id.clone(),
    );
    let message = format!(
        "ztunnel {} sends {} to {address}, which no pod has any more: it does not have the latest endpoints",
        hop.proxy, case.host
    );
    let Some(place) = hop.steps.iter().find_map(|step| step.evidence.first()) else {
        return;
    };
    let finding = out.find(
        subject,
        message,
        Evidence::offset(&place.doc, place.offset, format!("it still has {address}")),
    );
    finding.confidence(Confidence::Likely);
    finding.hits(ObjectRef::of(
        Kind::Pod,
        &hop.proxy.namespace,
        &hop.proxy.pod,
    ));
    hit_ends(finding, case);
    finding.fix(Fix::advice("see why it does not hear from istiod: its log, NetworkPolicies on port 15012, istiod itself"));
}
