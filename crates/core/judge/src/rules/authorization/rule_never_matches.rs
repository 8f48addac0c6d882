//! See the page beside this file.

use super::denial::{action_of, fields, is_dry_run};
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::config::nearest::nearest;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::policies::{Workload, reaches};
use meshladder_mesh::services::{ports, target_port};
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0920",
    name: "rule-never-matches",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Warning,
    claim: "policies name callers and ports as proxies know them",
    needs: Inputs::of(&[Kind::AuthorizationPolicy, Kind::Pod, Kind::Service]),
    uses: Inputs::of(&[Kind::ConfigMap, Kind::Namespace, Kind::ServiceAccount]),
    explains: &["ML0902"],
    docs: include_str!("rule_never_matches.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for policy in facts
        .mesh
        .objects
        .of_kind(Kind::AuthorizationPolicy)
        .iter()
        .filter(|policy| !is_dry_run(policy))
    {
        let pods = reached(facts, case, policy);
        if pods.is_empty() || case.is_some_and(|case| !bears(case, policy)) {
            continue;
        }
        out.examined();
        for (field, list) in policy.spec_list("rules").iter().flat_map(fields) {
            for item in list.items() {
                let text = item.str().unwrap_or_default();
                match field {
                    "principals" | "notPrincipals" => {
                        principal(facts, policy, item, text, &pods, out);
                    }
                    "namespaces" | "notNamespaces" => {
                        namespace(facts, policy, item, text, &pods, out);
                    }
                    "ports" | "notPorts" => port(facts, policy, item, text, &pods, out),
                    _ => {}
                }
            }
        }
    }
}

/// A rule that does not match leaves out whom an ALLOW should let in, and lets in whom a DENY
/// should not.
fn bears(case: &Case<'_>, policy: &Object) -> bool {
    let is_refused = case.seen.is_some_and(|seen| seen.code == 403);
    let works = case.seen.is_none_or(crate::rules::Symptom::is_success);
    match action_of(policy) {
        "ALLOW" => is_refused,
        "DENY" => works,
        _ => false,
    }
}

fn reached<'r>(facts: &Facts<'r>, case: Option<&Case<'_>>, policy: &Object) -> Vec<&'r Object> {
    let root = &facts.mesh.config.root_namespace;
    let is_asked = |pod: &&Object| {
        case.is_none_or(|case| {
            case.servers
                .iter()
                .any(|server| server.reference() == pod.id)
        })
    };
    let near: Vec<&'r Object> = if policy.id.namespace == **root {
        facts.mesh.objects.of_kind(Kind::Pod).iter().collect()
    } else {
        facts
            .mesh
            .objects
            .in_namespace(Kind::Pod, &policy.id.namespace)
            .collect()
    };
    near.into_iter()
        .filter(is_asked)
        .filter(|pod| reaches(&policy.node, &Workload::of(pod), root))
        .collect()
}

/// "<TRUST_DOMAIN>/ns/<NAMESPACE>/sa/<SERVICE_ACCOUNT>": istiod puts `spiffe://` before it.
fn principal(
    facts: &Facts<'_>,
    policy: &Object,
    item: &Node,
    text: &str,
    pods: &[&Object],
    out: &mut Sink,
) {
    let Some(bare) = text.strip_prefix("spiffe://") else {
        return account(facts, policy, item, text, pods, out);
    };
    let message = format!(
        "{} names the principal {text}, which no caller has: principals are written without spiffe://",
        policy.id
    );
    let finding = out.find(
        policy.id.clone(),
        message,
        Evidence::of(policy, item, "the principal"),
    );
    finding.fix(Fix::patch(
        &policy.id,
        [Op::replace(policy.path_of(item), bare)],
    ));
    for pod in pods {
        finding.hits(pod.id.clone());
    }
}

