//! See the page beside this file.

use std::collections::BTreeMap;

use crate::finding::{Evidence, Finding, Fix, Op, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::injection::{Injector, Injectors};
use meshladder_mesh::selector::has_labels;
use meshladder_mesh::services::number;
use meshladder_mesh::views::{Event, PodTemplate};
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::tri::Tri;

pub(super) static RULE: Rule = Rule {
    code: "ML0301",
    name: "injection-webhook-unserved",
    aka: &["IST0139"],
    rung: Rung::Enrolment,
    severity: Severity::Error,
    claim: "every webhook that must be asked about a pod answers",
    needs: Inputs::of(&[Kind::MutatingWebhook, Kind::Service, Kind::EndpointSlice]),
    uses: Inputs::of(&[
        Kind::Namespace,
        Kind::Deployment,
        Kind::ReplicaSet,
        Kind::StatefulSet,
        Kind::DaemonSet,
        Kind::Event,
        Kind::Pod,
        Kind::ConfigMap,
    ]),
    explains: &["ML0302", "ML0307", "ML05", "ML06", "ML07", "ML10"],
    docs: include_str!("injection_webhook_unserved.md"),
    check: Check::Mesh(check),
};

const KINDS: [Kind; 3] = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet];

/// A workload that lacks pods, and the event that says why.
struct Refused<'f> {
    workload: &'f Object,
    event: Option<&'f Object>,
}

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let injectors = facts.mesh.injectors();
    let mut by_config: BTreeMap<&ObjectRef, Vec<Injector<'_>>> = BTreeMap::new();
    for hook in &injectors.webhooks {
        out.examined();
        if hook.fails_closed() && injectors.served(*hook).answers == Tri::No {
            by_config.entry(&hook.config.id).or_default().push(*hook);
        }
    }
    for hooks in by_config.into_values() {
        tell(facts, &injectors, &hooks, out);
    }
}

fn tell(facts: &Facts<'_>, injectors: &Injectors<'_>, hooks: &[Injector<'_>], out: &mut Sink) {
    let selected = selected(facts, injectors, hooks);
    let (Some(hook), false) = (hooks.first(), selected.is_empty()) else {
        return;
    };
    let config = &hook.config.id;
    let served = injectors.served(*hook);
    let refused: Vec<Refused<'_>> = selected
        .iter()
        .filter_map(|workload| refused(facts, workload))
        .collect();
    let harm = match refused.len() {
        0 => format!("the next pod of {} workloads is refused", selected.len()),
        1..=3 => {
            let names: Vec<String> = refused.iter().map(|r| r.workload.id.to_string()).collect();
            format!("the pods of {} are refused", names.join(", "))
        }
        count => format!("the pods of {count} workloads are refused"),
    };
    let message = format!(
        "{config} must be asked about every new pod and does not answer, so {harm}: {}",
        served.what
    );
    // A Service that nothing stands behind is what to look at; a webhook that outlived its Service
    // is left over.
    let service = served.service.filter(|_| !served.is_misdirected);
    let subject = service.map_or(config, |service| &service.id);
    let finding = out.find(
        subject.clone(),
        message,
        Evidence::of(hook.config, served.node, "whom the API server asks"),
    );
    finding.hits(config.clone());
    if refused.is_empty() {
        finding.severity(Severity::Warning);
        finding
            .hits
            .extend(selected.iter().map(|workload| workload.id.clone()));
    }
    for refused in &refused {
        sufferers(facts, refused, finding);
    }
    if served.is_misdirected {
        finding.fix(redirect(injectors, hooks));
    } else if service.is_none() {
        finding.fix(Fix::delete(config));
    } else {
        finding.fix(Fix::advice(
            "bring istiod back: its Service has no ready endpoint",
        ));
        for path in [Kind::Pod, Kind::Deployment] {
            finding.unsettled.extend(facts.unread(path));
        }
    }
    finding.fix(Fix::look(
        "kubectl get events -A --field-selector reason=FailedCreate",
    ));
}

/// The webhooks as Istio installs them.
fn redirect(injectors: &Injectors<'_>, hooks: &[Injector<'_>]) -> Fix {
    let mut ops = Vec::new();
    for hook in hooks {
        let at = hook.config.path_of(injectors.served(*hook).node);
        ops.push(Op::add(format!("{at}/port"), 443_u16));
        ops.push(Op::add(format!("{at}/path"), "/inject"));
    }
    Fix::patch(&hooks[0].config.id, ops)
}

