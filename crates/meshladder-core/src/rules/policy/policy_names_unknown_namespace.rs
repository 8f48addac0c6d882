//! See the page beside this file.

use crate::doc::tree::Node;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::analyzed::{AUTHORIZATION_POLICIES, NAMESPACES};
use crate::rules::{Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML2602",
    name: "policy-names-unknown-namespace",
    aka: &["IST0101", "KIA0101"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every namespace that an AuthorizationPolicy names exists",
    needs: &[AUTHORIZATION_POLICIES, NAMESPACES],
    uses: &[],
    explains: &[],
    docs: include_str!("policy_names_unknown_namespace.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let existing = facts.mesh.objects.of_kind("Namespace");
    for policy in facts.mesh.objects.of_kind("AuthorizationPolicy") {
        let rules = policy.spec_list("rules").iter().flat_map(|rule| rule.get("from").map_or(&[][..], Node::items));
        let sources = rules.filter_map(|from| from.get("source"));
        let lists = sources.flat_map(|source| ["namespaces", "notNamespaces"].map(|key| source.get(key)));
        for node in lists.flatten().flat_map(Node::items) {
            out.examined();
            let pattern = node.str().unwrap_or_default();
            let is_there = facts.mesh.objects.get("Namespace", "", pattern).is_some();
            if is_there || existing.iter().any(|namespace| matches(pattern, &namespace.id.name)) {
                continue;
            }
            let message = format!("{} names namespace {pattern}, and there is none", policy.id);
            out.find(policy.id.clone(), message, Evidence::of(policy, node, "the namespace it names"))
                .fix(Fix::advice("name a namespace that exists"));
        }
    }
}

/// "Exact match, prefix match (`abc*`), suffix match (`*abc`) and presence match (`*`)."
fn matches(pattern: &str, name: &str) -> bool {
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        _ if pattern == "*" => true,
        (Some(end), _) => name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => pattern.eq_ignore_ascii_case(name),
    }
}
