//! What the fields of an AuthorizationPolicy must be to each other.

use crate::schema::common::one_selection;
use crate::schema::fault::{Flaw, shown};
use crate::schema::fields::{entries, filled, has, items, not_beside, set, text};
use crate::schema::text::TextRule;
use crate::schema::walk::SchemaWalk;
use meshladder_text::tree::{Node, Value};

pub(super) fn spec<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    one_selection(spec, walk);
    let action = text(spec, "action");
    if matches!(action, "CUSTOM" | "DENY") && !has(spec, "rules") {
        walk.fault(
            Flaw::MissingField,
            spec,
            format!("has action {action} and lacks rules, so it never matches"),
        );
    }
    let provider = set(spec, "provider");
    match (action, provider) {
        ("CUSTOM", None) => {
            walk.fault(
                Flaw::MissingField,
                spec,
                "has action CUSTOM and lacks provider",
            );
        }
        ("CUSTOM", Some(provider)) if filled(provider, "name").is_none() => {
            walk.fault(Flaw::MissingField, provider, "lacks name");
        }
        ("CUSTOM", _) | (_, None) => {}
        (_, Some(provider)) => {
            let action = if action.is_empty() { "ALLOW" } else { action };
            walk.fault(
                Flaw::Misfit,
                provider,
                format!("goes with action CUSTOM, and this is {action}"),
            );
        }
    }
    dry_run(action, walk);
}

/// "the annotation istio.io/dry-run currently only supports action ALLOW/DENY"
fn dry_run(action: &str, walk: &mut SchemaWalk<'_>) {
    let object = walk.object;
    let Some(annotation) = object
        .node
        .at(["metadata", "annotations", "istio.io/dry-run"])
    else {
        return;
    };
    if matches!(action, "AUDIT" | "CUSTOM") {
        walk.fault(
            Flaw::Misfit,
            annotation,
            format!("goes with ALLOW and DENY, and this is {action}"),
        );
    } else if !annotation.str().is_some_and(is_bool) {
        walk.value_fault(Flaw::InvalidValue, annotation, "not true or false");
    }
}

/// As Go reads a bool.
fn is_bool(text: &str) -> bool {
    matches!(
        text,
        "1" | "t" | "T" | "TRUE" | "true" | "True" | "0" | "f" | "F" | "FALSE" | "false" | "False"
    )
}

/// Whether a rule is one for HTTP alone in a policy that denies: "configured AuthorizationPolicy
/// will deny all traffic to TCP ports under its scope due to the use of only HTTP attributes in a
/// DENY rule"
pub(super) fn rule<'n>(rule: &'n Node, walk: &mut SchemaWalk<'n>) {
    if walk.object.spec_at(["action"]).and_then(Node::str) != Some("DENY") {
        return;
    }
    let mut has_source = false;
    let mut tcp_in_from = false;
    for from in items(rule, "from") {
        if let Some(source) = set(from, "source") {
            has_source = true;
            tcp_in_from |= names_tcp_source(source);
        }
    }
    let mut has_operation = false;
    let mut tcp_in_to = false;
    for to in items(rule, "to") {
        if let Some(operation) = set(to, "operation") {
            has_operation = true;
            tcp_in_to |= has(operation, "ports") || has(operation, "notPorts");
        }
    }
    let is_http_alone = if has_operation {
        !tcp_in_to
    } else {
        has_source && !tcp_in_from
    };
    if is_http_alone {
        let what = "says only what HTTP has, so on TCP ports it denies everything; `ports` would keep it to some";
        walk.fault(Flaw::Wider, rule, what);
    }
}

/// Whether a source says something that a TCP connection has, too. Tokens stand in headers.
fn names_tcp_source(source: &Node) -> bool {
    for member in source.members() {
        let is_http = matches!(&*member.key, "requestPrincipals" | "notRequestPrincipals");
        if !is_http && member.value.value != Value::Null {
            return true;
        }
    }
    false
}

pub(super) fn source<'n>(source: &'n Node, walk: &mut SchemaWalk<'n>) {
    if is_empty(source) {
        walk.fault(Flaw::MissingField, source, "is empty");
    }
    for field in ["serviceAccounts", "notServiceAccounts"] {
        not_beside(
            source,
            field,
            &["principals", "notPrincipals", "namespaces", "notNamespaces"],
            walk,
        );
    }
    if !is_custom(walk) {
        return;
    }
    for field in [
        "namespaces",
        "notNamespaces",
        "principals",
        "notPrincipals",
        "requestPrincipals",
        "notRequestPrincipals",
    ] {
        if let Some(list) = entries(source, field) {
            walk.fault(Flaw::Misfit, list, "is not supported with action CUSTOM");
        }
    }
}

