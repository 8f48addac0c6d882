//! `RequestAuthentication`: which tokens count.

use super::select::{self, PolicyObjects};
use meshladder_mesh::MeshConfig;
use meshladder_mesh::policies::Workload;
use meshladder_sim::jwt::JwtAuthn;
use meshladder_text::json::{Raw, escape};
use meshladder_text::tree::Node;

/// The filter that istiod makes of all rules that apply; none without any.
///
/// "The behavior of the filter should reject all requests with invalid token. On the other hand, if
/// no token provided, the request is allowed."
pub(super) fn compile(
    objects: &PolicyObjects<'_>,
    workload: &Workload<'_>,
    mesh: &MeshConfig,
) -> Option<JwtAuthn> {
    let policies = select::reaching(&objects.request_authentications, workload, mesh);
    let rules = policies.iter().flat_map(|policy| {
        policy
            .node
            .at(["spec", "jwtRules"])
            .map_or(&[][..], Node::items)
    });
    let mut rules: Vec<_> = rules.collect();
    rules.sort_by_key(|rule| rule.str_at("issuer").unwrap_or_default());
    let providers: Vec<_> = (0..rules.len())
        .map(|number| format!("origins-{number}"))
        .collect();
    let named = |name: &String| format!(r#"{{"provider_name":"{name}"}}"#);
    let optional = |name: &String| any_of(&[named(name), r#"{"allow_missing":{}}"#.to_owned()]);
    let requires = match providers.as_slice() {
        [] => return None,
        [only] => optional(only),
        // "{P1, P2 .., AND of {OR{P1, allow_missing}, OR{P2, allow_missing} ...}}"
        several => {
            let all = format!(
                r#"{{"requires_all":{{"requirements":[{}]}}}}"#,
                several.iter().map(optional).collect::<Vec<_>>().join(",")
            );
            let mut alternatives: Vec<_> = several.iter().map(named).collect();
            alternatives.push(all);
            any_of(&alternatives)
        }
    };
    let configs: Vec<_> = providers
        .iter()
        .zip(&rules)
        .map(|(name, rule)| format!(r#""{name}":{}"#, provider(rule)))
        .collect();
    let filter = format!(
        r#"{{"providers":{{{}}},"rules":[{{"match":{{"prefix":"/"}},"requires":{requires}}}],"bypass_cors_preflight":true}}"#,
        configs.join(",")
    );
    Some(JwtAuthn::compile(Raw::of(&filter).ok()?))
}

fn any_of(requirements: &[String]) -> String {
    format!(
        r#"{{"requires_any":{{"requirements":[{}]}}}}"#,
        requirements.join(",")
    )
}

/// A `JWTRule` as a `JwtProvider`.
fn provider(rule: &Node) -> String {
    let mut fields = vec![r#""payload_in_metadata":"payload""#.to_owned()];
    let text = |name: &str, key: &str| {
        rule.str_at(key)
            .map(|text| format!(r#""{name}":{}"#, escape(text)))
    };
    fields.extend(text("issuer", "issuer"));
    fields.extend(text("forward_payload_header", "outputPayloadToHeader"));
    if rule
        .get("forwardOriginalToken")
        .is_some_and(|flag| flag.value == meshladder_text::tree::Value::Bool(true))
    {
        fields.push(r#""forward":true"#.to_owned());
    }
    for (name, key) in [
        ("audiences", "audiences"),
        ("from_params", "fromParams"),
        ("from_cookies", "fromCookies"),
    ] {
        fields.push(format!(r#""{name}":[{}]"#, texts(rule.get(key)).join(",")));
    }
    fields.push(pairs(
        rule,
        "from_headers",
        "fromHeaders",
        [("name", "name"), ("value_prefix", "prefix")],
    ));
    let to_headers = [("header_name", "header"), ("claim_name", "claim")];
    fields.push(pairs(
        rule,
        "claim_to_headers",
        "outputClaimToHeaders",
        to_headers,
    ));
    let mut claims = texts(rule.get("spaceDelimitedClaims"));
    claims.extend([r#""permission""#.to_owned(), r#""scope""#.to_owned()]);
    fields.push(format!(
        r#""normalize_payload_in_metadata":{{"space_delimited_claims":[{}]}}"#,
        claims.join(",")
    ));
    fields.push(keys(rule));
    format!("{{{}}}", fields.join(","))
}

/// Keys that istiod or Envoy fetches are not in the objects.
fn keys(rule: &Node) -> String {
    if let Some(jwks) = rule.str_at("jwks").filter(|jwks| !jwks.is_empty()) {
        return format!(r#""local_jwks":{{"inline_string":{}}}"#, escape(jwks));
    }
    let uri = rule
        .str_at("jwksUri")
        .or(rule.str_at("jwks_uri"))
        .or(rule.str_at("issuer"))
        .unwrap_or_default();
    format!(r#""remote_jwks":{{"http_uri":{{"uri":{}}}}}"#, escape(uri))
}

fn texts(list: Option<&Node>) -> Vec<String> {
    list.map_or(&[][..], Node::items)
        .iter()
        .filter_map(|item| item.str().map(escape))
        .collect()
}

fn pairs(rule: &Node, name: &str, key: &str, fields: [(&str, &str); 2]) -> String {
    let entry = |node: &Node| {
        let field = |(name, key): (&str, &str)| {
            node.str_at(key)
                .map(|text| format!(r#""{name}":{}"#, escape(text)))
        };
        format!(
            "{{{}}}",
            fields
                .into_iter()
                .filter_map(field)
                .collect::<Vec<_>>()
                .join(",")
        )
    };
    let entries: Vec<_> = rule
        .get(key)
        .map_or(&[][..], Node::items)
        .iter()
        .map(entry)
        .collect();
    format!(r#""{name}":[{}]"#, entries.join(","))
}
