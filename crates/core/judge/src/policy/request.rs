//! `RequestAuthentication`: which tokens count.

use super::select::{self, PolicyObjects};
use meshladder_mesh::MeshConfig;
use meshladder_mesh::policies::Workload;
use meshladder_sim::jwt::JwtAuthn;
use meshladder_text::json::Raw;
use meshladder_text::tree::{Node, Value};

/// The filter that istiod makes of all rules that apply; none without any.
///
/// "The behavior of the filter should reject all requests with invalid token. On the other hand, if
/// no token provided, the request is allowed."
pub(super) fn compile(
    objects: &PolicyObjects<'_>,
    workload: &Workload<'_>,
    mesh: &MeshConfig,
) -> Option<JwtAuthn> {
    let mut rules = Vec::new();
    for policy in select::reaching(&objects.request_authentications, workload, mesh) {
        if let Some(jwt_rules) = policy.node.at(["spec", "jwtRules"]) {
            rules.extend(jwt_rules.items());
        }
    }
    rules.sort_by_key(|rule| rule.str_at("issuer").unwrap_or_default());

    let mut names = Vec::new();
    let mut providers = Vec::new();
    for (number, rule) in rules.into_iter().enumerate() {
        let name = format!("origins-{number}");
        providers.push((name.clone(), provider(rule)));
        names.push(name);
    }
    let everywhere = [
        ("match", Value::nested(["prefix"], "/")),
        ("requires", requirement(&names)?),
    ];
    let filter = Value::object([
        ("providers", Value::object(providers)),
        ("rules", Value::list([Value::object(everywhere)])),
        ("bypass_cors_preflight", true.into()),
    ]);
    Some(JwtAuthn::compile(Raw::of(&filter.to_json()).ok()?))
}

/// What a request must carry; none without providers.
fn requirement(providers: &[String]) -> Option<Value> {
    let mut alternatives = Vec::new();
    let mut all = Vec::new();
    match providers {
        [] => return None,
        [only] => return Some(optional(only)),
        several => {
            for name in several {
                alternatives.push(named(name));
                all.push(optional(name));
            }
        }
    }
    // "{P1, P2 .., AND of {OR{P1, allow_missing}, OR{P2, allow_missing} ...}}"
    alternatives.push(Value::nested(["requires_all", "requirements"], all));
    Some(any_of(alternatives))
}

fn named(provider: &str) -> Value {
    Value::nested(["provider_name"], provider)
}

/// A token of that provider, or none at all.
fn optional(provider: &str) -> Value {
    let none = Value::nested(["allow_missing"], empty());
    any_of(vec![named(provider), none])
}

fn any_of(requirements: Vec<Value>) -> Value {
    Value::nested(["requires_any", "requirements"], requirements)
}

fn empty() -> Value {
    Value::Object(Box::default())
}

/// A `JWTRule` as a `JwtProvider`.
fn provider(rule: &Node) -> Value {
    let mut fields = vec![("payload_in_metadata", Value::from("payload"))];
    for (name, key) in [
        ("issuer", "issuer"),
        ("forward_payload_header", "outputPayloadToHeader"),
    ] {
        fields.extend(rule.str_at(key).map(|text| (name, text.into())));
    }
    let forwards = rule.get("forwardOriginalToken");
    if forwards.is_some_and(|flag| flag.value == Value::Bool(true)) {
        fields.push(("forward", true.into()));
    }
    for (name, key) in [
        ("audiences", "audiences"),
        ("from_params", "fromParams"),
        ("from_cookies", "fromCookies"),
    ] {
        fields.push((name, texts(rule, key).into()));
    }
    let header = [("name", "name"), ("value_prefix", "prefix")];
    fields.push(("from_headers", entries(rule, "fromHeaders", header)));
    let claim = [("header_name", "header"), ("claim_name", "claim")];
    fields.push((
        "claim_to_headers",
        entries(rule, "outputClaimToHeaders", claim),
    ));
    let mut claims = texts(rule, "spaceDelimitedClaims");
    claims.extend(["permission", "scope"]);
    fields.push((
        "normalize_payload_in_metadata",
        Value::nested(["space_delimited_claims"], claims),
    ));
    fields.push(keys(rule));
    Value::object(fields)
}

/// Keys that istiod or Envoy fetches are not in the objects.
fn keys(rule: &Node) -> (&'static str, Value) {
    if let Some(jwks) = rule.str_at("jwks").filter(|jwks| !jwks.is_empty()) {
        return ("local_jwks", Value::nested(["inline_string"], jwks));
    }
    let uri = rule
        .str_at("jwksUri")
        .or(rule.str_at("jwks_uri"))
        .or(rule.str_at("issuer"))
        .unwrap_or_default();
    ("remote_jwks", Value::nested(["http_uri", "uri"], uri))
}

fn texts<'r>(rule: &'r Node, key: &str) -> Vec<&'r str> {
    rule.items_at(key).iter().filter_map(Node::str).collect()
}

/// The entries of a list, each with those of the two fields that it has, under Envoy's names.
fn entries(rule: &Node, key: &str, fields: [(&str, &str); 2]) -> Value {
    let mut entries = Vec::new();
    for node in rule.items_at(key) {
        let present = fields
            .into_iter()
            .filter_map(|(name, key)| Some((name, node.str_at(key)?)));
        entries.push(Value::object(present));
    }
    entries.into()
}
