//! `JwtProvider`: one issuer, its keys, and what becomes of its tokens.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::extract::TokenSource;
use super::keys::{self, Jwks};
use super::signature;
use super::status::JwtStatus;
use super::token::Jwt;
use crate::matcher::StringMatcher;
use crate::state::MetadataEntry;
use crate::{RequestState, Tri};
use meshladder_text::json::Raw;
use meshladder_text::time::Time;
use meshladder_text::tree::{Member, Node, Value};

/// A compiled provider.
#[derive(Debug)]
pub(super) struct JwtProvider {
    /// Empty for any.
    pub(super) issuer: Box<str>,
    pub(super) audiences: Audiences,
    subjects: Option<StringMatcher>,
    /// How long a token may still live, in nanoseconds; none without `exp`.
    max_lifetime: Option<i128>,
    clock_skew: u64,
    keys: Jwks,
    forward: bool,
    forward_payload_header: Box<str>,
    claim_to_headers: Vec<(Box<str>, Box<str>)>,
    /// Headers that only a verified token may set.
    sanitized: Vec<Box<str>>,
    pub(super) payload_in_metadata: Box<str>,
    header_in_metadata: Box<str>,
    space_delimited_claims: Vec<Box<str>>,
    clear_route_cache: bool,
}

/// Allowed audiences; none allow all.
#[derive(Clone, Debug, Default)]
pub(super) struct Audiences(Vec<Box<str>>);

impl Audiences {
    pub(super) fn compile(raw: Raw<'_>) -> Self {
        Self(
            raw.list("audiences")
                .filter_map(Raw::string)
                .map(|text| sanitized(&text).into())
                .collect(),
        )
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn allow<'t>(&self, audiences: impl IntoIterator<Item = &'t str>) -> bool {
        self.0.is_empty()
            || audiences
                .into_iter()
                .any(|audience| self.0.iter().any(|a| **a == *sanitized(audience)))
    }
}

/// An audience is compared without `http://` or `https://` in front and one `/` at the end.
fn sanitized(audience: &str) -> &str {
    let host = audience
        .strip_prefix("http://")
        .or_else(|| audience.strip_prefix("https://"))
        .unwrap_or(audience);
    host.strip_suffix('/').unwrap_or(host)
}

impl JwtProvider {
    pub(super) fn compile(raw: Raw<'_>) -> Self {
        let text = |key| raw.string_at(key).unwrap_or_default().into();
        let flag = |key| raw.get(key).and_then(Raw::bool).unwrap_or_default();
        let claim_to_headers: Vec<(Box<str>, Box<str>)> = raw
            .list("claim_to_headers")
            .filter_map(|pair| {
                Some((
                    pair.string_at("header_name")?.into(),
                    pair.string_at("claim_name")?.into(),
                ))
            })
            .collect();
        let forward_payload_header: Box<str> = text("forward_payload_header");
        let mut sanitized: Vec<_> = claim_to_headers
            .iter()
            .map(|(header, _)| header.clone())
            .collect();
        sanitized.extend(Some(forward_payload_header.clone()).filter(|header| !header.is_empty()));
        Self {
            issuer: text("issuer"),
            audiences: Audiences::compile(raw),
            subjects: raw.get("subjects").map(StringMatcher::compile),
            max_lifetime: max_lifetime(raw),
            // "Default is 60 seconds"
            clock_skew: raw
                .get("clock_skew_seconds")
                .and_then(Raw::number)
                .filter(|n| *n > 0)
                .unwrap_or(60),
            keys: keys_of(raw),
            forward: flag("forward"),
            forward_payload_header,
            claim_to_headers,
            sanitized,
            payload_in_metadata: text("payload_in_metadata"),
            header_in_metadata: text("header_in_metadata"),
            space_delimited_claims: raw
                .get("normalize_payload_in_metadata")
                .into_iter()
                .flat_map(|normalize| normalize.list("space_delimited_claims"))
                .filter_map(|claim| Some(claim.string()?.into()))
                .collect(),
            clear_route_cache: flag("clear_route_cache"),
        }
    }

