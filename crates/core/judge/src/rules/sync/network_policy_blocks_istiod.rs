//! See the page beside this file.

use std::collections::BTreeMap;

use super::drift::{self, Drift};
use super::link::{self, Link};
use crate::finding::{Confidence, Evidence, Finding, Fix, MissingFact, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::ObjectRef;
use meshladder_mesh::network_policy::{ClosedEnd, Passage, XDS};
use meshladder_mesh::services::is_ready;
use meshladder_text::shell;

/// A policy between a proxy and every istiod it could use explains whatever the proxy lacks.
pub(super) static RULE: Rule = Rule {
    code: "ML0401",
    name: "network-policy-blocks-istiod",
    aka: &[],
    rung: Rung::Sync,
    severity: Severity::Error,
    claim: "no NetworkPolicy keeps a proxy from istiod",
    needs: Inputs::of(&[Kind::Pod, Kind::NetworkPolicy]),
    uses: Inputs::of(&[
        Kind::Namespace,
        Kind::Service,
        Kind::EndpointSlice,
        Kind::VirtualService,
    ])
    .and(&[Part::Istiod, Part::Proxies, Part::Logs]),
    explains: &[
        "ML0312", "ML0313", "ML0403", "ML0409", "ML05", "ML06", "ML07", "ML08", "ML09", "ML10",
    ],
    docs: include_str!("network_policy_blocks_istiod.md"),
    check: Check::Either(check),
};

/// What is known of the proxies behind a policy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Connected,
    Unknown,
    Cut,
}

type Cut<'f> = (Link<'f>, Vec<ClosedEnd<'f>>, State);

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let mut by_policy: BTreeMap<ObjectRef, Vec<Cut<'_>>> = BTreeMap::new();
    for link in link::all(facts) {
        out.examined();
        if let Some(blocked) = blocked(facts, &link) {
            let state = state(facts, &link);
            by_policy
                .entry(blocked[0].opening.policy.id.clone())
                .or_default()
                .push((link, blocked, state));
        }
    }
    for cuts in by_policy.into_values() {
        if cuts
            .iter()
            .any(|(link, ..)| link::is_asked_about(case, link.pod))
        {
            tell(facts, case, cuts, out);
        }
    }
}

/// The ends that refuse, when no istiod can be reached.
pub(super) fn blocked<'f>(facts: &Facts<'f>, link: &Link<'f>) -> Option<Vec<ClosedEnd<'f>>> {
    if facts.mesh.objects.of_kind(Kind::NetworkPolicy).is_empty() {
        return None;
    }
    let mut reaches = facts.mesh.reach_istiod(link.object, XDS).into_iter();
    let first = reaches.next()?.passage;
    match (first, reaches.all(|reach| reach.passage.is_blocked())) {
        (Passage::Blocked(blocked), true) => Some(blocked),
        _ => None,
    }
}

/// What is missing to know whether a policy stands between a proxy and istiod.
pub(super) fn undecided(facts: &Facts<'_>, link: &Link<'_>) -> Option<MissingFact> {
    let unknown = |passage| {
        if let Passage::Unknown(fact, _) = passage {
            Some(MissingFact::Other(fact))
        } else {
            None
        }
    };
    facts.unread(Kind::NetworkPolicy).or_else(|| {
        let has_policies = !facts.mesh.objects.of_kind(Kind::NetworkPolicy).is_empty();
        let reaches = has_policies.then(|| facts.mesh.reach_istiod(link.object, XDS));
        reaches?
            .into_iter()
            .find_map(|reach| unknown(reach.passage))
    })
}

fn state(facts: &Facts<'_>, link: &Link<'_>) -> State {
    let has_stream = facts
        .fleet
        .streams_of(&link.pod.namespace, &link.pod.name)
        .next()
        .is_some();
    let says_so = link
        .summary
        .and_then(|s| s.connected.as_ref())
        .is_some_and(|(connected, ..)| *connected);
    match link.signs().is_empty() {
        false => State::Cut,
        true if has_stream || says_so => State::Connected,
        true => State::Unknown,
    }
}

fn tell(facts: &Facts<'_>, case: Option<&Case<'_>>, mut cuts: Vec<Cut<'_>>, out: &mut Sink) {
    // A connection that was there before the policy may last; that nobody is cut off yet is worth
    // knowing, no more.
    let worst = if cuts.iter().any(|(.., state)| *state == State::Cut) {
        State::Cut
    } else if cuts.iter().any(|(.., state)| *state == State::Unknown) {
        State::Unknown
    } else {
        State::Connected
    };
    cuts.retain(|(.., state)| *state == worst);
    cuts.sort_by_key(|(link, ..)| {
        let is_client = case
            .and_then(|case| case.client)
            .is_some_and(|client| client.name == link.pod.name);
        (!is_client, !link::is_asked_about(case, link.pod))
    });
    let Some((_, blocked, _)) = cuts.first() else {
        return;
    };
    let first = &blocked[0];
    let policy = first.opening.policy;
    let drift = cuts
        .iter()
        .take(SHOWN)
        .find_map(|(link, ..)| Some((link, drift::of(facts, link.pod, case).pop()?)));
    let message = message(facts, &cuts, &policy.id, worst, drift.as_ref());
    let lists = first
        .policies
        .iter()
        .find(|part| part.policy.id == policy.id)
        .unwrap_or(&first.policies[0]);
    let all = format!("all that {} lets through", policy.id);
    let all = Evidence::of(lists.policy, lists.node, all);
    let near = first
        .nearest
        .as_ref()
        .map(|near| Evidence::of(near.policy, near.field, near.what.clone()));
    let finding = out.find(
        policy.id.clone(),
        message,
        near.clone().unwrap_or_else(|| all.clone()),
    );
    match worst {
        State::Cut => {}
        State::Unknown => {
            finding
                .severity(Severity::Warning)
                .confidence(Confidence::Likely);
        }
        State::Connected => {
            finding
                .severity(Severity::Info)
                .when_asked(Severity::Warning);
        }
    }
    if let Some((link, drift)) = &drift {
        finding.see(Evidence::of(
            drift.object,
            drift.node,
            format!("{} asks for {}", drift.object.id, drift.wanted()),
        ));
        finding.see(Evidence::offset(
            &drift.doc,
            drift.at,
            format!("{} still sends {}", link.pod.name, drift.sends()),
        ));
    }
    if near.is_some() {
        finding.see(all);
    }
    for (link, ..) in cuts.iter().take(SHOWN) {
        finding.evidence.extend(link.signs());
        siblings(facts, link, finding);
    }
    for (link, ..) in &cuts {
        finding.hits(link.pod.reference());
    }
    repairs(finding, blocked);
}