/// Puts the workloads on a finding of which events say, in these words, that a webhook refused
/// their pods, and the Services they serve.
pub(in crate::rules) fn hit_refused(facts: &Facts<'_>, words: &str, finding: &mut Finding) {
    let workloads = KINDS
        .into_iter()
        .flat_map(|kind| facts.mesh.objects.of_kind(kind));
    let refused = workloads.filter_map(|workload| refused(facts, workload));
    let says_so = |event: &Object| {
        event
            .node
            .str_at("message")
            .is_some_and(|message| message.contains(words))
    };
    for refused in refused.filter(|refused| refused.event.is_some_and(says_so)) {
        sufferers(facts, &refused, finding);
    }
}

/// The workloads whose pods one of the webhooks is asked about.
fn selected<'f>(
    facts: &Facts<'f>,
    injectors: &Injectors<'f>,
    hooks: &[Injector<'f>],
) -> Vec<&'f Object> {
    let workloads = KINDS
        .into_iter()
        .flat_map(|kind| facts.mesh.objects.of_kind(kind));
    let asks = |workload: &&Object| {
        let Some(template) = PodTemplate::of(workload) else {
            return false;
        };
        let candidates = injectors.injection(template).candidates;
        candidates.iter().any(|candidate| {
            candidate.selects == Tri::Yes
                && hooks
                    .iter()
                    .any(|hook| std::ptr::eq(hook.node, candidate.injector.node))
        })
    };
    workloads.filter(asks).collect()
}

/// A workload that has fewer pods than it wants, of which an event says that a webhook failed, or
/// whose status does.
fn refused<'f>(facts: &Facts<'f>, workload: &'f Object) -> Option<Refused<'f>> {
    let wanted = workload.spec_at(["replicas"]).and_then(number).unwrap_or(1);
    let count = |key: &str| {
        workload
            .node
            .at(["status", key])
            .and_then(number)
            .unwrap_or_default()
    };
    let name = workload.id.name.as_str();
    let mut events = Event::in_namespace(&facts.mesh.objects, &workload.id.namespace);
    let event = events.find(|event| {
        let added = event.about().strip_prefix(name);
        added.is_some_and(|added| added.is_empty() || is_hash(added))
            && event.reason() == "FailedCreate"
            && event.message().contains("failed calling webhook")
    });
    let event = event.map(|event| event.object);
    let is_short = count("readyReplicas") < wanted;
    (is_short && (event.is_some() || count("replicas") < wanted))
        .then_some(Refused { workload, event })
}

/// `-5fc4c65588`, what a ReplicaSet adds to the name of its Deployment.
fn is_hash(rest: &str) -> bool {
    rest.strip_prefix('-')
        .is_some_and(|hash| !hash.is_empty() && hash.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// A workload suffers, and the Services that its pods would serve.
pub(super) fn hit_workload(facts: &Facts<'_>, workload: &Object, finding: &mut Finding) {
    finding.hits(workload.id.clone());
    let labels = workload.spec_at(["template", "metadata", "labels"]);
    for service in facts
        .mesh
        .objects
        .in_namespace(Kind::Service, &workload.id.namespace)
    {
        let selector = service
            .spec_at(["selector"])
            .filter(|selector| !selector.members().is_empty());
        if selector.is_some_and(|selector| has_labels(selector, labels)) {
            finding.hits(service.id.clone());
        }
    }
}

fn sufferers(facts: &Facts<'_>, refused: &Refused<'_>, finding: &mut Finding) {
    let workload = refused.workload;
    hit_workload(facts, workload, finding);
    if let Some(event) = refused.event {
        let message = event.node.get("message").unwrap_or(&event.node);
        finding.see(Evidence::of(event, message, "what the API server said"));
    }
    let status = workload.node.get("status").unwrap_or(&workload.node);
    finding.see(Evidence::of(
        workload,
        status,
        format!("{} lacks pods", workload.id),
    ));
}
