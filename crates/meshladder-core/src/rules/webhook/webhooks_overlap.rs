//! See the page beside this file.

use std::collections::{BTreeMap, BTreeSet};

use super::hooks::{Hook, injectors, revisions};
use crate::doc::tree::{Member, Node, Span, Value};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::analyzed::MUTATING_WEBHOOKS;
use crate::rules::{Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML3201",
    name: "webhooks-overlap",
    aka: &["IST0139"],
    rung: Rung::ControlPlane,
    severity: Severity::Error,
    claim: "no pod is injected by two webhooks",
    needs: &[MUTATING_WEBHOOKS],
    uses: &[],
    explains: &[],
    docs: include_str!("webhooks_overlap.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let hooks = injectors(facts.mesh);
    out.examined += hooks.len();
    let revisions: Vec<Option<&str>> = std::iter::once(None).chain(revisions(&hooks).into_iter().map(Some)).collect();
    let namespaces = labels("istio-injection", ["enabled", "disabled"], &revisions);
    let pods = labels("sidecar.istio.io/inject", ["true", "false"], &revisions);
    let mut overlaps: BTreeMap<usize, (usize, String)> = BTreeMap::new();
    let mut known = BTreeSet::new();
    for namespace in &namespaces {
        let here: Vec<usize> = (0..hooks.len()).filter(|&at| hooks[at].takes_namespace(namespace)).collect();
        // Most namespaces have one webhook, and those that have the same ones need no second look.
        if here.len() < 2 || !known.insert(here.clone()) {
            continue;
        }
        for pod in &pods {
            let asked: Vec<usize> = here.iter().copied().filter(|&at| hooks[at].takes_pod(pod)).collect();
            let [first, second, ..] = asked[..] else { continue };
            for at in asked {
                let other = if at == first { second } else { first };
                let when =
                    || format!("a namespace labelled {} and a pod labelled {}", namespace.to_json(), pod.to_json());
                overlaps.entry(at).or_insert_with(|| (other, when()));
            }
        }
    }
    for (at, (other, when)) in overlaps {
        tell(&hooks[at], &hooks[other], &when, out);
    }
}

fn tell(hook: &Hook<'_>, other: &Hook<'_>, when: &str, out: &mut Sink) {
    let message = format!(
        "webhook {} of {} and {} of {} are both asked about {when}: such a pod may be injected twice",
        hook.name, hook.config.id, other.name, other.config.id
    );
    out.find(hook.config.id.clone(), message, Evidence::of(hook.config, hook.node, "the webhook"))
        .see(Evidence::of(other.config, other.node, "the other one"))
        .fix(Fix::advice("let the selectors of the two exclude each other, or remove one"));
}

/// Every combination of labels that webhooks ask for.
fn labels(key: &str, values: [&str; 2], revisions: &[Option<&str>]) -> Vec<Node> {
    let node = |value| Node { value, span: Span::default() };
    let member = |key: &str, value: &str| {
        let value = node(Value::String(value.into()));
        Member { key: key.into(), key_span: Span::default(), value }
    };
    let own = std::iter::once(None).chain(values.into_iter().map(Some));
    let pairs = own.flat_map(|own| revisions.iter().map(move |revision| (own, *revision)));
    pairs
        .map(|(own, revision)| {
            let own = own.map(|value| member(key, value));
            node(Value::Object(own.into_iter().chain(revision.map(|name| member("istio.io/rev", name))).collect()))
        })
        .collect()
}
