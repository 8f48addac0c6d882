//! Tokens that are refused because of a slip in the RequestAuthentication, not in the token.

use crate::finding::{Fix, Op};
use crate::rules::Case;
use crate::rules::config::nearest::{distance, nearest};
use meshladder_mesh::Object;
use meshladder_sim::jwt::Jwt;
use meshladder_sim::request::Claims;
use meshladder_text::json::Raw;
use meshladder_text::tree::Node;

/// What is wrong with an object that a token does not fit.
#[derive(Debug)]
pub(super) struct Slip<'r> {
    pub(super) policy: &'r Object,
    /// The part of it.
    pub(super) node: &'r Node,
    pub(super) what: String,
    pub(super) fix: Fix,
}

/// The slip for which a token was refused in these words of Envoy; none when the token is what to
/// change.
pub(super) fn slip<'r>(case: &Case<'_>, policies: &[&'r Object], reason: &str) -> Option<Slip<'r>> {
    let token = token(case)?;
    let mut rules = policies.iter().flat_map(|policy| {
        policy
            .spec_list("jwtRules")
            .iter()
            .map(move |rule| (*policy, rule))
    });
    let of_issuer = |rule: &Node| rule.str_at("issuer") == Some(token.issuer.as_str());
    match reason {
        "Jwt issuer is not configured" => {
            rules.find_map(|(policy, rule)| issuer(policy, rule, &token))
        }
        "Audiences in Jwt are not allowed" => rules
            .filter(|(_, rule)| of_issuer(rule))
            .find_map(|(policy, rule)| audience(policy, rule, &token)),
        _ if reason.starts_with("Jwks doesn") => rules
            .filter(|(_, rule)| of_issuer(rule))
            .find_map(|(policy, rule)| keys(policy, rule, &token)),
        _ => None,
    }
}

/// The token of the request, when it was told.
fn token(case: &Case<'_>) -> Option<Jwt> {
    if let Claims::Token(token) = &case.call.claims {
        return Jwt::parse(token).ok();
    }
    let (_, value) = case
        .call
        .headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("authorization"))?;
    Jwt::parse(value.strip_prefix("Bearer ")?.trim()).ok()
}

/// A letter or two, or what stands around the name: `https://issuer.test/` for
/// `https://issuer.test`.
fn issuer<'r>(policy: &'r Object, rule: &'r Node, token: &Jwt) -> Option<Slip<'r>> {
    const LETTERS: usize = 2;
    let node = rule.get("issuer")?;
    let wanted = node.str()?;
    let bare = |issuer: &str| {
        let issuer = issuer.trim_end_matches('/').to_ascii_lowercase();
        issuer
            .split_once("://")
            .map_or(issuer.clone(), |(_, rest)| rest.to_owned())
    };
    let is_near = bare(wanted) == bare(&token.issuer) || distance(wanted, &token.issuer) <= LETTERS;
    is_near.then(|| Slip {
        policy,
        node,
        what: format!(
            "it names the issuer {wanted}, and the token says {}",
            token.issuer
        ),
        fix: Fix::patch(
            &policy.id,
            [Op::replace(policy.path_of(node), &token.issuer)],
        ),
    })
}

fn audience<'r>(policy: &'r Object, rule: &'r Node, token: &Jwt) -> Option<Slip<'r>> {
    let own = || token.audiences.iter().map(String::as_str);
    rule.get("audiences")?.items().iter().find_map(|node| {
        let meant = nearest(node.str()?, own())?;
        Some(Slip {
            policy,
            node,
            what: format!(
                "it names the audience {}, and the token is for {meant}",
                node.str()?
            ),
            fix: Fix::patch(&policy.id, [Op::replace(policy.path_of(node), meant)]),
        })
    })
}

/// Keys that stand in the object are a copy; issuers change theirs.
fn keys<'r>(policy: &'r Object, rule: &'r Node, token: &Jwt) -> Option<Slip<'r>> {
    let node = rule.get("jwks")?;
    let keys = Raw::of(node.str()?).ok()?;
    let is_there = keys.list("keys").any(|key| {
        key.get("kid")
            .and_then(Raw::string)
            .is_some_and(|kid| *kid == *token.kid)
    });
    (!is_there && !token.kid.is_empty()).then(|| Slip {
        policy,
        node,
        what: format!(
            "its jwks lacks the key {} that the token of {} names",
            token.kid, token.issuer
        ),
        fix: Fix::advice(
            "put the keys that the issuer has now into `jwks`, or name its `jwksUri` instead",
        ),
    })
}
