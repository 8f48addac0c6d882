//! See the page beside this file.

use super::meets::{hit_ends, pods, ztunnel_documents, ztunnel_set};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_capture::ztunnel::dump::ZtunnelDump;
use meshladder_mesh::views::Pod;

pub(super) static RULE: Rule = Rule {
    code: "ML4005",
    name: "ztunnel-certificate-unavailable",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "ztunnels have a certificate for every pod that they serve",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[
        Kind::DaemonSet,
        Kind::Deployment,
        Kind::Namespace,
        Kind::ConfigMap,
    ])
    .and(&[Part::Ztunnels]),
    explains: &["ML06", "ML07", "ML09", "ML10", "ML402", "ML403"],
    docs: include_str!("ztunnel_certificate_unavailable.md"),
    check: Check::Either(check),
};

/// What istiod answers a ztunnel that it does not trust to ask for others.
const NOT_TRUSTED: &str = "impersonation";

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let ends = pods(facts, case);
    for document in ztunnel_documents(facts) {
        let Ok(dump) = ZtunnelDump::read(&document.text) else {
            continue;
        };
        for certificate in &dump.certificates {
            let identity = certificate.identity.trim_start_matches("spiffe://");
            let (namespace, account) = meshladder_capture::ztunnel::policy::parts(identity);
            let hit = ends.iter().find(|(pod, _)| {
                let view = Pod::of(pod);
                pod.id.namespace == namespace
                    && view.service_account() == account
                    && view.node_name().is_some_and(|node| *node == dump.node)
            });
            let Some((pod, _)) = hit else { continue };
            out.examined();
            let Some(why) = certificate.failure() else {
                continue;
            };
            let istiod = facts
                .mesh
                .istiods(None)
                .first()
                .map(|pod| super::meets::workload_of(facts, pod));
            let subject = match istiod.filter(|_| why.contains(NOT_TRUSTED)) {
                Some(istiod) => istiod,
                None => ztunnel_set(facts),
            };
            let message = format!(
                "the ztunnel of {} has no certificate for {identity}: {why}",
                dump.node
            );
            let finding = out.find(
                subject,
                message,
                Evidence::offset(
                    &document.id,
                    certificate.raw.offset(),
                    "the certificate's state",
                ),
            );
            finding.hits(pod.id.clone());
            if let Some(case) = case {
                hit_ends(finding, case);
            }
            finding.fix(Fix::advice(
                "let istiod trust ztunnel's account (CA_TRUSTED_NODE_ACCOUNTS), and let ztunnel reach istiod's port 15012",
            ));
        }
    }
}
