//! `authz check` without a request: the policies a proxy holds.

use std::collections::{BTreeMap, BTreeSet};

use super::Table;
use meshladder_capture::envoy::dump::{Dump, ResourceState, Section};
use meshladder_sim::rbac::PolicyName;
use meshladder_text::json::Raw;

/// istioctl's word for a filter that enforces nothing, or whose rules have no policy.
const NOTHING: &str = "_anonymous_match_nothing_";

/// One policy under one action.
#[derive(Clone, Debug, Default)]
struct PolicyRow {
    /// Indexes of its rules.
    rules: BTreeSet<usize>,
    /// Filter chains that have it.
    chains: BTreeSet<String>,
}

/// Rank of the action, whether it is only a dry run, the policy's name.
type Key = (PolicyAction, bool, String);

/// In istioctl's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PolicyAction {
    Deny,
    Allow,
    Log,
    Custom,
}

impl PolicyAction {
    fn word(self) -> &'static str {
        match self {
            Self::Deny => "DENY",
            Self::Allow => "ALLOW",
            Self::Log => "LOG",
            Self::Custom => "CUSTOM",
        }
    }
}

/// The table as istioctl prints it; `all` adds dry-run policies, the default filter chain and the
/// chains of each policy, and tells a filter that denies all from one that has only dry-run rules.
pub fn table<'a>(dump: &Dump<'a>, all: bool) -> Table<'a> {
    const HEADER: [&str; 5] = [
        "ACTION",
        "AuthorizationPolicy",
        "RULES",
        "ENFORCED",
        "FILTER CHAINS",
    ];
    let columns = if all { HEADER.len() } else { 3 };
    let mut table = Table::new(3, &HEADER[..columns]);
    let rows = rows(dump, all);
    // istioctl counts the rules of a name, whatever the action.
    let mut rules: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for ((_, _, name), row) in &rows {
        rules.entry(name).or_default().extend(&row.rules);
    }
    for ((action, dry_run, name), row) in &rows {
        let count = if all {
            row.rules.len()
        } else {
            rules[name.as_str()].len()
        };
        let enforced = if *dry_run { "dry-run" } else { "yes" };
        let chains: Vec<_> = row.chains.iter().map(String::as_str).collect();
        let cells = [
            action.word().into(),
            name.clone().into(),
            count.to_string().into(),
            enforced.into(),
            chains.join(",").into(),
        ];
        table.row(cells.into_iter().take(columns));
    }
    table
}

fn rows(dump: &Dump<'_>, all: bool) -> BTreeMap<Key, PolicyRow> {
    let mut rows = BTreeMap::new();
    let in_use = |state| all && state == ResourceState::Static || state == ResourceState::Active;
    for listener in dump
        .of(Section::Listeners)
        .filter(|listener| in_use(listener.state))
        .filter_map(|l| l.raw)
    {
        let default = listener.get("default_filter_chain").filter(|_| all);
        for chain in listener.list("filter_chains").chain(default) {
            let name = chain
                .string_at("name")
                .or_else(|| listener.string_at("name"))
                .unwrap_or_default();
            filters(chain).for_each(|filter| add(&mut rows, filter, &name, all));
        }
    }
    rows
}

