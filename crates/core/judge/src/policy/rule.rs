//! One rule of an `AuthorizationPolicy`.

use super::Traffic;
use super::value::Field;
use meshladder_mesh::MeshConfig;
use meshladder_sim::rbac::{Action, Policy, Rule};
use meshladder_text::tree::Node;

/// What a rule's meaning depends on beside itself.
pub(super) struct Context<'c> {
    pub(super) mesh: &'c MeshConfig,
    pub(super) traffic: Traffic,
    pub(super) action: Action,
    /// The policy's namespace.
    pub(super) namespace: &'c str,
}

/// A rule as a policy of Envoy's; none when istiod leaves it out.
pub(super) fn compile(node: &Node, name: &str, context: &Context<'_>) -> Option<Policy> {
    if node.members().is_empty() && node.value == meshladder_text::tree::Value::Null {
        return None;
    }
    let (who, what) = conditions(node, context)?;
    let from = node.get("from").map_or(&[][..], Node::items);
    let to = node.get("to").map_or(&[][..], Node::items);
    let principals = alternatives(from, |from| source(from, context), &who)?;
    let permissions = alternatives(to, |to| operation(to, context), &what)?;
    Some(Policy::new(
        name,
        permissions,
        principals,
        node.span.start(),
    ))
}

/// "entries of from OR-ed as principals, of to OR-ed as permissions, when AND-ed into every one".
fn alternatives(
    entries: &[Node],
    compile: impl Fn(&Node) -> Option<Vec<Rule>>,
    conditions: &[Rule],
) -> Option<Vec<Rule>> {
    let all_of = |mut rules: Vec<Rule>| {
        rules.extend_from_slice(conditions);
        Rule::And(if rules.is_empty() {
            vec![Rule::Any]
        } else {
            rules
        })
    };
    if entries.is_empty() {
        return Some(vec![all_of(Vec::new())]);
    }
    entries
        .iter()
        .map(|entry| compile(entry).map(all_of))
        .collect()
}

fn source(from: &Node, context: &Context<'_>) -> Option<Vec<Rule>> {
    let fields = [
        (
            "serviceAccounts",
            "notServiceAccounts",
            Field::ServiceAccounts(context.namespace),
        ),
        ("trustDomains", "notTrustDomains", Field::TrustDomains),
        ("principals", "notPrincipals", Field::Principals),
        (
            "requestPrincipals",
            "notRequestPrincipals",
            Field::RequestPrincipals,
        ),
        ("namespaces", "notNamespaces", Field::Namespaces),
        ("remoteIpBlocks", "notRemoteIpBlocks", Field::RemoteIpBlocks),
        ("ipBlocks", "notIpBlocks", Field::IpBlocks),
    ];
    all(from.get("source"), &fields, context)
}

fn operation(to: &Node, context: &Context<'_>) -> Option<Vec<Rule>> {
    let fields = [
        ("hosts", "notHosts", Field::Hosts),
        ("methods", "notMethods", Field::Methods),
        ("paths", "notPaths", Field::Paths),
        ("ports", "notPorts", Field::Ports),
    ];
    all(to.get("operation"), &fields, context)
}

