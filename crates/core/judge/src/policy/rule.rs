//! One rule of an `AuthorizationPolicy`.

use super::Traffic;
use super::value::PolicyField;
use meshladder_mesh::MeshConfig;
use meshladder_sim::rbac::{RbacAction, RbacPolicy, RbacRule};
use meshladder_text::tree::Node;

/// What a rule's meaning depends on beside itself.
pub(super) struct RuleContext<'c> {
    pub(super) mesh: &'c MeshConfig,
    pub(super) traffic: Traffic,
    pub(super) action: RbacAction,
    /// The policy's namespace.
    pub(super) namespace: &'c str,
}

/// A rule as a policy of Envoy's; none when istiod leaves it out.
pub(super) fn compile(node: &Node, name: &str, context: &RuleContext<'_>) -> Option<RbacPolicy> {
    if node.members().is_empty() && node.value == meshladder_text::tree::Value::Null {
        return None;
    }
    let (who, what) = conditions(node, context)?;
    let from = node.get("from").map_or(&[][..], Node::items);
    let to = node.get("to").map_or(&[][..], Node::items);
    let principals = alternatives(from, |from| source(from, context), &who)?;
    let permissions = alternatives(to, |to| operation(to, context), &what)?;
    Some(RbacPolicy::new(
        name,
        permissions,
        principals,
        node.span.start(),
    ))
}

/// "entries of from OR-ed as principals, of to OR-ed as permissions, when AND-ed into every one".
fn alternatives(
    entries: &[Node],
    compile: impl Fn(&Node) -> Option<Vec<RbacRule>>,
    conditions: &[RbacRule],
) -> Option<Vec<RbacRule>> {
    if entries.is_empty() {
        return Some(vec![all_of(Vec::new(), conditions)]);
    }
    let mut alternatives = Vec::with_capacity(entries.len());
    for entry in entries {
        alternatives.push(all_of(compile(entry)?, conditions));
    }
    Some(alternatives)
}

fn all_of(mut rules: Vec<RbacRule>, conditions: &[RbacRule]) -> RbacRule {
    rules.extend_from_slice(conditions);
    // Envoy refuses an empty list.
    if rules.is_empty() {
        rules.push(RbacRule::Any);
    }
    RbacRule::And(rules)
}

fn source(from: &Node, context: &RuleContext<'_>) -> Option<Vec<RbacRule>> {
    let fields = [
        (
            "serviceAccounts",
            "notServiceAccounts",
            PolicyField::ServiceAccounts(context.namespace),
        ),
        ("trustDomains", "notTrustDomains", PolicyField::TrustDomains),
        ("principals", "notPrincipals", PolicyField::Principals),
        (
            "requestPrincipals",
            "notRequestPrincipals",
            PolicyField::RequestPrincipals,
        ),
        ("namespaces", "notNamespaces", PolicyField::Namespaces),
        (
            "remoteIpBlocks",
            "notRemoteIpBlocks",
            PolicyField::RemoteIpBlocks,
        ),
        ("ipBlocks", "notIpBlocks", PolicyField::IpBlocks),
    ];
    all(from.get("source"), &fields, context)
}

fn operation(to: &Node, context: &RuleContext<'_>) -> Option<Vec<RbacRule>> {
    let fields = [
        ("hosts", "notHosts", PolicyField::Hosts),
        ("methods", "notMethods", PolicyField::Methods),
        ("paths", "notPaths", PolicyField::Paths),
        ("ports", "notPorts", PolicyField::Ports),
    ];
    all(to.get("operation"), &fields, context)
}

