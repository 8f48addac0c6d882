//! See the page beside this file.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::policies::{age, selector};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2150",
    name: "rules-for-one-host",
    aka: &["KIA0201"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "one DestinationRule of a namespace says a thing of a host",
    needs: Inputs::of(&[Kind::DestinationRule]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("rules_for_one_host.md"),
    check: Check::Object(check),
};

/// Namespace, host, whom it is exported to and which clients it selects: rules that agree in these
/// are put together.
type Key<'m> = (&'m str, String, String, String);

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let mut groups: BTreeMap<Key<'_>, Vec<&Object>> = BTreeMap::new();
    for rule in facts.mesh.objects.of_kind(Kind::DestinationRule) {
        out.examined();
        let host = facts.mesh.domain.fqdn(
            rule.spec_at(["host"])
                .and_then(Node::str)
                .unwrap_or_default(),
            &rule.id.namespace,
        );
        let clients = selector(rule.spec()).map(Node::to_json).unwrap_or_default();
        let key = (
            rule.id.namespace.as_str(),
            host.into_owned(),
            format!("{:?}", facts.mesh.export(rule)),
            clients,
        );
        groups.entry(key).or_default().push(rule);
    }
    for ((_, host, ..), mut rules) in groups {
        rules.sort_by_key(|rule| age(&rule.node));
        let mut before: BTreeMap<String, &Object> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for rule in rules.into_iter().filter(|rule| seen.insert(&rule.id)) {
            for (what, node) in says(rule) {
                let Some(other) = before.get(&what) else {
                    continue;
                };
                let message = format!(
                    "{} sets the {what} of {host}, and {}, which goes before it, does too",
                    rule.id, other.id
                );
                out.find(
                    rule.id.clone(),
                    message,
                    Evidence::of(rule, node, "what does not count"),
                )
                .see(Evidence::object(other, "what counts"))
                .fix(Fix::advice("make them one"));
                break;
            }
            for (what, _) in says(rule) {
                before.entry(what).or_insert(rule);
            }
        }
    }
}

/// What a rule says of its host: of several rules the oldest counts, thing by thing.
fn says(rule: &Object) -> impl Iterator<Item = (String, &Node)> {
    let policy = rule
        .spec_at(["trafficPolicy"])
        .map(|node| ("trafficPolicy".to_owned(), node));
    let subsets = rule.spec_list("subsets").iter();
    policy.into_iter().chain(subsets.map(|node| {
        (
            format!("subset {}", node.str_at("name").unwrap_or_default()),
            node,
        )
    }))
}
