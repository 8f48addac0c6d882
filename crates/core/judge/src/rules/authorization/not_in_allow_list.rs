//! See the page beside this file.

use super::unmatched::{self, Unmatched, Why};
use super::{denial, dumped};
use crate::finding::{Confidence, Evidence, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::{Object, ObjectRef, PodFacts};
use meshladder_sim::rbac::PolicyName;
use meshladder_text::shell;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0902",
    name: "not-in-allow-list",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "where there are ALLOW policies, one of them matches the request",
    needs: Inputs::of(&[Kind::Pod]),
    uses: Inputs::of(&[
        Kind::PeerAuthentication,
        Kind::AuthorizationPolicy,
        Kind::RequestAuthentication,
        Kind::ServiceAccount,
        Kind::Service,
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::VirtualService,
        Kind::Sidecar,
    ])
    .and(&[Part::Proxies, Part::Logs]),
    explains: &[],
    docs: include_str!("not_in_allow_list.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    if !denial::is_readable(facts) {
        return unread(facts, case, out);
    }
    if let Some(found) = unmatched::find(facts, case)
        && matches!(found.why, Why::NotListed)
    {
        tell(facts, case, &found, out);
    }
}

fn tell(facts: &Facts<'_>, case: &Case<'_>, found: &Unmatched<'_>, out: &mut Sink) {
    let policy = found.policies[0];
    let principal = denial::principal(facts, case, found.denial.server);
    let by = principal
        .as_ref()
        .map(|principal| format!(" by {principal}"))
        .unwrap_or_default();
    let message = format!(
        "{} for {} does not list {}{by}, and what no ALLOW policy lists is denied",
        policy.id,
        found.denial.server.workload(),
        accounts::call(case),
    );
    let rules = policy
        .spec_at(["rules"])
        .or(policy.spec())
        .unwrap_or(&policy.node);
    let finding = out.find(
        policy.id.clone(),
        message,
        Evidence::of(policy, rules, "all that it allows"),
    );
    for other in &found.policies[1..] {
        finding.see(Evidence::object(other, "it allows something else"));
    }
    finding
        .see(found.denial.proof.clone())
        .hits(found.denial.server.reference());
    finding.is_asked_for(denial::is_asked_for(facts, case, found.denial.server));
    let caller = denial::caller(facts, case, found.denial.server);
    let port = denial::server_port(facts, case, found.denial.server).to_string();
    for op in lists(case, policy, caller, principal.as_deref(), &port) {
        finding.fix(Fix::patch(&policy.id, [op]));
    }
    // A rule for the caller's identity alone would go round the token.
    if denial::wants_token(policy) {
        finding.fix(Fix::advice(
            "call with a token that has what the policy asks for",
        ));
    } else if finding.fixes.is_empty() {
        finding.fixes.extend(
            principal
                .as_deref()
                .map(|principal| admit(policy, found.denial.server, principal)),
        );
    }
    finding.fix(Fix::advice(
        "call from a workload that the policy admits, if the call was never meant to be allowed",
    ));
}

/// Lets this caller in alone: by one more rule, or by a policy beside one that is there to allow
/// nothing.
fn admit(policy: &Object, server: &PodFacts, principal: &str) -> Fix {
    if !policy.spec_list("rules").is_empty() {
        let source = Value::nested(["source", "principals"], [principal]);
        let rule = Value::nested(["from"], [source]);
        return Fix::patch(&policy.id, [Op::add("/spec/rules/-", rule)]);
    }
    let name = format!("{}-callers", server.workload().name);
    let id = ObjectRef::of(Kind::AuthorizationPolicy, &server.namespace, &name);
    let label = server
        .labels
        .get("app")
        .map(|app| format!("  selector:\n    matchLabels:\n      app: {app}\n"));
    let yaml = format!(
        "apiVersion: security.istio.io/v1\nkind: AuthorizationPolicy\nmetadata:\n  name: {name}\n  namespace: {}\nspec:\n{}  action: ALLOW\n  rules:\n  - from:\n    - source:\n        principals: [{principal}]",
        server.namespace,
        label.unwrap_or_default()
    );
    Fix::create(&id, yaml)
}

