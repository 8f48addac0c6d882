//! See the page beside this file.

use super::denial::{self, As, is_dry_run};
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::policy::PolicyVerdict;
use crate::rules::config::nearest::nearest;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::Object;
use meshladder_mesh::policies::{Workload, reaches};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0905",
    name: "custom-provider-unknown",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "every CUSTOM policy names a provider that the mesh's configuration has",
    needs: Inputs::of(&[Kind::AuthorizationPolicy, Kind::ConfigMap, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::RequestAuthentication,
        Kind::Service,
        Kind::VirtualService,
        Kind::Sidecar,
    ])
    .and(&[Part::Proxies, Part::Logs]),
    explains: &[],
    docs: include_str!("custom_provider_unknown.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    // Without it nothing is known of providers.
    if facts.mesh.config.tree.is_none() {
        return;
    }
    for policy in facts.mesh.objects.of_kind(Kind::AuthorizationPolicy) {
        let is_custom = policy.spec_at(["action"]).and_then(Node::str) == Some("CUSTOM");
        let pods = reached(facts, case, policy);
        if is_custom
            && !is_dry_run(policy)
            && !pods.is_empty()
            && case.is_none_or(|case| meets(facts, case, policy))
        {
            out.examined();
            provider_of(facts, policy, &pods, out);
        }
    }
}

/// Whether the policy, as it stands now, denies the request.
fn meets(facts: &Facts<'_>, case: &Case<'_>, policy: &Object) -> bool {
    let name = format!("ns[{}]-policy[{}]-", policy.id.namespace, policy.id.name);
    let is_open = case.seen.is_none_or(|seen| seen.code == 403);
    let denies = |server: &&meshladder_mesh::PodFacts| {
        let verdict = denial::verdict(facts, case, server, As::default());
        matches!(verdict, Some(PolicyVerdict::Denied { policy: Some(policy) }) if policy.contains(&name))
    };
    let told =
        |denial: &denial::Denial<'_>| denial.policy.is_some_and(|policy| policy.contains(&name));
    is_open && (case.servers.iter().any(denies) || denial::denials(facts, case).iter().any(told))
}

/// The pods that the policy reaches, of those that the question is about.
fn reached<'r>(facts: &Facts<'r>, case: Option<&Case<'_>>, policy: &Object) -> Vec<&'r Object> {
    let is_asked = |pod: &&Object| {
        case.is_none_or(|case| {
            let on_path = case
                .trace
                .hops
                .iter()
                .any(|hop| hop.proxy.is_of(&pod.id.namespace, &pod.id.name));
            on_path
                && case
                    .client
                    .is_none_or(|client| client.reference() != pod.id)
                || case
                    .servers
                    .iter()
                    .any(|server| server.reference() == pod.id)
        })
    };
    let root = &facts.mesh.config.root_namespace;
    let pods = facts.mesh.objects.of_kind(Kind::Pod).iter();
    pods.filter(is_asked)
        .filter(|pod| reaches(&policy.node, &Workload::of(pod), root))
        .collect()
}

fn provider_of(facts: &Facts<'_>, policy: &Object, pods: &[&Object], out: &mut Sink) {
    let node = policy.spec_at(["provider", "name"]);
    let name = node.and_then(Node::str).unwrap_or_default();
    let config = &facts.mesh.config;
    let message = match (
        config.authorization_provider(name),
        other_provider(facts, policy, pods[0]),
    ) {
        (Some(_), None) => return,
        (Some(_), Some(other)) => format!(
            "{} asks the provider {name} and {} another one for the same workload, and istiod takes only one: all that they match is denied",
            policy.id, other.id
        ),
        (None, _) => {
            let known: Vec<&str> = config
                .providers
                .iter()
                .map(|provider| &*provider.name)
                .collect();
            let known = if known.is_empty() {
                "none".to_owned()
            } else {
                known.join(", ")
            };
            format!(
                "{} asks the provider {name}, which the mesh's extensionProviders do not have (they have {known}), so all that it matches is denied",
                policy.id
            )
        }
    };
    let proof = Evidence::of(
        policy,
        node.or(policy.spec()).unwrap_or(&policy.node),
        "the provider it names",
    );
    let finding = out.find(policy.id.clone(), message, proof);
    if let Some(map) = config
        .object
        .as_ref()
        .and_then(|id| facts.mesh.objects.find(id))
    {
        let mesh = map.node.at(["data", "mesh"]).unwrap_or(&map.node);
        finding.see(Evidence::of(map, mesh, "the mesh's configuration"));
    }
    for pod in pods {
        finding.hits(pod.id.clone());
    }
    let known = config.providers.iter().map(|provider| &*provider.name);
    let near = nearest(
        name,
        known.filter(|known| config.authorization_provider(known).is_some()),
    );
    if let (Some(near), Some(node)) = (near, node) {
        finding.fix(Fix::patch(
            &policy.id,
            [Op::replace(policy.path_of(node), near)],
        ));
    }
    finding.fix(Fix::delete(&policy.id));
    if config.authorization_provider(name).is_none() {
        finding.fix(Fix::advice(format!(
            "add {name} to extensionProviders, as envoyExtAuthzHttp or envoyExtAuthzGrpc"
        )));
    }
}

/// An older CUSTOM policy of the pod that asks another provider.
fn other_provider<'r>(facts: &Facts<'r>, policy: &Object, pod: &Object) -> Option<&'r Object> {
    let provider = |policy: &Object| {
        policy
            .spec_at(["provider", "name"])
            .and_then(Node::str)
            .map(str::to_owned)
    };
    let older = facts
        .mesh
        .policies(Kind::AuthorizationPolicy, &Workload::of(pod));
    let mut older = older.into_iter().take_while(|other| other.id != policy.id);
    older.find(|other| {
        denial::action_of(other) == "CUSTOM"
            && !is_dry_run(other)
            && provider(other) != provider(policy)
    })
}
