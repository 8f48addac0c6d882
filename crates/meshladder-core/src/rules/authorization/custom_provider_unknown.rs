//! See the page beside this file.

use super::denial::is_dry_run;
use crate::doc::tree::Node;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::mesh::Stored;
use crate::mesh::policies::{Workload, reaches};
use crate::rules::{Asked, Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML0905",
    name: "custom-provider-unknown",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "every CUSTOM policy names a provider that the mesh's configuration has",
    needs: &["k8s/authorizationpolicies.security.istio.io.json", "k8s/configmaps.json", "k8s/pods.json"],
    uses: &[],
    explains: &[],
    docs: include_str!("custom_provider_unknown.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, asked: Option<&Asked<'_>>, out: &mut Sink) {
    // Without it nothing is known of providers.
    if facts.mesh.config.tree.is_none() {
        return;
    }
    for policy in facts.mesh.objects.of_kind("AuthorizationPolicy") {
        let is_custom = policy.spec_at(["action"]).and_then(Node::str) == Some("CUSTOM");
        let pods = reached(facts, asked, policy);
        if is_custom && !is_dry_run(policy) && !pods.is_empty() {
            out.examined();
            provider_of(facts, policy, &pods, out);
        }
    }
}

/// The pods that the policy reaches, of those that the question is about.
fn reached<'r>(facts: &Facts<'r>, asked: Option<&Asked<'_>>, policy: &Stored) -> Vec<&'r Stored> {
    let is_asked = |pod: &&Stored| {
        asked.is_none_or(|asked| {
            let on_path =
                asked.trace.hops.iter().any(|hop| hop.proxy == format!("{}/{}", pod.id.namespace, pod.id.name));
            on_path && asked.client.is_none_or(|client| client.reference() != pod.id)
                || asked.servers.iter().any(|server| server.reference() == pod.id)
        })
    };
    let root = &facts.mesh.config.root_namespace;
    let pods = facts.mesh.objects.of_kind("Pod").iter();
    pods.filter(is_asked).filter(|pod| reaches(&policy.node, &Workload::of(pod), root)).collect()
}

fn provider_of(facts: &Facts<'_>, policy: &Stored, pods: &[&Stored], out: &mut Sink) {
    let node = policy.spec_at(["provider", "name"]);
    let name = node.and_then(Node::str).unwrap_or_default();
    let config = &facts.mesh.config;
    if config.authorization_provider(name).is_some() {
        return;
    }
    let known: Vec<&str> = config.providers.iter().map(|provider| &*provider.name).collect();
    let known = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
    let message = format!(
        "{} asks the provider {name}, which the mesh's extensionProviders do not have ({known}), so all that it matches is denied",
        policy.id
    );
    let proof = Evidence::of(policy, node.or(policy.spec()).unwrap_or(&policy.node), "the provider it names");
    let finding = out.find(policy.id.clone(), message, proof);
    if let Some(map) = config.object.as_ref().and_then(|id| facts.mesh.objects.find(id)) {
        let mesh = map.node.at(["data", "mesh"]).unwrap_or(&map.node);
        finding.see(Evidence::of(map, mesh, "the mesh's configuration, without that provider"));
    }
    for pod in pods {
        finding.hits(pod.id.clone());
    }
    finding.fix(Fix::delete(&policy.id));
    finding.fix(Fix::advice(format!("add {name} to extensionProviders, as envoyExtAuthzHttp or envoyExtAuthzGrpc")));
}
