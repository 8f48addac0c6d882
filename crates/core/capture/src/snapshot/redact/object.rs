//! Which values of a tree are secret: of Kubernetes objects, of Envoy's configuration, of keys in
//! JSON.
//!
//! JSON, YAML and what is left of either when it is broken all come here as nodes.

use std::ops::Range;

use super::name::{self, NameClass};
use meshladder_text::tree::{Member, Node, Value};

/// The places of the scalars to take out.
pub(super) type Spans = Vec<Range<usize>>;

/// Goes through a whole tree.
pub(super) fn tree(node: &Node, out: &mut Spans) {
    match &node.value {
        Value::Object(members) => {
            object(node, out);
            for member in members {
                // Labels are names that people give, and selectors go by them.
                if !is_label_map(member.key.as_bytes()) {
                    tree(&member.value, out);
                }
            }
        }
        Value::Array(items) => {
            arguments(items, out);
            for item in items {
                tree(item, out);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Whether the values below a member of that name are labels, whatever they are called.
pub(super) fn is_label_map(key: &[u8]) -> bool {
    const MAPS: [&[u8]; 6] = [
        b"labels",
        b"matchLabels",
        b"selector",
        b"nodeSelector",
        b"sourceLabels",
        b"podLabels",
    ];
    MAPS.contains(&key)
}

/// Judges one object: what its members say of each other, and each by its name.
pub(super) fn object(node: &Node, out: &mut Spans) {
    if is_secret(node) {
        secret(node, out);
    }
    if kinds(node).any(|kind| kind.eq_ignore_ascii_case("SecretList")) {
        for item in node.items_at("items") {
            secret(item, out);
        }
    }
    pair(node, out);
    json_web_key(node, out);
    for Member { key, value, .. } in node.members() {
        member(key, value, out);
    }
}

/// Judges a member by its name.
pub(super) fn member(key: &str, value: &Node, out: &mut Spans) {
    let key = key.as_bytes();
    match &value.value {
        Value::String(text) => {
            if is_secret_value(key, text) {
                out.push(value.span.range());
            }
        }
        Value::Number(_) => {
            if name::class(key) == Some(NameClass::Password) {
                out.push(value.span.range());
            }
        }
        Value::Object(_) | Value::Array(_) => {
            if let Some(is_wanted) = wanted_below(key) {
                members_below(value, is_wanted, out);
            }
            matched(key, value, out);
            // `"Authorization": ["Bearer …"]`, as Go writes headers.
            for item in value.items() {
                if item.str().is_some_and(|text| is_secret_value(key, text)) {
                    out.push(item.span.range());
                }
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

/// What a header or a parameter that carries a credential is compared with.
fn matched(key: &[u8], value: &Node, out: &mut Spans) {
    if !is_compared(key) {
        return;
    }
    for how in ["exact", "prefix", "suffix", "contains"] {
        let Some(wanted) = value.get(how) else {
            continue;
        };
        // `prefix: "Bearer "` says only which kind of credential.
        let is_secret = |text: &str| !is_scheme(text) && is_secret_value(key, text);
        if wanted.str().is_some_and(is_secret) {
            out.push(wanted.span.range());
        }
    }
}

/// Whether a value of that name may be compared with a credential.
pub(super) fn is_compared(key: &[u8]) -> bool {
    matches!(
        name::class(key),
        Some(NameClass::Password | NameClass::Credential | NameClass::Header)
    )
}

/// `Bearer`, `Basic `: a scheme without its credential.
fn is_scheme(text: &str) -> bool {
    let word = text.trim_end();
    !word.is_empty() && word.len() < 12 && word.bytes().all(|b| b.is_ascii_alphabetic())
}

fn is_secret_value(key: &[u8], text: &str) -> bool {
    match name::class(key) {
        Some(class) => name::is_secret(class, text.as_bytes()),
        None => false,
    }
}

/// Whether a member is wanted, by its name and the object it is in.
type MemberTest = fn(&str, &Node) -> bool;

/// Which members below one of that name are secret.
pub(super) fn wanted_below(key: &[u8]) -> Option<MemberTest> {
    match key {
        b"auths" => Some(is_docker_login),
        b"credentials" => Some(is_api_key),
        _ => name::holds_inline(key).then_some(is_inline),
    }
}

/// An object without a kind, or with a part of one, may be a Secret that was cut off there: kubectl
/// writes `data` first.
fn is_secret(node: &Node) -> bool {
    let mut kinds = kinds(node).peekable();
    if kinds.peek().is_some() {
        return kinds.any(|kind| {
            let start = "Secret".get(..kind.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(kind))
        });
    }
    let has_data = node.get("apiVersion").is_some() && node.get("data").is_some();
    has_data || node.get("stringData").is_some()
}

/// What an object says it is: of members with the same name all count, however they are written.
fn kinds(node: &Node) -> impl Iterator<Item = &str> {
    let kinds = node
        .members()
        .iter()
        .filter(|member| member.key.eq_ignore_ascii_case("kind"));
    kinds.filter_map(|member| Some(member.value.str()?.trim()))
}

/// All values go; key names, type and metadata stay.
fn secret(node: &Node, out: &mut Spans) {
    // Of members with the same name all count.
    for member in node.members() {
        if matches!(&*member.key, "data" | "stringData") {
            leaves(&member.value, out);
        }
    }
    let Some(annotations) = node.at(["metadata", "annotations"]) else {
        return;
    };
    for annotation in annotations.members() {
        if is_copy(annotation) {
            leaves(&annotation.value, out);
        }
    }
}

/// `last-applied-configuration` and what other tools keep of the kind: a copy of the whole Secret.
fn is_copy(annotation: &Member) -> bool {
    if annotation.key.contains("applied") {
        return true;
    }
    // An object, or one that was packed by gzip and written as base64.
    let text = annotation.value.str().unwrap_or_default();
    text.trim_start().starts_with(['{', '[']) || text.starts_with("H4sI")
}

/// Every value below a node.
pub(super) fn leaves(node: &Node, out: &mut Spans) {
    match &node.value {
        Value::Object(members) => {
            for member in members {
                leaves(&member.value, out);
            }
        }
        Value::Array(items) => {
            for item in items {
                leaves(item, out);
            }
        }
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) | Value::String(_) => out.push(node.span.range()),
    }
}

/// `{"name": "DB_PASSWORD", "value": …}` of a container's environment, and `{"key": "x-api-key",
/// "value": …}` of headers that Envoy adds.
fn pair(node: &Node, out: &mut Spans) {
    let Some(name) = node.str_at("name").or_else(|| node.str_at("key")) else {
        return;
    };
    for key in [
        "value",
        "raw_value",
        "rawValue",
        "values",
        "notValues",
        "string_match",
        "stringMatch",
        "exact_match",
        "exactMatch",
        "prefix_match",
        "prefixMatch",
    ] {
        if let Some(value) = node.get(key) {
            member(name, value, out);
        }
    }
}

/// RFC 7518: "d", "p", "q", "dp", "dq", "qi" and "oth" are private, and so is "k" of a symmetric
/// key.
fn json_web_key(node: &Node, out: &mut Spans) {
    if node.str_at("kty").is_none() {
        return;
    }
    for member in node.members() {
        if let "d" | "p" | "q" | "dp" | "dq" | "qi" | "oth" | "k" = &*member.key {
            leaves(&member.value, out);
        }
    }
}

/// `--password`, then its value.
fn arguments(items: &[Node], out: &mut Spans) {
    for two in items.windows(2) {
        if let (Some(flag), Some(value)) = (two[0].str(), two[1].str())
            && flag.starts_with('-')
            && flag.bytes().all(name::is_part)
            && !value.starts_with('-')
        {
            member(flag, &two[1], out);
        }
    }
}

fn members_below(node: &Node, is_wanted: MemberTest, out: &mut Spans) {
    for item in node.items() {
        members_below(item, is_wanted, out);
    }
    for Member { key, value, .. } in node.members() {
        if is_wanted(key, node) && value.str().is_some() {
            out.push(value.span.range());
        } else {
            members_below(value, is_wanted, out);
        }
    }
}

/// Envoy's `DataSource`.
fn is_inline(key: &str, _: &Node) -> bool {
    matches!(
        key,
        "inline_string" | "inline_bytes" | "inlineString" | "inlineBytes"
    )
}

/// The keys of Envoy's API key filter are told by the client they belong to.
fn is_api_key(key: &str, holder: &Node) -> bool {
    key == "key" && holder.get("client").is_some()
}

/// What `.dockerconfigjson` holds of a registry.
fn is_docker_login(key: &str, _: &Node) -> bool {
    matches!(key, "auth" | "password" | "identitytoken" | "registrytoken")
}