fn is_custom(walk: &SchemaWalk<'_>) -> bool {
    walk.object.spec_at(["action"]).and_then(Node::str) == Some("CUSTOM")
}

fn is_empty(node: &Node) -> bool {
    node.members()
        .iter()
        .all(|member| member.value.items().is_empty())
}

pub(super) fn operation<'n>(operation: &'n Node, walk: &mut SchemaWalk<'n>) {
    if is_empty(operation) {
        walk.fault(Flaw::MissingField, operation, "is empty");
    }
    let paths = items(operation, "paths").iter();
    for path in paths.chain(items(operation, "notPaths")) {
        if let Some(problem) = path.str().and_then(template_problem) {
            walk.value_fault(Flaw::InvalidValue, path, format!("and {problem}"));
        }
    }
}

/// "Path is invalid if it contains `{` or `}` beyond a supported path template", "It must not
/// contain named variables, `*`, or `**`", "If glob is {**}, it must be the last operator in the
/// template"
fn template_problem(path: &str) -> Option<&'static str> {
    let has_template = path.contains("{*}") || path.contains("{**}");
    let mut has_stray_wildcard = false;
    let mut has_rest = false;
    let mut has_more = false;
    for part in path.trim_matches('/').split('/') {
        if matches!(part, "{*}" | "{**}") {
            has_more |= has_rest;
            has_rest |= part == "{**}";
            continue;
        }
        if part.contains(['{', '}']) {
            return Some("braces are for {*} and {**}, between slashes");
        }
        has_stray_wildcard |= part.contains('*');
    }
    if has_template && has_stray_wildcard {
        return Some("in a path with {*} or {**} no other wildcard may stand");
    }
    has_more.then_some("{**} must be the last of its kind")
}

pub(super) fn condition<'n>(condition: &'n Node, walk: &mut SchemaWalk<'n>) {
    let Some(key) = filled(condition, "key") else {
        return;
    };
    if items(condition, "values").is_empty() && items(condition, "notValues").is_empty() {
        walk.fault(Flaw::MissingField, condition, "lacks values or notValues");
    }
    let name = text(condition, "key");
    let is_bracketed = takes_brackets(name);
    let rule = match name {
        "source.ip" | "remote.ip" | "destination.ip" => TextRule::Range,
        "destination.port" => TextRule::PortNumber,
        "source.namespace"
        | "source.principal"
        | "connection.sni"
        | "request.auth.principal"
        | "request.auth.audiences"
        | "request.auth.presenter" => TextRule::Free,
        "source.serviceAccount" => TextRule::Account,
        _ if is_bracketed => TextRule::Free,
        _ => {
            walk.fault(
                Flaw::InvalidValue,
                key,
                format!("is {}, which is no attribute{}", shown(key), instead(name)),
            );
            return;
        }
    };
    if is_bracketed && !has_brackets(name) {
        walk.value_fault(
            Flaw::InvalidValue,
            key,
            format!("not of the form {name}[NAME]"),
        );
    }
    let values = items(condition, "values").iter();
    for value in values.chain(items(condition, "notValues")) {
        let text = value.str().unwrap_or_default();
        if text.is_empty() {
            continue;
        }
        if let Some((flaw, what)) = rule.problem(text) {
            walk.fault(flaw, value, what);
        }
    }
    let is_refused = matches!(name, "source.namespace" | "source.principal")
        || name.starts_with("request.auth.");
    if is_custom(walk) && is_refused {
        walk.value_fault(
            Flaw::Misfit,
            key,
            "which is not supported with action CUSTOM",
        );
    }
}

/// `request.headers[x-user]`: attributes that hold several by name.
fn takes_brackets(name: &str) -> bool {
    name.starts_with("request.headers")
        || name.starts_with("request.auth.claims")
        || name.starts_with("experimental.envoy.filters.")
}

/// Whether a name in brackets stands at the end.
fn has_brackets(name: &str) -> bool {
    match name.find('[') {
        Some(open) => open > 0 && name.ends_with(']') && open + 2 < name.len(),
        None => false,
    }
}

/// What took the place of an attribute that once was.
fn instead(name: &str) -> &'static str {
    match name {
        "destination.namespace" => "; the policy's own namespace says that",
        "destination.name" | "destination.user" => "; the selector says that",
        _ if name.starts_with("destination.labels") => "; the selector says that",
        _ => "",
    }
}
