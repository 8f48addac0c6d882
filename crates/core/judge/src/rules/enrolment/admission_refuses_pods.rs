//! See the page beside this file.

use super::injection_webhook_unserved::hit_workload;
use crate::finding::{Evidence, Finding, Fix, Rung, Severity};
use crate::rules::config::nearest::nearest;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::services::number;
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::shell;
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0319",
    name: "admission-refuses-pods",
    aka: &[],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "nothing in a namespace keeps its workloads from having pods",
    needs: Inputs::of(&[Kind::Deployment]),
    uses: Inputs::of(&[Kind::Namespace, Kind::Service, Kind::ServiceAccount]),
    explains: &["ML07", "ML10"],
    docs: include_str!("admission_refuses_pods.md"),
    check: Check::Either(check),
};

/// The label by which a namespace has pods held to a standard.
const ENFORCE: &str = "pod-security.kubernetes.io/enforce";

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    all(facts, out);
    // Of a request only what it calls; and pods that are there still serve.
    let called = case.map(|case| {
        case.service
            .map(|s| ObjectRef::of(Kind::Service, &s.namespace, &s.name))
    });
    out.findings.retain(|finding| {
        called.as_ref().is_none_or(|service| {
            service
                .as_ref()
                .is_some_and(|service| finding.hits.contains(service))
        })
    });
    let serves = |finding: &Finding| {
        let workload = finding
            .hits
            .first()
            .and_then(|id| facts.mesh.objects.find(id));
        let ready =
            workload.and_then(|workload| number(workload.node.at(["status", "readyReplicas"])?));
        ready.is_some_and(|ready| ready > 0)
    };
    out.findings
        .retain(|finding| case.is_none() || !serves(finding));
    for finding in out.findings.iter_mut().filter(|finding| serves(finding)) {
        finding.severity(Severity::Warning);
    }
}

fn all(facts: &Facts<'_>, out: &mut Sink) {
    for workload in facts.mesh.objects.of_kind(Kind::Deployment) {
        out.examined();
        let conditions = workload
            .node
            .at(["status", "conditions"])
            .map_or(&[][..], Node::items)
            .iter();
        let failed = |c: &&Node| {
            c.str_at("type") == Some("ReplicaFailure") && c.str_at("status") == Some("True")
        };
        let Some(message) = conditions
            .into_iter()
            .find(failed)
            .and_then(|condition| condition.get("message"))
        else {
            continue;
        };
        let text = message.str().unwrap_or_default();
        security(facts, workload, message, text, out);
        quota(facts, workload, message, text, out);
        account(facts, workload, message, text, out);
    }
}

fn proof(workload: &Object, message: &Node) -> Evidence {
    Evidence::of(workload, message, "what the API server said")
}

/// `violates PodSecurity "restricted:latest": … (container "istio-init" must not include
/// "NET_ADMIN", …)`: what injection adds is refused, not what the workload itself asks for.
fn security(facts: &Facts<'_>, workload: &Object, message: &Node, text: &str, out: &mut Sink) {
    let Some((_, standard)) = text.split_once("violates PodSecurity \"") else {
        return;
    };
    let level = standard.split([':', '"']).next().unwrap_or_default();
    let Some(namespace) = facts
        .mesh
        .objects
        .get(Kind::Namespace, "", &workload.id.namespace)
    else {
        return;
    };
    let Some(label) = namespace
        .node
        .at(["metadata", "labels", ENFORCE])
        .filter(|_| text.contains("\"istio-init\""))
    else {
        return;
    };
    let told = format!(
        "{} lets in pods of the standard {level} only, and the istio-init of {} asks for more, so it has no pods",
        namespace.id, workload.id
    );
    let finding = out.find(
        namespace.id.clone(),
        told,
        Evidence::of(namespace, label, "the standard"),
    );
    finding.see(proof(workload, message));
    hit_workload(facts, workload, finding);
    let patch = Value::nested(["metadata", "labels", ENFORCE], "privileged");
    finding.fix(
        Fix::merge(&namespace.id, patch).unchecked("what the API server said before stays said"),
    );
    finding.fix(Fix::advice("or use istio-cni, which needs no istio-init"));
}

/// `exceeded quota: compute, requested: …, used: …, limited: …`
fn quota(facts: &Facts<'_>, workload: &Object, message: &Node, text: &str, out: &mut Sink) {
    let Some((name, rest)) = text
        .split_once("exceeded quota: ")
        .and_then(|(_, rest)| rest.split_once(", "))
    else {
        return;
    };
    let quota = ObjectRef::new("ResourceQuota", &workload.id.namespace, name);
    let told = format!(
        "{quota} leaves no room for the pods of {}: {rest}",
        workload.id
    );
    let finding = out.find(quota.clone(), told, proof(workload, message));
    finding.rung = Rung::Endpoints;
    hit_workload(facts, workload, finding);
    finding.fix(Fix::look(shell::command(
        "kubectl describe resourcequota {} -n {}",
        &[name, &quota.namespace],
    )));
    finding.fix(Fix::advice(
        "raise the quota, or ask for less: proxies have requests and limits of their own",
    ));
}

/// `error looking up service account shop/cart: serviceaccount "cart" not found`
fn account(facts: &Facts<'_>, workload: &Object, message: &Node, text: &str, out: &mut Sink) {
    let named = text
        .split_once("error looking up service account ")
        .and_then(|(_, rest)| rest.split_once(':'));
    let Some((namespace, name)) = named.and_then(|(named, _)| named.split_once('/')) else {
        return;
    };
    let there = facts
        .mesh
        .objects
        .in_namespace(Kind::ServiceAccount, namespace)
        .map(|account| account.id.name.as_str());
    let meant = nearest(name, there);
    let account = ObjectRef::of(Kind::ServiceAccount, namespace, name);
    let subject = if meant.is_some() {
        workload.id.clone()
    } else {
        account.clone()
    };
    let hint = meant
        .map(|meant| format!(", but {meant}"))
        .unwrap_or_default();
    let told = format!(
        "{} runs as {account}, and there is none{hint}, so it has no pods",
        workload.id
    );
    let finding = out.find(subject, told, proof(workload, message));
    finding.rung = Rung::Endpoints;
    hit_workload(facts, workload, finding);
    let stays = "what the API server said before stays said";
    if let Some(meant) = meant {
        let path = ["spec", "template", "spec", "serviceAccountName"];
        let patch = Value::nested(path, meant);
        finding.fix(Fix::merge(&workload.id, patch).unchecked(stays));
    } else {
        let yaml = format!(
            "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {name}\n  namespace: {namespace}\n"
        );
        finding.fix(Fix::create(&account, yaml).unchecked(stays));
    }
}
