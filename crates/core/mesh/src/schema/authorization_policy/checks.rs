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
        walk.fault(
            Flaw::InvalidValue,
            annotation,
            format!("is {}, not true or false", shown(annotation)),
        );
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
    let action = walk
        .object
        .spec_at(["action"])
        .and_then(Node::str)
        .unwrap_or_default();
    if action != "DENY" {
        return;
    }
    let sources: Vec<&Node> = items(rule, "from")
        .iter()
        .filter_map(|from| set(from, "source"))
        .collect();
    let operations: Vec<&Node> = items(rule, "to")
        .iter()
        .filter_map(|to| set(to, "operation"))
        .collect();
    let is_http_source =
        |field: &str| matches!(field, "requestPrincipals" | "notRequestPrincipals");
    let of_tcp = |node: &Node| {
        node.members()
            .iter()
            .any(|m| !is_http_source(&m.key) && m.value.value != Value::Null)
    };
    let tcp_in_from = sources.iter().any(|source| of_tcp(source));
    let tcp_in_to = operations
        .iter()
        .any(|operation| has(operation, "ports") || has(operation, "notPorts"));
    let only_http_from = !sources.is_empty() && operations.is_empty() && !tcp_in_from;
    if only_http_from || !operations.is_empty() && !tcp_in_to {
        let what = "says only what HTTP has, so on TCP ports it denies everything; `ports` would keep it to some";
        walk.fault(Flaw::Wider, rule, what);
    }
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
    for path in ["paths", "notPaths"]
        .into_iter()
        .flat_map(|field| items(operation, field))
    {
        if let Some(problem) = path.str().and_then(template_problem) {
            walk.fault(
                Flaw::InvalidValue,
                path,
                format!("is {}, and {problem}", shown(path)),
            );
        }
    }
}

/// "Path is invalid if it contains `{` or `}` beyond a supported path template", "It must not
/// contain named variables, `*`, or `**`", "If glob is {**}, it must be the last operator in the
/// template"
fn template_problem(path: &str) -> Option<&'static str> {
    let parts = || path.trim_matches('/').split('/');
    let is_template = |part: &str| matches!(part, "{*}" | "{**}");
    let has_template = path.contains("{*}") || path.contains("{**}");
    let mut operators = parts()
        .filter(|part| is_template(part))
        .skip_while(|part| *part != "{**}");
    if parts().any(|part| !is_template(part) && part.contains(['{', '}'])) {
        Some("braces are for {*} and {**}, between slashes")
    } else if has_template && parts().any(|part| !is_template(part) && part.contains('*')) {
        Some("in a path with {*} or {**} no other wildcard may stand")
    } else {
        operators
            .nth(1)
            .map(|_| "{**} must be the last of its kind")
    }
}

pub(super) fn condition<'n>(condition: &'n Node, walk: &mut SchemaWalk<'n>) {
    let Some(key) = filled(condition, "key") else {
        return;
    };
    if items(condition, "values").is_empty() && items(condition, "notValues").is_empty() {
        walk.fault(Flaw::MissingField, condition, "lacks values or notValues");
    }
    let name = text(condition, "key");
    let values = ["values", "notValues"]
        .into_iter()
        .flat_map(|field| items(condition, field));
    let (bracketed, format) = match name {
        "source.ip" | "remote.ip" | "destination.ip" => (false, TextRule::Range),
        "destination.port" => (false, TextRule::PortNumber),
        "source.namespace"
        | "source.principal"
        | "connection.sni"
        | "request.auth.principal"
        | "request.auth.audiences"
        | "request.auth.presenter" => (false, TextRule::Free),
        "source.serviceAccount" => (false, TextRule::Account),
        _ if [
            "request.headers",
            "request.auth.claims",
            "experimental.envoy.filters.",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix)) =>
        {
            (true, TextRule::Free)
        }
        _ => {
            walk.fault(
                Flaw::InvalidValue,
                key,
                format!("is {}, which is no attribute{}", shown(key), instead(name)),
            );
            return;
        }
    };
    let is_good = name
        .find('[')
        .is_some_and(|open| open > 0 && name.ends_with(']') && open + 2 < name.len());
    if bracketed && !is_good {
        walk.fault(
            Flaw::InvalidValue,
            key,
            format!("is {}, not of the form {name}[NAME]", shown(key)),
        );
    }
    for value in values {
        let text = value.str().filter(|text| !text.is_empty());
        if let Some((flaw, what)) = text.and_then(|text| format.problem(text)) {
            walk.fault(flaw, value, what);
        }
    }
    let is_refused = matches!(name, "source.namespace" | "source.principal")
        || name.starts_with("request.auth.");
    if is_custom(walk) && is_refused {
        walk.fault(
            Flaw::Misfit,
            key,
            format!(
                "is {}, which is not supported with action CUSTOM",
                shown(key)
            ),
        );
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