    /// Whether a token that was read is good; `audiences` are those of the requirement, when it has
    /// its own.
    pub(super) fn verify(
        &self,
        token: &Jwt,
        audiences: &Audiences,
        now: Time,
    ) -> Result<Tri, JwtStatus> {
        let seconds = u64::try_from(now.seconds).unwrap_or_default();
        if seconds + self.clock_skew < token.not_before {
            return Err(JwtStatus::NotYetValid);
        }
        if token.expiration != 0 && seconds > token.expiration.wrapping_add(self.clock_skew) {
            return Err(JwtStatus::Expired);
        }
        if !audiences.allow(token.audiences.iter().map(String::as_str)) {
            return Err(JwtStatus::AudienceNotAllowed);
        }
        let subject = self
            .subjects
            .as_ref()
            .map_or(Tri::Yes, |subjects| subjects.matches(&token.subject));
        if subject == Tri::No || !self.allows_lifetime(token, now) {
            return Err(JwtStatus::VerificationFails);
        }
        let signed = match &self.keys {
            Jwks::Local(keys) => signature::verify(token, keys)?,
            Jwks::Invalid => return Err(JwtStatus::NoValidKeys),
            Jwks::Elsewhere(fact) => Tri::Unknown(fact.clone()),
        };
        Ok(Tri::all([subject, signed]))
    }

    /// "If there's no exp field and we have a max set, then this isn't allowed."
    fn allows_lifetime(&self, token: &Jwt, now: Time) -> bool {
        let Some(max) = self.max_lifetime else {
            return true;
        };
        let now = i128::from(now.seconds) * NANOS + i128::from(now.nanos);
        token.expiration != 0 && i128::from(token.expiration) * NANOS - now < max
    }

    /// Whether a user's word that a token has these claims is enough.
    pub(super) fn verify_stated(
        &self,
        claims: &[(String, String)],
        audiences: &Audiences,
    ) -> Result<Tri, JwtStatus> {
        let values = |name: &str| -> Vec<&str> {
            claims
                .iter()
                .filter(|(claim, _)| claim == name)
                .map(|(_, value)| &**value)
                .collect()
        };
        let (audience, subject) = (values("aud"), values("sub"));
        let audience = if audience.is_empty() && !audiences.is_empty() {
            Tri::unknown("the claim aud of the token")
        } else {
            audiences.allow(audience).into()
        };
        if audience == Tri::No {
            return Err(JwtStatus::AudienceNotAllowed);
        }
        let subject = match (&self.subjects, subject.first()) {
            (None, _) => Tri::Yes,
            (Some(_), None) => Tri::unknown("the claim sub of the token"),
            (Some(subjects), Some(subject)) => subjects.matches(subject),
        };
        if subject == Tri::No {
            return Err(JwtStatus::VerificationFails);
        }
        Ok(Tri::all([audience, subject]))
    }

    /// Takes away what only a verified token may set.
    pub(super) fn sanitize(&self, state: &mut RequestState<'_>) {
        for header in &self.sanitized {
            state.remove_header(header);
        }
    }

    /// Whether a good token changes headers that later filters may look at.
    pub(super) fn sets_headers(&self) -> bool {
        !self.sanitized.is_empty()
    }

    /// Whether a good token changes the request at all: it is taken out, unless it is to be
    /// forwarded.
    pub(super) fn changes_request(&self) -> bool {
        self.sets_headers() || !self.forward
    }

