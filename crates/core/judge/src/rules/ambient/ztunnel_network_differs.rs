//! See the page beside this file.

use super::meets::{ztunnel_documents, ztunnel_set};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_capture::ztunnel::dump::ZtunnelDump;
use meshladder_mesh::ObjectRef;

pub(super) static RULE: Rule = Rule {
    code: "ML4007",
    name: "ztunnel-network-differs",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "a ztunnel is on the network of the workloads on its node",
    needs: Inputs::NONE,
    uses: Inputs::of(&[Kind::DaemonSet, Kind::Pod]).and(&[Part::Ztunnels]),
    explains: &["ML06", "ML07", "ML08", "ML09", "ML10", "ML402", "ML403"],
    docs: include_str!("ztunnel_network_differs.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for document in ztunnel_documents(facts) {
        let Ok(dump) = ZtunnelDump::read(&document.text) else {
            continue;
        };
        if dump.config.is_none() {
            continue;
        }
        out.examined();
        let here = || {
            let on_node = dump.workloads.iter().filter(|workload| workload.is_pod());
            on_node.filter(|workload| workload.node == dump.node)
        };
        let Some(other) = here().find(|workload| workload.network != dump.network) else {
            continue;
        };
        let own = if dump.network.is_empty() {
            "none"
        } else {
            &dump.network
        };
        let message = format!(
            "the ztunnel of {} is told its network is {own}, and that of the workloads there is {}: it finds no Service and sends plain text",
            dump.node, other.network
        );
        let finding = out.find(
            ztunnel_set(facts),
            message,
            Evidence::offset(&document.id, other.raw.offset(), "a workload of its node"),
        );
        for workload in here() {
            finding.hits(ObjectRef::of(
                Kind::Pod,
                &workload.namespace,
                &workload.name,
            ));
        }
        finding.fix(Fix::advice(
            "set NETWORK of ztunnel to the label topology.istio.io/network of the system namespace",
        ));
    }
}
