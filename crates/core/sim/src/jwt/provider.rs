//! `JwtProvider`: one issuer, its keys, and what becomes of its tokens.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::extract::TokenSource;
use super::keys::{self, Jwks};
use super::signature;
use super::status::JwtStatus;
use super::token::Jwt;
use crate::matcher::StringMatcher;
use crate::message;
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
        let mut audiences = Vec::new();
        for audience in message::texts(raw, "audiences") {
            audiences.push(sanitized(&audience).into());
        }
        Self(audiences)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn allow<'t>(&self, audiences: impl IntoIterator<Item = &'t str>) -> bool {
        if self.0.is_empty() {
            return true;
        }
        for audience in audiences {
            let audience = sanitized(audience);
            if self.0.iter().any(|allowed| **allowed == *audience) {
                return true;
            }
        }
        false
    }
}

/// An audience is compared without `http://` or `https://` in front and one `/` at the end.
fn sanitized(audience: &str) -> &str {
    let mut host = audience;
    if let Some(rest) = audience.strip_prefix("http://") {
        host = rest;
    } else if let Some(rest) = audience.strip_prefix("https://") {
        host = rest;
    }
    host.strip_suffix('/').unwrap_or(host)
}

impl JwtProvider {
    pub(super) fn compile(raw: Raw<'_>) -> Self {
        let claim_to_headers = claim_to_headers(raw);
        let forward_payload_header: Box<str> = message::text(raw, "forward_payload_header").into();
        let mut sanitized = Vec::new();
        for (header, _) in &claim_to_headers {
            sanitized.push(header.clone());
        }
        if !forward_payload_header.is_empty() {
            sanitized.push(forward_payload_header.clone());
        }
        Self {
            issuer: message::text(raw, "issuer").into(),
            audiences: Audiences::compile(raw),
            subjects: raw.get("subjects").map(StringMatcher::compile),
            max_lifetime: max_lifetime(raw),
            clock_skew: match message::number(raw, "clock_skew_seconds") {
                // "Specify the clock skew in seconds when verifying JWT time constraint, such as exp,
                // and nbf. If not specified, default is 60 seconds."
                0 => 60,
                seconds => seconds,
            },
            keys: keys_of(raw),
            forward: message::flag(raw, "forward"),
            forward_payload_header,
            claim_to_headers,
            sanitized,
            payload_in_metadata: message::text(raw, "payload_in_metadata").into(),
            header_in_metadata: message::text(raw, "header_in_metadata").into(),
            space_delimited_claims: space_delimited_claims(raw),
            clear_route_cache: message::flag(raw, "clear_route_cache"),
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
        // An `exp` of zero is one that is not there.
        if token.expiration != 0 && seconds > token.expiration.wrapping_add(self.clock_skew) {
            return Err(JwtStatus::Expired);
        }
        if !audiences.allow(token.audiences.iter().map(String::as_str)) {
            return Err(JwtStatus::AudienceNotAllowed);
        }

        let subject = match &self.subjects {
            Some(subjects) => subjects.matches(&token.subject),
            None => Tri::Yes,
        };
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
        // Both ends in nanoseconds: a lifetime may have fractions of a second.
        let now = i128::from(now.seconds) * NANOS + i128::from(now.nanos);
        token.expiration != 0 && i128::from(token.expiration) * NANOS - now < max
    }

    /// Whether a user's word that a token has these claims is enough.
    pub(super) fn verify_stated(
        &self,
        claims: &[(String, String)],
        audiences: &Audiences,
    ) -> Result<Tri, JwtStatus> {
        let audience = values(claims, "aud");
        // What the user did not state may still be in the token.
        let audience = if audience.is_empty() && !audiences.is_empty() {
            Tri::unknown("the claim aud of the token")
        } else {
            audiences.allow(audience).into()
        };
        if audience == Tri::No {
            return Err(JwtStatus::AudienceNotAllowed);
        }

        let subject = match (&self.subjects, values(claims, "sub").first()) {
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
        self.add_headers(token, state);
        // "If false, the JWT is removed in the request after a success verification."
        if !self.forward {
            extracted.remove(state);
        }
        state.clears_route |= self.clear_route_cache;

        let mut metadata = Vec::new();
        // What later filters, RBAC above all, look claims up in.
        if !self.header_in_metadata.is_empty() {
            let header = MetadataEntry::Value(token.header.clone());
            metadata.push((self.header_in_metadata.clone(), header));
        }
        if !self.payload_in_metadata.is_empty() {
            let payload = MetadataEntry::Value(self.normalized(&token.payload));
            metadata.push((self.payload_in_metadata.clone(), payload));
        }
        metadata
    }

    fn add_headers(&self, token: &Jwt, state: &mut RequestState<'_>) {
        // "This field specifies the header name to forward a successfully verified JWT payload to
        // the backend."
        if !self.forward_payload_header.is_empty() {
            let (_, payload) = token.signed.split_once('.').unwrap_or_default();
            state.add_header(&self.forward_payload_header, payload.to_owned());
        }
        // "Add JWT claim to HTTP Header."
        for (header, claim) in &self.claim_to_headers {
            if let Some(value) = claim_text(&token.payload, claim) {
                state.add_header(header, value);
            }
        }
    }

    /// `normalize_payload_in_metadata`: "Each claim in this list will be interpreted as a
    /// space-delimited string and converted to a list of strings".
    fn normalized(&self, payload: &Node) -> Node {
        let Value::Object(members) = &payload.value else {
            return payload.clone();
        };
        let members = members.iter().map(|member| self.normalized_claim(member));
        Node {
            value: Value::Object(members.collect()),
            span: payload.span,
        }
    }

    fn normalized_claim(&self, member: &Member) -> Member {
        let mut claim = member.clone();
        let mut listed = self.space_delimited_claims.iter();
        if listed.any(|name| **name == *member.key)
            && let Some(text) = member.value.str()
        {
            claim.value.value = Value::Array(words(text, &member.value));
        }
        claim
    }
}

const NANOS: i128 = 1_000_000_000;

/// `require_expiration`: "if set, the JWT must have an exp claim"; `max_lifetime` takes precedence.
fn max_lifetime(raw: Raw<'_>) -> Option<i128> {
    if let Some(text) = raw.string_at("max_lifetime")
        && let Some(seconds) = text.strip_suffix('s')
        && let Ok(seconds) = seconds.parse::<f64>()
    {
        #[expect(
            clippy::cast_possible_truncation,
            reason = "a protobuf duration has at most nine digits behind the point"
        )]
        let nanos = (seconds * 1e9).round() as i128;
        return Some(nanos);
    }
    // Any time at all will do then, as long as there is one.
    message::flag(raw, "require_expiration").then_some(i128::MAX)
}