fn all(
    node: Option<&Node>,
    fields: &[(&str, &str, Field<'_>)],
    context: &Context<'_>,
) -> Option<Vec<Rule>> {
    let mut rules = Vec::new();
    for (values, not_values, field) in fields {
        let list = |key: &str| {
            node.and_then(|node| node.get(key))
                .map_or(&[][..], Node::items)
        };
        rules.extend(both(*field, list(values), list(not_values), context)?);
    }
    Some(rules)
}

/// The conditions under `when`: those on who calls, and those on what is done. "unknown attribute"
/// makes istiod skip the rule.
fn conditions(node: &Node, context: &Context<'_>) -> Option<(Vec<Rule>, Vec<Rule>)> {
    let (mut who, mut what) = (Vec::new(), Vec::new());
    for condition in node.get("when").map_or(&[][..], Node::items) {
        let field = attribute(condition.str_at("key").unwrap_or_default())?;
        let list = |key: &str| condition.get(key).map_or(&[][..], Node::items);
        let rules = both(field, list("values"), list("notValues"), context)?;
        if field.is_principal() {
            &mut who
        } else {
            &mut what
        }
        .extend(rules);
    }
    Some((who, what))
}

fn attribute(key: &str) -> Option<Field<'_>> {
    Some(match key {
        "source.ip" => Field::IpBlocks,
        "remote.ip" => Field::RemoteIpBlocks,
        "source.namespace" => Field::Namespaces,
        "source.principal" => Field::Principals,
        "request.auth.principal" => Field::RequestPrincipals,
        "request.auth.audiences" => Field::Audiences,
        "request.auth.presenter" => Field::Presenter,
        "destination.ip" => Field::DestinationIp,
        "destination.port" => Field::Ports,
        "connection.sni" => Field::Sni,
        _ => {
            let header = key.strip_prefix("request.headers").map(Field::Header);
            let claim = || key.strip_prefix("request.auth.claims").map(Field::Claims);
            let filter = || {
                key.strip_prefix("experimental.")
                    .filter(|rest| rest.starts_with("envoy.filters."))
            };
            return header
                .or_else(claim)
                .or_else(|| filter().map(Field::EnvoyFilter));
        }
    })
}

/// One of the values, and none of the others.
fn both(
    field: Field<'_>,
    values: &[Node],
    not_values: &[Node],
    context: &Context<'_>,
) -> Option<Vec<Rule>> {
    let mut rules = Vec::new();
    let wanted = compile_all(field, values, context)?;
    if !wanted.is_empty() {
        rules.push(Rule::Or(wanted));
    }
    let unwanted = compile_all(field, not_values, context)?;
    if !unwanted.is_empty() {
        rules.push(Rule::Not(Box::new(Rule::Or(unwanted))));
    }
    Some(rules)
}

/// What cannot be said to Envoy makes an ALLOW rule vanish ("effectively result in a smaller allow
/// policy"); in any other only the value is left out ("a wider deny or audit policy").
fn compile_all(field: Field<'_>, values: &[Node], context: &Context<'_>) -> Option<Vec<Rule>> {
    let mut rules = Vec::new();
    for value in values.iter().filter_map(Node::str) {
        for value in with_aliases(field, value, context.mesh) {
            match field.compile(&value, context.traffic) {
                Some(rule) => rules.push(rule),
                None if context.action == Action::Allow => return None,
                None => {}
            }
        }
    }
    Some(rules)
}

/// A principal of the mesh stands for the same one in every trust domain of it.
fn with_aliases(field: Field<'_>, value: &str, mesh: &MeshConfig) -> Vec<String> {
    let mut parts = value.split('/');
    let (Field::Principals, Some(domain), 4) = (field, parts.next(), parts.clone().count()) else {
        return vec![value.to_owned()];
    };
    let is_ours = mesh
        .trust_domains
        .iter()
        .any(|own| matches_domain(domain, own))
        || domain == "cluster.local";
    if domain == "*" || !is_ours {
        return vec![value.to_owned()];
    }
    let rest = &value[domain.len()..];
    let mut all: Vec<String> = Vec::new();
    for own in &mesh.trust_domains {
        // "If the trust domain has a prefix * …, keep the principal as-is for the matched trust
        // domain."
        let is_matched = domain
            .strip_prefix('*')
            .is_some_and(|suffix| own.ends_with(suffix));
        let principal = if is_matched {
            value.to_owned()
        } else {
            format!("{own}{rest}")
        };
        if !all.contains(&principal) {
            all.push(principal);
        }
    }
    all
}

/// The trust domains of a mesh are the patterns here.
fn matches_domain(domain: &str, pattern: &str) -> bool {
    domain == pattern
        || pattern == "*"
        || pattern
            .strip_suffix('*')
            .is_some_and(|prefix| domain.starts_with(prefix))
        || pattern
            .strip_prefix('*')
            .is_some_and(|suffix| domain.ends_with(suffix))
}
