//! A token taken apart (RFC 7519, compact form), as strictly as Envoy does it.

use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::status::{JwtStatus, RegisteredClaim};
use meshladder_text::json::{self, Raw};
use meshladder_text::tree::{Node, Value};

/// A token whose parts could be read. Nothing is verified yet.
#[derive(Clone, Debug)]
pub struct Jwt {
    /// `HEADER.PAYLOAD`, what the signature is about.
    pub(crate) signed: String,
    pub(crate) signature: Vec<u8>,
    pub(crate) alg: String,
    /// Empty when the header has none.
    pub kid: String,
    pub(crate) header: Node,
    pub(crate) payload: Node,
    /// Empty when the payload has none.
    pub issuer: String,
    pub(crate) subject: String,
    /// `aud`, one or several.
    pub audiences: Vec<String>,
    /// Zero when the payload has none.
    pub(crate) not_before: u64,
    pub(crate) expiration: u64,
}

/// What Envoy implements.
const ALGORITHMS: [&str; 13] = [
    "ES256", "ES384", "ES512", "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256",
    "PS384", "PS512", "EdDSA",
];

impl Jwt {
    /// Takes a token apart.
    ///
    /// # Errors
    /// What Envoy says of a token that it cannot take apart.
    pub fn parse(text: &str) -> Result<Self, JwtStatus> {
        let [head, body, tail] = sections(text).ok_or(JwtStatus::BadFormat)?;

        let header = object(head, JwtStatus::HeaderBadBase64, JwtStatus::HeaderBadJson)?;
        let alg = header.str_at("alg").ok_or(JwtStatus::HeaderBadAlg)?;
        if !ALGORITHMS.contains(&alg) {
            return Err(JwtStatus::HeaderUnknownAlg);
        }
        let kid = match header.get("kid") {
            Some(kid) => kid.str().ok_or(JwtStatus::HeaderBadKid)?,
            None => "",
        };

        // Claims are read in Envoy's order: the first that is wrong gives the status. `iat` and `jti`
        // are only looked at.
        let payload = object(body, JwtStatus::PayloadBadBase64, JwtStatus::PayloadBadJson)?;
        let issuer = string(&payload, RegisteredClaim::Issuer)?;
        let subject = string(&payload, RegisteredClaim::Subject)?;
        integer(&payload, RegisteredClaim::IssuedAt)?;
        let not_before = integer(&payload, RegisteredClaim::NotBefore)?;
        let expiration = integer(&payload, RegisteredClaim::Expiration)?;
        string(&payload, RegisteredClaim::Id)?;
        let audiences = strings(&payload, RegisteredClaim::Audience)?;

        Ok(Self {
            signed: format!("{head}.{body}"),
            signature: base64url(tail).ok_or(JwtStatus::SignatureBadBase64)?,
            alg: alg.to_owned(),
            kid: kid.to_owned(),
            issuer,
            subject,
            audiences,
            not_before,
            expiration,
            header,
            payload,
        })
    }
}

/// Base64url, with all of its padding or none; white space does not count.
pub(crate) fn base64url(text: &str) -> Option<Vec<u8>> {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true);
    // The library skips white space and does not mind bits that are left over.
    let text = text.replace(is_space, "");
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    if padding > 2 || padding != 0 && !text.len().is_multiple_of(4) {
        return None;
    }
    GeneralPurpose::new(&URL_SAFE, config).decode(digits).ok()
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r')
}

/// The library splits at dots and drops empty sections, so `a..b.c` has three.
fn sections(text: &str) -> Option<[&str; 3]> {
    let mut sections = text.split('.').filter(|section| !section.is_empty());
    let three = [sections.next()?, sections.next()?, sections.next()?];
    match sections.next() {
        Some(_) => None,
        None => Some(three),
    }
}

fn object(section: &str, bad_base64: JwtStatus, bad_json: JwtStatus) -> Result<Node, JwtStatus> {
    let bytes = base64url(section).ok_or(bad_base64)?;
    let node = read(bytes).ok_or(bad_json)?;
    match node.value {
        Value::Object(_) => Ok(node),
        _ => Err(bad_json),
    }
}

fn read(bytes: Vec<u8>) -> Option<Node> {
    let text = String::from_utf8(bytes).ok()?;
    json::check(&text).ok()?;
    Node::from_json(Raw::of(&text).ok()?).ok()
}

fn string(payload: &Node, claim: RegisteredClaim) -> Result<String, JwtStatus> {
    match payload.get(claim.name()) {
        Some(node) => text(node, claim),
        None => Ok(String::new()),
    }
}

fn text(node: &Node, claim: RegisteredClaim) -> Result<String, JwtStatus> {
    match node.str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(JwtStatus::BadClaim(claim)),
    }
}

/// "aud" can be either string array or string.
fn strings(payload: &Node, claim: RegisteredClaim) -> Result<Vec<String>, JwtStatus> {
    let Some(node) = payload.get(claim.name()) else {
        return Ok(Vec::new());
    };
    let items = match &node.value {
        Value::Array(items) => &items[..],
        _ => std::slice::from_ref(node),
    };
    let mut texts = Vec::with_capacity(items.len());
    for item in items {
        texts.push(text(item, claim)?);
    }
    Ok(texts)
}

fn integer(payload: &Node, claim: RegisteredClaim) -> Result<u64, JwtStatus> {
    let Some(node) = payload.get(claim.name()) else {
        return Ok(0);
    };
    let Value::Number(text) = &node.value else {
        return Err(JwtStatus::BadClaim(claim));
    };
    let Ok(number) = text.parse::<f64>() else {
        return Err(JwtStatus::BadClaim(claim));
    };
    // The payload is a protobuf Struct, where every number is a double.
    if !(0.0..18_446_744_073_709_551_615.0).contains(&number) {
        return Err(JwtStatus::OutOfRange(claim));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range was checked; Envoy cuts too"
    )]
    Ok(number as u64)
}
