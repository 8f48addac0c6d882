//! Which rules and matches of a VirtualService no request can reach, because earlier ones take them
//! all.

use std::collections::BTreeMap;

use crate::rules::analyzed::list;
use meshladder_mesh::Object;
use meshladder_text::tree::{Node, Value};

/// A rule or a match without effect.
pub(in crate::rules) struct Idle<'m> {
    /// The rule or the match.
    pub(in crate::rules) node: &'m Node,
    /// What and why, in words.
    pub(in crate::rules) why: String,
}

/// What is without effect.
#[derive(Default)]
pub(in crate::rules) struct Found<'m> {
    /// Rules that no request reaches.
    pub(in crate::rules) rules: Vec<Idle<'m>>,
    /// Matches that no request reaches.
    pub(in crate::rules) matches: Vec<Idle<'m>>,
}

/// Looks at the HTTP, TLS and TCP rules, each kind for itself.
pub(in crate::rules) fn idle(service: &Object) -> Found<'_> {
    let mut found = Found::default();
    for kind in ["http", "tls", "tcp"] {
        let rules = service.spec_list(kind);
        duplicates(kind, rules, &mut found);
        if kind == "http" {
            covered(rules, &mut found);
        }
    }
    found
}

fn duplicates<'m>(kind: &str, rules: &'m [Node], found: &mut Found<'m>) {
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    let mut catch_all: Option<String> = None;
    for (at, rule) in rules.iter().enumerate() {
        let name = name(kind, rule, at);
        let matches = list(rule, "match");
        if let Some(before) = &catch_all {
            let why =
                format!("{name} comes after {before}, which has no match and takes every request");
            found.rules.push(Idle { node: rule, why });
        }
        if matches.is_empty() {
            catch_all.get_or_insert(name);
            continue;
        }
        let mut repeated = 0;
        for (number, one) in matches.iter().enumerate() {
            let text = canonical(one, &["name"]);
            if let Some(before) = seen.get(&text) {
                repeated += 1;
                let why = format!(
                    "match {} of {name} is also one of {before}, which comes first",
                    label(one, number)
                );
                found.matches.push(Idle { node: one, why });
            } else {
                seen.insert(text, name.clone());
            }
        }
        if repeated == matches.len() {
            let why = format!("all matches of {name} are used by rules before it");
            found.rules.push(Idle { node: rule, why });
        }
    }
}

/// HTTP matches of a prefix that an earlier match of a shorter prefix takes whole.
fn covered<'m>(rules: &'m [Node], found: &mut Found<'m>) {
    let mut earlier: Vec<(&Node, &str, String)> = Vec::new();
    // By what must be said in the same words, and by prefix, or many matches would each be held
    // against all.
    let mut known: BTreeMap<String, BTreeMap<&str, Vec<usize>>> = BTreeMap::new();
    for (at, rule) in rules.iter().enumerate() {
        let name = name("http", rule, at);
        for (number, one) in list(rule, "match").iter().enumerate() {
            let Some(prefix) = prefix(one) else { continue };
            let rest = SAME.map(|key| part(one, key)).join("\n");
            let by_prefix = known.entry(rest).or_default();
            let shorter = (0..prefix.len()).filter_map(|end| prefix.get(..end));
            let near = shorter.filter_map(|short| by_prefix.get(short)).flatten();
            let cover = near
                .copied()
                .filter(|&at| takes_all_of(earlier[at].0, one))
                .min();
            if let Some((_, short, place)) = cover.map(|at| &earlier[at]) {
                let why = format!(
                    "match {} of {name}, for prefix {prefix}, is covered by {place}, for prefix {short}, which comes first",
                    label(one, number)
                );
                found.matches.push(Idle { node: one, why });
            }
            by_prefix.entry(prefix).or_default().push(earlier.len());
            earlier.push((
                one,
                prefix,
                format!("match {} of {name}", label(one, number)),
            ));
        }
    }
}

/// Whether a match asks for nothing, beside its prefix, that the later one does not ask for in the
/// same words.
fn takes_all_of(earlier: &Node, later: &Node) -> bool {
    let same = |key: &&str| part(earlier, key) == part(later, key);
    let wider = |key: &&str| earlier.get(key).is_none() || same(key);
    SAME.iter().all(&same)
        && [
            "scheme",
            "gateways",
            "sourceLabels",
            "sourceNamespace",
            "ignoreUriCase",
        ]
        .iter()
        .all(wider)
        && (same(&"method") || earlier.get("method").is_none() && is_get(later))
}

/// What the two must ask for in the same words.
const SAME: [&str; 5] = [
    "port",
    "authority",
    "headers",
    "queryParams",
    "withoutHeaders",
];

fn part(node: &Node, key: &str) -> String {
    node.get(key)
        .map(|part| canonical(part, &[]))
        .unwrap_or_default()
}

fn is_get(one: &Node) -> bool {
    one.at(["method", "exact"]).and_then(Node::str) == Some("GET")
}

fn prefix(one: &Node) -> Option<&str> {
    one.at(["uri", "prefix"])?.str()
}

/// `http rule #1`, or its name in quotes.
fn name(kind: &str, rule: &Node, at: usize) -> String {
    format!("{kind} rule {}", label(rule, at))
}

fn label(node: &Node, at: usize) -> String {
    node.str_at("name")
        .filter(|name| !name.is_empty())
        .map_or_else(|| format!("#{at}"), |name| format!("'{name}'"))
}

/// The value as text that does not depend on the order of members, without those of these names.
fn canonical(node: &Node, without: &[&str]) -> String {
    match &node.value {
        Value::Object(members) => {
            let kept = members
                .iter()
                .filter(|member| !without.contains(&&*member.key));
            let mut parts: Vec<String> = kept
                .map(|member| format!("{:?}:{}", member.key, canonical(&member.value, &[])))
                .collect();
            parts.sort_unstable();
            format!("{{{}}}", parts.join(","))
        }
        Value::Array(items) => {
            let parts: Vec<String> = items.iter().map(|item| canonical(item, &[])).collect();
            format!("[{}]", parts.join(","))
        }
        _ => node.to_json(),
    }
}