fn all(
    node: Option<&Node>,
    fields: &[(&str, &str, PolicyField<'_>)],
    context: &RuleContext<'_>,
) -> Option<Vec<RbacRule>> {
    let mut rules = Vec::new();
    let Some(node) = node else {
        return Some(rules);
    };
    for (values, not_values, field) in fields {
        let (values, not_values) = (node.items_at(values), node.items_at(not_values));
        rules.extend(both(*field, values, not_values, context)?);
    }
    Some(rules)
}

/// The conditions under `when`: those on who calls, and those on what is done. "unknown attribute"
/// makes istiod skip the rule.
fn conditions(node: &Node, context: &RuleContext<'_>) -> Option<(Vec<RbacRule>, Vec<RbacRule>)> {
    let (mut who, mut what) = (Vec::new(), Vec::new());
    for condition in node.items_at("when") {
        let field = attribute(condition.str_at("key").unwrap_or_default())?;
        let (values, not_values) = (
            condition.items_at("values"),
            condition.items_at("notValues"),
        );
        let rules = both(field, values, not_values, context)?;
        if field.is_principal() {
            who.extend(rules);
        } else {
            what.extend(rules);
        }
    }
    Some((who, what))
}

fn attribute(key: &str) -> Option<PolicyField<'_>> {
    match key {
        "source.ip" => return Some(PolicyField::IpBlocks),
        "remote.ip" => return Some(PolicyField::RemoteIpBlocks),
        "source.namespace" => return Some(PolicyField::Namespaces),
        "source.principal" => return Some(PolicyField::Principals),
        "request.auth.principal" => return Some(PolicyField::RequestPrincipals),
        "request.auth.audiences" => return Some(PolicyField::Audiences),
        "request.auth.presenter" => return Some(PolicyField::Presenter),
        "destination.ip" => return Some(PolicyField::DestinationIp),
        "destination.port" => return Some(PolicyField::Ports),
        "connection.sni" => return Some(PolicyField::Sni),
        _ => {}
    }
    // These have a name in brackets behind them.
    if let Some(header) = key.strip_prefix("request.headers") {
        return Some(PolicyField::Header(header));
    }
    if let Some(claim) = key.strip_prefix("request.auth.claims") {
        return Some(PolicyField::Claims(claim));
    }
    match key.strip_prefix("experimental.") {
        Some(filter) if filter.starts_with("envoy.filters.") => {
            Some(PolicyField::EnvoyFilter(filter))
        }
        _ => None,
    }
}

/// One of the values, and none of the others.
fn both(
    field: PolicyField<'_>,
    values: &[Node],
    not_values: &[Node],
    context: &RuleContext<'_>,
) -> Option<Vec<RbacRule>> {
    let mut rules = Vec::new();
    let wanted = compile_all(field, values, context)?;
    if !wanted.is_empty() {
        rules.push(RbacRule::Or(wanted));
    }
    let unwanted = compile_all(field, not_values, context)?;
    if !unwanted.is_empty() {
        rules.push(RbacRule::Not(Box::new(RbacRule::Or(unwanted))));
    }
    Some(rules)
}

/// What cannot be said to Envoy makes an ALLOW rule vanish ("effectively result in a smaller allow
/// policy"); in any other only the value is left out ("a wider deny or audit policy").
fn compile_all(
    field: PolicyField<'_>,
    values: &[Node],
    context: &RuleContext<'_>,
) -> Option<Vec<RbacRule>> {
    let mut rules = Vec::new();
    for value in values.iter().filter_map(Node::str) {
        for value in with_aliases(field, value, context.mesh) {
            match field.compile(&value, context.traffic) {
                Some(rule) => rules.push(rule),
                None if context.action == RbacAction::Allow => return None,
                None => {}
            }
        }
    }
    Some(rules)
}

/// A principal of the mesh stands for the same one in every trust domain of it.
fn with_aliases(field: PolicyField<'_>, value: &str, mesh: &MeshConfig) -> Vec<String> {
    let parts: Vec<_> = value.split('/').collect();
    let (PolicyField::Principals, [domain, _, _, _, _]) = (field, parts.as_slice()) else {
        return vec![value.to_owned()];
    };
    let mut own = mesh.trust_domains.iter();
    let is_ours = *domain == "cluster.local" || own.any(|own| matches_domain(domain, own));
    if *domain == "*" || !is_ours {
        return vec![value.to_owned()];
    }

    let rest = &value[domain.len()..];
    let mut all: Vec<String> = Vec::new();
    for own in &mesh.trust_domains {
        // "If the trust domain has a prefix * …, keep the principal as-is for the matched trust
        // domain."
        let principal = match domain.strip_prefix('*') {
            Some(suffix) if own.ends_with(suffix) => value.to_owned(),
            _ => format!("{own}{rest}"),
        };
        if !all.contains(&principal) {
            all.push(principal);
        }
    }
    all
}

/// The trust domains of a mesh are the patterns here.
fn matches_domain(domain: &str, pattern: &str) -> bool {
    if domain == pattern || pattern == "*" {
        return true;
    }
    if let Some(prefix) = pattern.strip_suffix('*')
        && domain.starts_with(prefix)
    {
        return true;
    }
    match pattern.strip_prefix('*') {
        Some(suffix) => domain.ends_with(suffix),
        None => false,
    }
}