/// So many proxies are shown as evidence.
const SHOWN: usize = 3;

fn message(
    facts: &Facts<'_>,
    cuts: &[Cut<'_>],
    policy: &ObjectRef,
    state: State,
    drift: Option<&(&Link<'_>, Drift<'_>)>,
) -> String {
    let whom = whom(facts, cuts);
    let (they, get) = if cuts.len() == 1 {
        ("it", "gets")
    } else {
        ("they", "get")
    };
    let consequence = match (state, drift) {
        (State::Connected, _) => {
            return format!("{policy} lets {whom} make no new connection to istiod (TCP {XDS})");
        }
        (_, Some((link, drift))) => format!(
            "so {they} never got {}'s {}, and {} still sends {}",
            drift.object.id,
            drift.wanted(),
            link.pod
                .owner
                .split_once('/')
                .map_or(&*link.pod.name, |(_, name)| name),
            drift.sends()
        ),
        (_, None) => format!("so {they} {get} no new configuration, policies or endpoints"),
    };
    format!("{policy} keeps {whom} from istiod (TCP {XDS}), {consequence}")
}

/// `the proxies of namespace shop`, `the proxies of shop/payments-green`
fn whom(facts: &Facts<'_>, cuts: &[Cut<'_>]) -> String {
    let namespace = &cuts[0].0.pod.namespace;
    let in_namespace = facts
        .mesh
        .pods
        .iter()
        .filter(|pod| pod.namespace == *namespace && pod.has_proxy && pod.running);
    if cuts.len() > 1 && cuts.len() == in_namespace.count() {
        return format!("the proxies of namespace {namespace}");
    }
    let workload = |(link, ..): &Cut<'_>| format!("{namespace}/{}", link.pod.workload().name);
    let mut names: Vec<String> = cuts.iter().map(workload).collect();
    names.dedup();
    let plural = if cuts.len() == 1 {
        "the proxy"
    } else {
        "the proxies"
    };
    match names.len() {
        0..=3 => format!("{plural} of {}", names.join(", ")),
        count => format!("{plural} of {count} workloads in {namespace}"),
    }
}

/// A pod of the same Service that still gets updates shows what this one lacks.
fn siblings(facts: &Facts<'_>, link: &Link<'_>, finding: &mut Finding) {
    let Some((own, doc, at)) = link.summary.and_then(|summary| summary.inbound.as_ref()) else {
        return;
    };
    let services = facts.mesh.services_of(link.object);
    let others = services
        .iter()
        .flat_map(|service| facts.mesh.selected_pods(service));
    let newer = others.filter(|pod| is_ready(pod)).find_map(|pod| {
        let other = facts
            .fleet
            .proxy(&pod.id.namespace, &pod.id.name)?
            .inbound
            .as_ref()?;
        (other.0 > *own).then_some((pod, other))
    });
    let Some((pod, (when, newer_doc, newer_at))) = newer else {
        return;
    };
    finding.see(Evidence::offset(
        doc,
        *at,
        format!("{} has the inbound listener of {own}", link.pod.name),
    ));
    let shows = format!(
        "{}, behind the same Service, has that of {when}",
        pod.id.name
    );
    finding.see(Evidence::offset(newer_doc, *newer_at, shows));
}

/// The rule that opens the first end that refuses, and what to look at.
pub(in crate::rules) fn repairs(finding: &mut Finding, blocked: &[ClosedEnd<'_>]) {
    let opening = &blocked[0].opening;
    let (policy, field) = (&opening.policy.id, opening.direction.field());
    let open = if opening.policy.spec_list(field).is_empty() {
        Fix::merge(policy, (&opening.merge).into())
    } else {
        let add = Op::add(format!("/spec/{field}/-"), &opening.rule);
        Fix::patch(policy, [add])
    };
    for fix in [open, Fix::delete(policy)] {
        let also = blocked
            .get(1)
            .map(|other| format!("{} has to let it through too", other.opening.policy.id));
        finding.fix(match also {
            Some(also) => fix.unchecked(also),
            None => fix,
        });
    }
    finding.fix(Fix::look(shell::command(
        "kubectl describe networkpolicy {} -n {}",
        &[&policy.name, &policy.namespace],
    )));
}
