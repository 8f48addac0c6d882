//! See the page beside this file.

use super::called_service;
use crate::finding::{Confidence, Fix, Rung, Severity};
use crate::rules::upstream::connect_timeout_too_short;
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::access_log::AccessLine;
use meshladder_capture::snapshot::{Inputs, Part};

pub(super) static RULE: Rule = Rule {
    code: "ML0731",
    name: "pod-takes-no-connections",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "the pods that are called take connections",
    needs: Inputs::of(&[Kind::Pod]).and(&[Part::Logs]),
    uses: Inputs::of(&[
        Kind::NetworkPolicy,
        Kind::DestinationRule,
        Kind::ConfigMap,
        Kind::ServiceEntry,
        Kind::Service,
        Kind::Sidecar,
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
    ]),
    explains: &["ML10"],
    docs: include_str!("pod_takes_no_connections.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let Some(line) = accounts::unconnected(case) else {
        return;
    };
    if connect_timeout_too_short::short(facts, case).is_some() {
        return;
    }
    let Some(pod) = accounts::pod_called(facts, line).filter(|pod| pod.running) else {
        return;
    };
    let Some(stored) = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name) else {
        return;
    };
    let is_refused = accounts::is_refused(line);
    let how = if is_refused {
        "refuses connections"
    } else {
        "does not answer connections"
    };
    let message = format!(
        "{} of {} {how} at {}, though it runs{}",
        pod.reference(),
        pod.workload(),
        line.upstream_host,
        waited(line)
    );
    let finding = out.find(pod.workload(), message, accounts::line_shows(line));
    finding.hits(pod.reference());
    // Whether the pod or the way to it is at fault, no document tells.
    finding.confidence(Confidence::Likely);
    finding.unsettled.extend(facts.unread(Kind::NetworkPolicy));
    let what = if is_refused {
        "whether its proxy listens"
    } else {
        "its node and the firewalls on the way"
    };
    finding.fix(Fix::advice(format!("look at {}: {what}", pod.reference())));
    finding.fix(called_service::restart(facts.mesh, stored));
}

fn waited(line: &AccessLine) -> String {
    match line.duration {
        Some(ms) if ms >= 1000 => format!(": the caller waited {ms} ms"),
        _ => String::new(),
    }
}