/// Every RBAC filter of a chain, by istioctl's way to know one: its name.
fn filters(chain: Raw<'_>) -> impl Iterator<Item = Raw<'_>> {
    chain.list("filters").flat_map(|filter| {
        let name = filter.string_at("name").unwrap_or_default();
        let config = filter.get("typed_config");
        let own = config.filter(|_| name == "envoy.filters.network.rbac");
        let http = config
            .into_iter()
            .flat_map(|manager| manager.list("http_filters"));
        let http = http.filter(|f| {
            f.string_at("name")
                .is_some_and(|name| name == "envoy.filters.http.rbac")
        });
        own.into_iter()
            .chain(http.filter_map(|filter| filter.get("typed_config")))
    })
}

fn add(rows: &mut BTreeMap<Key, PolicyRow>, filter: Raw<'_>, chain: &str, all: bool) {
    let mut put = |action, dry_run, name: String, rule| {
        let row = rows.entry((action, dry_run, name)).or_default();
        row.rules.insert(rule);
        row.chains.insert(chain.to_owned());
    };
    let rules = filter.get("rules");
    let mut any = false;
    for (key, _) in rules
        .and_then(|rules| rules.get("policies"))
        .into_iter()
        .flat_map(Raw::members)
    {
        any = true;
        let (name, rule) = policy(&key);
        put(action(rules), false, name, rule);
    }
    // Without `rules` nothing is enforced; istioctl prints the row all the same.
    if !any && (rules.is_some() || !all) {
        put(action(rules), false, NOTHING.to_owned(), 0);
    }
    let shadow = filter.get("shadow_rules");
    for (key, _) in shadow
        .and_then(|rules| rules.get("policies"))
        .into_iter()
        .flat_map(Raw::members)
    {
        let (name, rule) = policy(&key);
        if key.starts_with("istio-ext-authz-") {
            put(PolicyAction::Custom, false, name, rule);
        } else if all {
            put(action(shadow), true, name, rule);
        }
    }
}

fn action(rules: Option<Raw<'_>>) -> PolicyAction {
    match rules.and_then(|rules| rules.string_at("action")).as_deref() {
        Some("DENY") => PolicyAction::Deny,
        Some("LOG") => PolicyAction::Log,
        _ => PolicyAction::Allow,
    }
}

/// `name.namespace` and the rule's index; a name that istiod did not make stays as it is.
fn policy(key: &str) -> (String, usize) {
    PolicyName::parse(key).map_or((key.to_owned(), 0), |p| {
        (format!("{}.{}", p.name, p.namespace), p.rule)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUMP: &str = r#"{"configs":[{"@type":"type.googleapis.com/envoy.admin.v3.ListenersConfigDump",
        "dynamic_listeners":[{"name":"virtualInbound","active_state":{"listener":{"name":"virtualInbound",
        "filter_chains":[
          {"name":"http","filters":[{"name":"hcm","typed_config":{"http_filters":[
            {"name":"envoy.filters.http.rbac","typed_config":{"shadow_rules":{"action":"DENY","policies":{
              "istio-ext-authz-opa-ns[shop]-policy[ask]-rule[0]":{}}}}},
            {"name":"envoy.filters.http.rbac","typed_config":{"rules":{"action":"DENY","policies":{
              "ns[shop]-policy[no]-rule[1]":{},"ns[shop]-policy[no]-rule[0]":{}}}}},
            {"name":"envoy.filters.http.rbac","typed_config":{"rules":{"policies":{"ns[shop]-policy[a]-rule[0]":{}}},
              "shadow_rules":{"policies":{"ns[shop]-policy[dry]-rule[0]":{}}}}}]}}]},
          {"name":"tcp","filters":[{"name":"envoy.filters.network.rbac","typed_config":{"rules":{}}}]}],
        "default_filter_chain":{"name":"default","filters":[
          {"name":"envoy.filters.network.rbac","typed_config":{"rules":{"action":"LOG","policies":{"mine":{}}}}}]}}}}]}]}"#;

    #[test]
    fn rows_are_grouped_by_action_as_istioctl_groups_them() {
        let dump = Dump::index(DUMP, &[Section::Listeners]).expect("a dump");
        let expected = "\
ACTION   AuthorizationPolicy         RULES
DENY     no.shop                     2
ALLOW    _anonymous_match_nothing_   1
ALLOW    a.shop                      1
CUSTOM   ask.shop                    1
";
        assert_eq!(table(&dump, false).to_string(), expected);
    }

    #[test]
    fn all_shows_dry_runs_and_chains_and_no_row_for_a_filter_that_enforces_nothing() {
        let dump = Dump::index(DUMP, &[Section::Listeners]).expect("a dump");
        let expected = "\
ACTION   AuthorizationPolicy         RULES   ENFORCED   FILTER CHAINS
DENY     no.shop                     2       yes        http
ALLOW    _anonymous_match_nothing_   1       yes        tcp
ALLOW    a.shop                      1       yes        http
ALLOW    dry.shop                    1       dry-run    http
LOG      mine                        1       yes        default
CUSTOM   ask.shop                    1       yes        http
";
        assert_eq!(table(&dump, true).to_string(), expected);
    }
}
