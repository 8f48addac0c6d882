//! See the page beside this file.

use super::names::Names;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2602",
    name: "policy-names-unknown-namespace",
    aka: &["IST0101", "KIA0101"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "every namespace that an AuthorizationPolicy names exists",
    needs: Inputs::of(&[Kind::AuthorizationPolicy, Kind::Namespace]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("policy_names_unknown_namespace.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let existing = facts
        .mesh
        .objects
        .of_kind(Kind::Namespace)
        .iter()
        .map(|namespace| namespace.id.name.to_string());
    // Where istiod is there is its namespace, whether or not it is in the files.
    let existing = Names::of(existing.chain([facts.mesh.config.root_namespace.to_string()]));
    for policy in facts.mesh.objects.of_kind(Kind::AuthorizationPolicy) {
        let rules = policy
            .spec_list("rules")
            .iter()
            .flat_map(|rule| rule.get("from").map_or(&[][..], Node::items));
        let sources = rules.filter_map(|from| from.get("source"));
        let lists =
            sources.flat_map(|source| ["namespaces", "notNamespaces"].map(|key| source.get(key)));
        for node in lists.flatten().flat_map(Node::items) {
            out.examined();
            let pattern = node.str().unwrap_or_default();
            // Only a whole name may be written in any case.
            let wanted = if pattern.contains('*') {
                pattern.to_owned()
            } else {
                pattern.to_lowercase()
            };
            if existing.has(&wanted) {
                continue;
            }
            let message = format!("{} names namespace {pattern}, and there is none", policy.id);
            out.find(
                policy.id.clone(),
                message,
                Evidence::of(policy, node, "the namespace it names"),
            )
            .fix(Fix::advice("name a namespace that exists"));
        }
    }
}
