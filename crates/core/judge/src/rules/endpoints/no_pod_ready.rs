//! See the page beside this file.

use super::called_service;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_text::shell;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0704",
    name: "no-pod-ready",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "every Service that selects pods has a ready one",
    needs: Inputs::of(&[Kind::Service, Kind::Pod]),
    uses: Inputs::of(&[
        Kind::DestinationRule,
        Kind::ServiceEntry,
        Kind::Sidecar,
        Kind::VirtualService,
    ]),
    explains: &["ML07", "ML0906", "ML10"],
    docs: include_str!("no_pod_ready.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for called in called_service::services_and_subsets(facts, case) {
        out.examined();
        let pods = called.pods(facts.mesh, called.subset_labels(facts, case));
        let unready: Vec<(&Object, Why<'_>)> = pods
            .iter()
            .filter_map(|pod| Some((*pod, why(pod)?)))
            .collect();
        let published =
            called_service::is_true(called.service.spec_at(["publishNotReadyAddresses"]));
        let Some((pod, why)) = unready
            .first()
            .filter(|_| unready.len() == pods.len() && !published)
        else {
            continue;
        };
        let subject = called_service::workload_ref(facts.mesh, pod);
        // What the whole Service lacks is not told again of its subsets.
        if out
            .findings
            .iter()
            .any(|f| f.subject == subject && f.hits.contains(&called.service.id))
        {
            continue;
        }
        let of = if called.subset.is_empty() {
            String::new()
        } else {
            format!("subset {} of ", called.subset)
        };
        let message = format!(
            "none of the {} of {of}{} is ready: {}",
            called_service::count(pods.len(), "pod"),
            called.service.id,
            why.words
        );
        let finding = out.find(
            subject,
            message,
            Evidence::of(pod, why.node, format!("why {} is not ready", pod.id)),
        );
        called_service::hit(finding, called.service, &pods, case);
        for (pod, why) in &unready[1..] {
            finding.see(Evidence::of(
                pod,
                why.node,
                format!("why {} is not ready", pod.id),
            ));
        }
        let (namespace, name) = (&pod.id.namespace, &pod.id.name);
        finding.fix(Fix::look(shell::command(
            "kubectl describe pod {} -n {}",
            &[name, namespace],
        )));
        if let Some(container) = why.container {
            finding.fix(Fix::look(shell::command(
                "kubectl logs {} -n {} -c {} --previous",
                &[name, namespace, container],
            )));
        }
    }
}

/// Why a pod is not ready.
struct Why<'m> {
    node: &'m Node,
    words: String,
    container: Option<&'m str>,
}

fn why(pod: &Object) -> Option<Why<'_>> {
    let status = pod.node.get("status")?;
    let conditions = status.get("conditions").map_or(&[][..], Node::items);
    let failed = |kind: &str| {
        conditions.iter().find(|c| {
            c.str_at("type") == Some(kind) && c.str_at("status").is_some_and(|s| s != "True")
        })
    };
    if let Some(condition) = failed("PodScheduled") {
        let words = format!(
            "{} cannot be scheduled: {}",
            pod.id,
            condition.str_at("message").unwrap_or("no reason given")
        );
        return Some(Why {
            node: condition,
            words: words.trim_end_matches('.').to_owned(),
            container: None,
        });
    }
    // Whom no scheduler has looked at has no conditions yet.
    if let Some(phase) = status.get("phase").filter(|_| conditions.is_empty()) {
        let is_pending = phase.str() == Some("Pending");
        return is_pending.then(|| Why {
            node: phase,
            words: format!("{} is Pending and on no node", pod.id),
            container: None,
        });
    }
    let ready = failed("Ready")?;
    let lists = ["initContainerStatuses", "containerStatuses"].into_iter();
    let statuses = lists.flat_map(|list| status.get(list).map_or(&[][..], Node::items));
    for container in statuses.filter(|c| !called_service::is_true(c.get("ready"))) {
        let name = container.str_at("name");
        let waits = container.at(["state", "waiting"]);
        // An init container that is done is not ready either, and need not be.
        if waits.is_none()
            && container
                .at(["state", "terminated"])
                .is_some_and(|t| t.str_at("reason") == Some("Completed"))
        {
            continue;
        }
        let reason = waits.and_then(|waiting| waiting.str_at("reason"));
        let words = match (name, reason) {
            (Some(name), Some(reason)) => format!("container {name} of {} waits: {reason}", pod.id),
            (Some(name), None) => {
                format!("container {name} of {} fails its readiness probe", pod.id)
            }
            (None, _) => continue,
        };
        return Some(Why {
            node: container,
            words,
            container: name.filter(|_| reason == Some("CrashLoopBackOff")),
        });
    }
    let message = ready
        .str_at("message")
        .or(ready.str_at("reason"))
        .unwrap_or("no reason given");
    Some(Why {
        node: ready,
        words: format!("{}: {message}", pod.id),
        container: None,
    })
}