fn keys_of(raw: Raw<'_>) -> Jwks {
    // Keys that Envoy fetches are in no document: a token cannot be verified then.
    if let Some(local) = raw.get("local_jwks") {
        return match inline(local) {
            Some(text) => keys::parse(&text),
            None => Jwks::Elsewhere("the keys, which are not in the configuration".into()),
        };
    }
    let Some(http) = raw.at(["remote_jwks", "http_uri"]) else {
        return Jwks::Invalid;
    };
    match http.string_at("uri") {
        Some(uri) => Jwks::Elsewhere(format!("the keys at {uri}").into()),
        None => Jwks::Invalid,
    }
}

/// The text of a `DataSource`, where it holds one itself.
fn inline(source: Raw<'_>) -> Option<String> {
    if let Some(text) = source.string_at("inline_string") {
        return Some(text.into());
    }
    let encoded = source.string_at("inline_bytes")?;
    let bytes = BASE64_STANDARD.decode(&*encoded).ok()?;
    String::from_utf8(bytes).ok()
}

fn claim_to_headers(provider: Raw<'_>) -> Vec<(Box<str>, Box<str>)> {
    let mut pairs = Vec::new();
    for pair in provider.list("claim_to_headers") {
        if let Some(header) = pair.string_at("header_name")
            && let Some(claim) = pair.string_at("claim_name")
        {
            pairs.push((header.into(), claim.into()));
        }
    }
    pairs
}

fn space_delimited_claims(provider: Raw<'_>) -> Vec<Box<str>> {
    let Some(normalize) = provider.get("normalize_payload_in_metadata") else {
        return Vec::new();
    };
    let claims = message::texts(normalize, "space_delimited_claims");
    claims.into_iter().map(Box::from).collect()
}

/// All that a user said of a claim.
fn values<'c>(claims: &'c [(String, String)], name: &str) -> Vec<&'c str> {
    let mut values = Vec::new();
    for (claim, value) in claims {
        if claim == name {
            values.push(&**value);
        }
    }
    values
}

/// The words of a text as nodes that stand where the text stands.
fn words(text: &str, at: &Node) -> Box<[Node]> {
    let mut words = Vec::new();
    for word in text.split(' ') {
        if word.is_empty() {
            continue;
        }
        words.push(Node {
            value: Value::String(word.into()),
            span: at.span,
        });
    }
    words.into()
}

/// A claim as text for a header: strings, numbers and booleans. Names with dots lead into objects.
fn claim_text(payload: &Node, claim: &str) -> Option<String> {
    let mut node = payload;
    for key in claim.split('.') {
        node = node.get(key)?;
    }
    let text = match &node.value {
        Value::String(text) => text.to_string(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number_text(number.parse().ok()?),
        _ => return None,
    };
    if text.is_empty() {
        return None;
    }
    Some(text)
}

/// "If the number is unsigned 64 bit integer, convert to string as integer, otherwise, convert to
/// string as double."
fn number_text(number: f64) -> String {
    if number >= 0.0 && number.fract() == 0.0 && number < 18_446_744_073_709_551_615.0 {
        return format!("{number:.0}");
    }
    format!("{number:.6}")
}
