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
    let all_of = |mut rules: Vec<RbacRule>| {
        rules.extend_from_slice(conditions);
        RbacRule::And(if rules.is_empty() {
            vec![RbacRule::Any]
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
fn conditions(node: &Node, context: &RuleContext<'_>) -> Option<(Vec<RbacRule>, Vec<RbacRule>)> {
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

fn attribute(key: &str) -> Option<PolicyField<'_>> {
    Some(match key {
        "source.ip" => PolicyField::IpBlocks,
        "remote.ip" => PolicyField::RemoteIpBlocks,
        "source.namespace" => PolicyField::Namespaces,
        "source.principal" => PolicyField::Principals,
        "request.auth.principal" => PolicyField::RequestPrincipals,
        "request.auth.audiences" => PolicyField::Audiences,
        "request.auth.presenter" => PolicyField::Presenter,
        "destination.ip" => PolicyField::DestinationIp,
        "destination.port" => PolicyField::Ports,
        "connection.sni" => PolicyField::Sni,
        _ => {
            let header = key.strip_prefix("request.headers").map(PolicyField::Header);
            let claim = || {
                key.strip_prefix("request.auth.claims")
                    .map(PolicyField::Claims)
            };
            let filter = || {
                key.strip_prefix("experimental.")
                    .filter(|rest| rest.starts_with("envoy.filters."))
            };
            return header
                .or_else(claim)
                .or_else(|| filter().map(PolicyField::EnvoyFilter));
        }
    })
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
    let mut parts = value.split('/');
    let (PolicyField::Principals, Some(domain), 4) = (field, parts.next(), parts.clone().count())
    else {
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