/// The objects are kept from us, but the server's proxy has their names.
fn unread(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let denials = denial::denials(facts, case);
    let Some(denial) = denials.into_iter().find(|denial| denial.policy.is_none()) else {
        return;
    };
    let Some((name, at)) = dumped::allow_policy(facts, denial.server) else {
        let server = denial.server.workload();
        return out.unknown(format!(
            "the AuthorizationPolicies for {server}, of which no ALLOW matches"
        ));
    };
    let Some(id) = PolicyName::parse(&name)
        .map(|n| ObjectRef::of(Kind::AuthorizationPolicy, n.namespace, n.name))
    else {
        return;
    };
    let message = format!(
        "{id} for {} does not list {}, as its proxy tells; the object itself could not be read",
        denial.server.workload(),
        accounts::call(case)
    );
    let finding = out.find(id.clone(), message, at);
    finding
        .see(denial.proof)
        .hits(denial.server.reference())
        .confidence(Confidence::Likely);
    finding.fix(Fix::look(shell::command(
        "kubectl get authorizationpolicy {} -n {} -o yaml",
        &[&id.name, &id.namespace],
    )));
}

/// Patches that add the caller, or what it does, to one list each; the ladder keeps those that
/// help.
fn lists(
    case: &Case<'_>,
    policy: &Object,
    caller: Option<&PodFacts>,
    principal: Option<&str>,
    port: &str,
) -> Vec<Op> {
    let path = case.call.to.path.split(['?', '#']).next();
    let authority = case.call.to.authority();
    let given = case
        .call
        .headers
        .iter()
        .find(|(name, _)| name == "host")
        .map(|(_, value)| value.as_str());
    let host = Some(given.unwrap_or(&authority));
    let added = [
        ("from", "source", "principals", principal),
        (
            "from",
            "source",
            "namespaces",
            caller.map(|caller| caller.namespace.as_str()),
        ),
        (
            "to",
            "operation",
            "methods",
            Some(case.call.method.as_str()),
        ),
        ("to", "operation", "paths", path),
        ("to", "operation", "ports", Some(port)),
        ("to", "operation", "hosts", host),
    ];
    let mut ops = Vec::new();
    for rule in policy.spec_list("rules") {
        for (entries, part, key, value) in added {
            let parts = rule
                .get(entries)
                .map_or(&[][..], Node::items)
                .iter()
                .filter_map(|entry| entry.get(part));
            for (list, value) in parts
                .filter_map(|part| part.get(key))
                .zip(value.into_iter().cycle())
            {
                let at = policy.path_of(list);
                ops.push(Op::add(format!("{at}/-"), value));
            }
        }
    }
    ops
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshladder_capture::snapshot::{Builder, DocId};
    use meshladder_mesh::Mesh;

    #[test]
    fn a_policy_that_asks_for_a_token_is_not_gone_round() {
        for (rule, expected) in [
            (
                "{when: [{key: 'request.auth.claims[group]', values: [admin]}]}",
                true,
            ),
            ("{from: [{source: {requestPrincipals: ['*']}}]}", true),
            (
                "{from: [{source: {principals: [cluster.local/ns/shop/sa/web]}}], to: [{operation: {paths: [/a]}}]}",
                false,
            ),
        ] {
            let text = format!(
                "kind: AuthorizationPolicy\nmetadata: {{name: a, namespace: shop}}\nspec: {{rules: [{rule}]}}\n"
            );
            let mut builder = Builder::new();
            builder.add(DocId::new("k8s/a.yaml"), "a.yaml", text.into_bytes());
            let mesh = Mesh::build(&builder.finish());
            let policy = mesh
                .objects
                .get(Kind::AuthorizationPolicy, "shop", "a")
                .expect("it is there");
            assert_eq!(denial::wants_token(policy), expected, "{rule}");
        }
    }
}
