//! See the page beside this file.

use std::collections::{BTreeMap, BTreeSet};

use super::hooks::{Hook, injectors, revisions};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tree::{Member, Node, Span, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML3201",
    name: "webhooks-overlap",
    aka: &["IST0139"],
    rung: Rung::ControlPlane,
    severity: Severity::Error,
    claim: "no pod is injected by two webhooks",
    needs: Inputs::of(&[Kind::MutatingWebhook]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("webhooks_overlap.md"),
    check: Check::Object(check),
};

/// No label may have this value, so no webhook names it.
const UNNAMED: &str = "*";

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let hooks = injectors(facts.mesh);
    out.examined += hooks.len();
    let revisions = revisions(&hooks);
    let mut overlaps: BTreeMap<usize, (usize, String)> = BTreeMap::new();
    for (namespace, here) in sharing(&hooks, &revisions) {
        for pod in labels(
            "sidecar.istio.io/inject",
            ["true", "false"],
            &told_apart(&hooks, &here, &revisions),
        ) {
            let case: Vec<usize> = here
                .iter()
                .copied()
                .filter(|&at| hooks[at].takes_pod(&pod))
                .collect();
            let [first, second, ..] = case[..] else {
                continue;
            };
            for at in case {
                let other = if at == first { second } else { first };
                let when = || {
                    format!(
                        "a namespace labelled {} and a pod labelled {}",
                        namespace.to_json(),
                        pod.to_json()
                    )
                };
                overlaps.entry(at).or_insert_with(|| (other, when()));
            }
        }
    }
    for (at, (other, when)) in overlaps {
        tell(&hooks[at], &hooks[other], &when, out);
    }
}

/// The labels of namespaces that several webhooks are asked about, and which; each set of webhooks
/// once. To a webhook all revisions that it does not name are one, so that for each revision only
/// those that name it are asked.
fn sharing(hooks: &[Hook<'_>], revisions: &BTreeSet<&str>) -> Vec<(Node, Vec<usize>)> {
    let mut naming: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, hook) in hooks.iter().enumerate() {
        hook.named()
            .into_iter()
            .for_each(|revision| naming.entry(revision).or_default().push(at));
    }
    let all: Vec<usize> = (0..hooks.len()).collect();
    let mut known = BTreeSet::new();
    let mut found = Vec::new();
    for own in [None, Some("enabled"), Some("disabled")] {
        let of = |revision| label("istio-injection", own, revision);
        let takes = |case: &[usize], labels: &Node| -> Vec<usize> {
            case.iter()
                .copied()
                .filter(|&at| hooks[at].takes_namespace(labels))
                .collect()
        };
        let plain = of(None);
        let mut sets = vec![(takes(&all, &plain), plain)];
        let any = takes(&all, &of(Some(UNNAMED)));
        for revision in revisions {
            let naming = naming.get(revision).map_or(&[][..], Vec::as_slice);
            let labels = of(Some(revision));
            let mut here: Vec<usize> = any
                .iter()
                .copied()
                .filter(|at| !naming.contains(at))
                .collect();
            here.extend(takes(naming, &labels));
            here.sort_unstable();
            sets.push((here, labels));
        }
        let several = sets
            .into_iter()
            .filter(|(here, _)| here.len() > 1 && known.insert(here.clone()));
        found.extend(several.map(|(here, labels)| (labels, here)));
    }
    found
}

/// No revision, those that one of these webhooks names, and one of the others, which are all the
/// same to them.
fn told_apart<'m>(
    hooks: &[Hook<'m>],
    here: &[usize],
    revisions: &BTreeSet<&'m str>,
) -> Vec<Option<&'m str>> {
    let mut apart: BTreeSet<&str> = here.iter().flat_map(|&at| hooks[at].named()).collect();
    apart.extend(
        revisions
            .iter()
            .find(|revision| !apart.contains(*revision))
            .copied(),
    );
    std::iter::once(None)
        .chain(apart.into_iter().map(Some))
        .collect()
}

fn tell(hook: &Hook<'_>, other: &Hook<'_>, when: &str, out: &mut Sink) {
    let message = format!(
        "webhook {} of {} and {} of {} are both asked about {when}: such a pod may be injected twice",
        hook.name, hook.config.id, other.name, other.config.id
    );
    out.find(
        hook.config.id.clone(),
        message,
        Evidence::of(hook.config, hook.node, "the webhook"),
    )
    .see(Evidence::of(other.config, other.node, "the other one"))
    .fix(Fix::advice(
        "let the selectors of the two exclude each other, or remove one",
    ));
}

/// Every combination of labels that webhooks ask for.
fn labels(key: &str, values: [&str; 2], revisions: &[Option<&str>]) -> Vec<Node> {
    let own = std::iter::once(None).chain(values.into_iter().map(Some));
    own.flat_map(|own| {
        revisions
            .iter()
            .map(move |revision| label(key, own, *revision))
    })
    .collect()
}

fn label(key: &str, own: Option<&str>, revision: Option<&str>) -> Node {
    let node = |value| Node {
        value,
        span: Span::default(),
    };
    let member = |key: &str, value: &str| {
        let value = node(Value::String(value.into()));
        Member {
            key: key.into(),
            key_span: Span::default(),
            value,
        }
    };
    let own = own.map(|value| member(key, value));
    node(Value::Object(
        own.into_iter()
            .chain(revision.map(|name| member("istio.io/rev", name)))
            .collect(),
    ))
}
