//! What an AuthorizationPolicy lists, wherever in its rules.

use meshladder_mesh::Object;
use meshladder_text::tree::Node;

/// The entries of these lists of `from.source`.
pub(super) fn of_sources<'m>(
    policy: &'m Object,
    keys: &'static [&'static str],
) -> impl Iterator<Item = &'m Node> {
    below(policy, "from", "source").flat_map(move |source| entries(source, keys))
}

/// The entries of these lists of `to.operation`.
pub(super) fn of_operations<'m>(
    policy: &'m Object,
    keys: &'static [&'static str],
) -> impl Iterator<Item = &'m Node> {
    below(policy, "to", "operation").flat_map(move |operation| entries(operation, keys))
}

/// The conditions on these attributes.
pub(super) fn conditions<'m>(
    policy: &'m Object,
    keys: &'static [&'static str],
) -> impl Iterator<Item = &'m Node> {
    let all = policy
        .spec_list("rules")
        .iter()
        .flat_map(|rule| rule.items_at("when"));
    all.filter(move |when| when.str_at("key").is_some_and(|key| keys.contains(&key)))
}

fn below<'m>(
    policy: &'m Object,
    clause: &'static str,
    part: &'static str,
) -> impl Iterator<Item = &'m Node> {
    let clauses = policy
        .spec_list("rules")
        .iter()
        .flat_map(move |rule| rule.items_at(clause));
    clauses.filter_map(move |clause| clause.get(part))
}

fn entries<'m>(node: &'m Node, keys: &'static [&'static str]) -> impl Iterator<Item = &'m Node> {
    keys.iter().flat_map(|key| node.items_at(key))
}
