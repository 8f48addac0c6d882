//! RequestAuthentication.

use super::common::{SELECTOR, TARGET_REF, TARGET_REFS, one_selection};
use super::describe::FieldType::{Bool, List, Of, Text as TextOf};
use super::describe::{KindSchema, MessageSchema, STRING, TIME, checked, list, may, must, plain};
use super::fault::Flaw;
use super::fields::{at_most_one, filled};
use super::text::TextRule;
use super::walk::SchemaWalk;
use meshladder_capture::Kind;
use meshladder_text::json::Raw;
use meshladder_text::tree::Node;

pub(super) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::RequestAuthentication,
    versions: &["v1", "v1beta1"],
    only: true,
    spec: &SPEC,
};

static SPEC: MessageSchema = checked(
    "RequestAuthentication",
    &[
        may("jwtRules", List(&Of(&JWT_RULE), 0, 4096)),
        may("selector", SELECTOR),
        may("targetRef", Of(&TARGET_REF)),
        may("targetRefs", TARGET_REFS),
    ],
    one_selection,
);

static JWT_RULE: MessageSchema = checked(
    "JWTRule",
    &[
        may("audiences", list(&TextOf(TextRule::Filled))),
        may("forwardOriginalToken", Bool),
        may("fromCookies", list(&TextOf(TextRule::Filled))),
        may("fromHeaders", list(&Of(&JWT_HEADER))),
        may("fromParams", list(&TextOf(TextRule::Filled))),
        must("issuer", TextOf(TextRule::Filled)),
        may("jwks", STRING),
        may("jwksUri", STRING),
        may("jwks_uri", STRING),
        may("outputClaimToHeaders", list(&Of(&CLAIM_TO_HEADER))),
        may("outputPayloadToHeader", STRING),
        may(
            "spaceDelimitedClaims",
            List(&TextOf(TextRule::Filled), 0, 64),
        ),
        may("timeout", TIME),
    ],
    jwt_rule,
);

static JWT_HEADER: MessageSchema = plain(
    "JWTHeader",
    &[
        must("name", TextOf(TextRule::Filled)),
        may("prefix", STRING),
    ],
);

static CLAIM_TO_HEADER: MessageSchema = plain(
    "ClaimToHeader",
    &[
        must("claim", TextOf(TextRule::Filled)),
        must("header", TextOf(TextRule::Header)),
    ],
);

fn jwt_rule<'n>(rule: &'n Node, walk: &mut SchemaWalk<'n>) {
    at_most_one(rule, &["jwksUri", "jwks_uri", "jwks"], walk);
    for uri in ["jwksUri", "jwks_uri"]
        .iter()
        .filter_map(|field| filled(rule, field))
    {
        if !uri
            .str()
            .is_some_and(|uri| uri.starts_with("http://") || uri.starts_with("https://"))
        {
            walk.value_fault(
                Flaw::InvalidValue,
                uri,
                "not a URL with http:// or https://",
            );
        }
    }
    if let Some(keys) = filled(rule, "jwks").filter(|keys| !keys.str().is_some_and(is_key_set)) {
        walk.fault(Flaw::InvalidValue, keys, "is not a JSON Web Key Set");
    }
}

/// An object of keys, or one key.
fn is_key_set(text: &str) -> bool {
    let Some(set) = Raw::of(text).ok().and_then(|raw| Node::from_json(raw).ok()) else {
        return false;
    };
    match set.get("keys") {
        Some(keys) => keys.items().iter().all(|key| key.str_at("kty").is_some()),
        None => set.str_at("kty").is_some(),
    }
}