    /// What a good token does to the request.
    pub(super) fn accept(
        &self,
        token: &Jwt,
        extracted: &TokenSource,
        state: &mut RequestState<'_>,
    ) -> Vec<(Box<str>, MetadataEntry)> {
        if !self.forward_payload_header.is_empty() {
            let payload = token
                .signed
                .split_once('.')
                .map_or("", |(_, payload)| payload);
            state.add_header(&self.forward_payload_header, payload.to_owned());
        }
        for (header, claim) in &self.claim_to_headers {
            if let Some(value) = claim_text(&token.payload, claim) {
                state.add_header(header, value);
            }
        }
        if !self.forward {
            extracted.remove(state);
        }
        state.clears_route |= self.clear_route_cache;
        let mut metadata = Vec::new();
        if !self.header_in_metadata.is_empty() {
            metadata.push((
                self.header_in_metadata.clone(),
                MetadataEntry::Value(token.header.clone()),
            ));
        }
        if !self.payload_in_metadata.is_empty() {
            metadata.push((
                self.payload_in_metadata.clone(),
                MetadataEntry::Value(self.normalized(&token.payload)),
            ));
        }
        metadata
    }

    /// `normalize_payload_in_metadata`: "Each claim in this list will be interpreted as a
    /// space-delimited string and converted to a list of strings".
    fn normalized(&self, payload: &Node) -> Node {
        let Value::Object(members) = &payload.value else {
            return payload.clone();
        };
        let normalize = |member: &Member| {
            let listed = self
                .space_delimited_claims
                .iter()
                .any(|claim| **claim == *member.key);
            let Some(text) = member.value.str().filter(|_| listed) else {
                return member.clone();
            };
            let words = text.split(' ').filter(|word| !word.is_empty());
            let node = |word: &str| Node {
                value: Value::String(word.into()),
                span: member.value.span,
            };
            let list = Node {
                value: Value::Array(words.map(node).collect()),
                span: member.value.span,
            };
            Member {
                value: list,
                ..member.clone()
            }
        };
        Node {
            value: Value::Object(members.iter().map(normalize).collect()),
            span: payload.span,
        }
    }
}

const NANOS: i128 = 1_000_000_000;

/// `require_expiration`: "if set, the JWT must have an exp claim"; `max_lifetime` takes precedence.
fn max_lifetime(raw: Raw<'_>) -> Option<i128> {
    let seconds = raw
        .string_at("max_lifetime")
        .and_then(|text| text.strip_suffix('s')?.parse::<f64>().ok());
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a protobuf duration has at most nine digits behind the point"
    )]
    let nanos = seconds.map(|seconds| (seconds * 1e9).round() as i128);
    let requires = raw.get("require_expiration").and_then(Raw::bool) == Some(true);
    nanos.or_else(|| requires.then_some(i128::MAX))
}

fn keys_of(raw: Raw<'_>) -> Jwks {
    if let Some(local) = raw.get("local_jwks") {
        let bytes = || {
            String::from_utf8(
                BASE64_STANDARD
                    .decode(&*local.string_at("inline_bytes")?)
                    .ok()?,
            )
            .ok()
        };
        return match local
            .string_at("inline_string")
            .map(Into::into)
            .or_else(bytes)
        {
            Some(text) => keys::parse(&text),
            None => Jwks::Elsewhere("the keys, which are not in the configuration".into()),
        };
    }
    let uri = raw
        .at(["remote_jwks", "http_uri"])
        .and_then(|http| http.string_at("uri"));
    uri.map_or(Jwks::Invalid, |uri| {
        Jwks::Elsewhere(format!("the keys at {uri}").into())
    })
}

/// A claim as text for a header: strings, numbers and booleans. Names with dots lead into objects.
fn claim_text(payload: &Node, claim: &str) -> Option<String> {
    let node = claim
        .split('.')
        .try_fold(payload, |node, key| node.get(key))?;
    let text = match &node.value {
        Value::String(text) => text.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number_text(number.parse().ok()?),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// "If the number is unsigned 64 bit integer, convert to string as integer, otherwise, convert to
/// string as double."
fn number_text(number: f64) -> String {
    if number >= 0.0 && number.fract() == 0.0 && number < 18_446_744_073_709_551_615.0 {
        format!("{number:.0}")
    } else {
        format!("{number:.6}")
    }
}
