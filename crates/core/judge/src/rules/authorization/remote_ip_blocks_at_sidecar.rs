//! See the page beside this file.

use super::denial::{fields, is_dry_run};
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::policies::Workload;
use meshladder_mesh::scope::is_router;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0910",
    name: "remote-ip-blocks-at-sidecar",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Warning,
    claim: "who decides by the client's address trusts as many proxies as there are before it",
    needs: Inputs::of(&[Kind::AuthorizationPolicy, Kind::Pod]),
    uses: Inputs::of(&[Kind::ConfigMap]),
    explains: &["ML0902"],
    docs: include_str!("remote_ip_blocks_at_sidecar.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    if case.is_some_and(|case| !case.saw(403)) {
        return;
    }
    // The mesh's own setting reaches gateways and sidecars alike.
    let everywhere = facts
        .mesh
        .config
        .default_config("gatewayTopology")
        .and_then(|t| t.get("numTrustedProxies"));
    let gateways = facts
        .mesh
        .objects
        .of_kind(Kind::Pod)
        .iter()
        .filter(|pod| is_router(pod) && trusts(pod));
    let (None, Some(gateway)) = (everywhere, gateways.into_iter().next()) else {
        return;
    };
    for policy in facts
        .mesh
        .objects
        .of_kind(Kind::AuthorizationPolicy)
        .iter()
        .filter(|policy| !is_dry_run(policy))
    {
        let Some(node) = remote_ip_blocks(policy) else {
            continue;
        };
        out.examined();
        let root = &facts.mesh.config.root_namespace;
        let mut pods = facts.mesh.objects.of_kind(Kind::Pod).iter().filter(|pod| {
            !is_router(pod)
                && !trusts(pod)
                && case.is_none_or(|case| {
                    case.servers
                        .iter()
                        .any(|server| server.reference() == pod.id)
                })
                && meshladder_mesh::policies::reaches(&policy.node, &Workload::of(pod), root)
        });
        if let Some(pod) = pods.next() {
            tell(policy, node, gateway, pod, out);
        }
    }
}

/// Whether the pod's own settings say how many proxies stand before it.
fn trusts(pod: &Object) -> bool {
    pod.annotation("proxy.istio.io/config")
        .is_some_and(|config| config.contains("numTrustedProxies"))
}

fn remote_ip_blocks(policy: &Object) -> Option<&Node> {
    let wanted = ["remoteIpBlocks", "notRemoteIpBlocks", "remote.ip"];
    let mut found = policy
        .spec_list("rules")
        .iter()
        .flat_map(fields)
        .filter(|(field, _)| wanted.contains(field));
    found.next().map(|(_, node)| node)
}

fn tell(policy: &Object, node: &Node, gateway: &Object, pod: &Object, out: &mut Sink) {
    let message = format!(
        "{} looks at the client's address in {}, whose proxy trusts no proxy before it, while {} trusts some",
        policy.id, pod.id, gateway.id
    );
    let finding = out.find(
        policy.id.clone(),
        message,
        Evidence::of(policy, node, "the addresses it looks for"),
    );
    finding.see(Evidence::object(
        gateway,
        "numTrustedProxies is set here only",
    ));
    finding.confidence(Confidence::Likely).hits(pod.id.clone());
    finding.fix(Fix::advice(
        "enforce the policy at the gateway, or set numTrustedProxies for the workload too",
    ));
}