/// A namespace that is not there, by a slip of the finger for one that is.
fn namespace(
    facts: &Facts<'_>,
    policy: &Object,
    item: &Node,
    text: &str,
    pods: &[&Object],
    out: &mut Sink,
) {
    let all = || {
        facts
            .mesh
            .objects
            .of_kind(Kind::Namespace)
            .iter()
            .map(|namespace| namespace.id.name.as_str())
    };
    if text.contains('*')
        || facts.unread(Kind::Namespace).is_some()
        || all().any(|name| name == text)
    {
        return;
    }
    let Some(meant) = nearest(text, all()) else {
        return;
    };
    let message = format!(
        "{} names the namespace {text}, and there is none: there is {meant}",
        policy.id
    );
    let finding = out.find(
        policy.id.clone(),
        message,
        Evidence::of(policy, item, "the namespace"),
    );
    finding.fix(Fix::patch(
        &policy.id,
        [Op::replace(policy.path_of(item), meant)],
    ));
    finding.hits.extend(pods.iter().map(|pod| pod.id.clone()));
}

/// A service account that is not there, by a slip of the finger for one that a pod of that
/// namespace runs as.
fn account(
    facts: &Facts<'_>,
    policy: &Object,
    item: &Node,
    text: &str,
    pods: &[&Object],
    out: &mut Sink,
) {
    let named = text
        .split_once("/ns/")
        .and_then(|(_, rest)| rest.split_once("/sa/"));
    let Some((namespace, name)) = named.filter(|_| !text.contains('*')) else {
        return;
    };
    let account = ObjectRef::of(Kind::ServiceAccount, namespace, name);
    let of_pods = || {
        facts
            .mesh
            .pods
            .iter()
            .filter(|pod| pod.namespace == namespace)
            .map(|pod| &*pod.service_account)
    };
    let is_there = facts.mesh.objects.find(&account).is_some() || of_pods().any(|own| own == name);
    if is_there || facts.unread(Kind::ServiceAccount).is_some() {
        return;
    }
    let Some(meant) = nearest(name, of_pods()) else {
        return;
    };
    let message = format!(
        "{} names the service account {name} of namespace {namespace}, and there is none: there is {meant}",
        policy.id
    );
    let finding = out.find(
        policy.id.clone(),
        message,
        Evidence::of(policy, item, "the principal"),
    );
    let own = text
        .strip_suffix(name)
        .map(|head| format!("{head}{meant}"))
        .unwrap_or_default();
    finding.fix(Fix::patch(
        &policy.id,
        [Op::replace(policy.path_of(item), &own)],
    ));
    finding.hits.extend(pods.iter().map(|pod| pod.id.clone()));
}

/// Proxies know the port of the pod, not the one of the Service.
fn port(
    facts: &Facts<'_>,
    policy: &Object,
    item: &Node,
    text: &str,
    pods: &[&Object],
    out: &mut Sink,
) {
    let Ok(number) = text.parse::<u16>() else {
        return;
    };
    let led = |pod: &&Object| {
        let services = facts.mesh.services_of(pod).into_iter();
        let all = services.flat_map(|service| {
            ports(service)
                .filter_map(|port| Some((port.number, target_port(&port, pod)?)))
                .collect::<Vec<_>>()
        });
        all.collect::<Vec<(u16, u16)>>()
    };
    let known: Vec<(u16, u16)> = pods.iter().flat_map(led).collect();
    if known.iter().any(|(_, target)| *target == number) {
        return;
    }
    let Some((_, target)) = known.iter().find(|(of_service, _)| *of_service == number) else {
        return;
    };
    let message = format!(
        "{} names port {number}, which is a Service's; the pods that it leads to know it as {target}",
        policy.id
    );
    let finding = out.find(
        policy.id.clone(),
        message,
        Evidence::of(policy, item, "the port"),
    );
    finding.fix(Fix::patch(
        &policy.id,
        [Op::replace(policy.path_of(item), target.to_string())],
    ));
    for pod in pods {
        finding.hits(pod.id.clone());
    }
}
