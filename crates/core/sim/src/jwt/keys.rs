//! A JSON Web Key Set (RFC 7517), read as Envoy reads it: keys that it cannot use are left out.

use super::token::base64url;
use meshladder_text::json::{self, Raw};
use meshladder_text::tree::{Node, Value};

/// The keys of a provider.
#[derive(Debug)]
pub(crate) enum Jwks {
    /// Written in the configuration.
    Local(Vec<Jwk>),
    /// Written in the configuration, but no usable key is in it.
    Invalid,
    /// Not in the configuration; why, as in `the keys at https://…`.
    Elsewhere(Box<str>),
}

/// One key.
#[derive(Debug)]
pub(crate) struct Jwk {
    /// Empty for any.
    pub(crate) kid: Box<str>,
    /// Empty for any.
    pub(crate) alg: Box<str>,
    pub(crate) material: KeyMaterial,
}

#[derive(Debug)]
pub(crate) enum KeyMaterial {
    Rsa {
        modulus: Vec<u8>,
        exponent: Vec<u8>,
    },
    /// An uncompressed point on P-256.
    P256(Vec<u8>),
    /// An uncompressed point on P-384.
    P384(Vec<u8>),
    /// An Ed25519 public key.
    Ed25519(Vec<u8>),
    /// The shared secret of HS256 and its kin.
    Secret(Vec<u8>),
    /// A key Envoy can use and we cannot; what it is.
    Unmodelled(&'static str),
}

/// Reads a key set; `None` when Envoy would find no usable key in it.
pub(crate) fn parse(text: &str) -> Jwks {
    if text.contains("[redacted]") && json::check(text).is_err() {
        return Jwks::Elsewhere("the keys, which were redacted".into());
    }
    let node = json::check(text)
        .ok()
        .and_then(|()| Node::from_json(Raw::of(text).ok()?).ok());
    let Some(node) = node else {
        return Jwks::Invalid;
    };
    let Some(keys) = node.get("keys") else {
        return certificates(&node);
    };
    let keys: Vec<Jwk> = keys.items().iter().filter_map(key).collect();
    if keys.is_empty() {
        Jwks::Invalid
    } else {
        Jwks::Local(keys)
    }
}

/// Instead of `keys` there may be a map of key ids to certificates.
fn certificates(node: &Node) -> Jwks {
    let is_certificate = |value: &Node| {
        value
            .str()
            .is_some_and(|pem| pem.starts_with("-----BEGIN CERTIFICATE-----\n"))
    };
    let members = node.members();
    if members.is_empty() || !members.iter().all(|m| is_certificate(&m.value)) {
        return Jwks::Invalid;
    }
    let material = || KeyMaterial::Unmodelled("a certificate");
    Jwks::Local(
        members
            .iter()
            .map(|m| Jwk {
                kid: (*m.key).into(),
                alg: "".into(),
                material: material(),
            })
            .collect(),
    )
}

fn key(node: &Node) -> Option<Jwk> {
    let Value::Object(_) = node.value else {
        return None;
    };
    let alg = node.str_at("alg").unwrap_or_default();
    let material = match node.str_at("kty")? {
        "RSA" if alg.is_empty() || alg.starts_with("RS") || alg.starts_with("PS") => rsa(node)?,
        "EC" if alg.is_empty() || alg.starts_with("ES") => elliptic(node, alg)?,
        "oct" if matches!(alg, "" | "HS256" | "HS384" | "HS512") => secret(node)?,
        "OKP" if matches!(alg, "" | "EdDSA") && node.str_at("crv") == Some("Ed25519") => {
            KeyMaterial::Ed25519(base64url(node.str_at("x")?).filter(|x| x.len() == 32)?)
        }
        _ => return None,
    };
    Some(Jwk {
        kid: node.str_at("kid").unwrap_or_default().into(),
        alg: alg.into(),
        material,
    })
}

fn rsa(node: &Node) -> Option<KeyMaterial> {
    let number = |name| Some(without_zeros(&base64url(node.str_at(name)?)?).to_vec());
    let (modulus, exponent) = (number("n")?, number("e")?);
    // "non-standard key; reject it early": only 3 and 65537 are taken.
    let standard = matches!(exponent.as_slice(), [3] | [1, 0, 1]);
    let odd = modulus.last().is_some_and(|byte| byte % 2 == 1);
    (standard && odd).then_some(KeyMaterial::Rsa { modulus, exponent })
}

fn elliptic(node: &Node, alg: &str) -> Option<KeyMaterial> {
    let crv = node.get("crv").map_or(Some(""), Node::str)?;
    let curve = match (alg, crv) {
        ("" | "ES256", "P-256" | "") => 32,
        ("" | "ES384", "P-384") | ("ES384", "") => 48,
        ("" | "ES512", "P-521") | ("ES512", "") => {
            return Some(KeyMaterial::Unmodelled("a P-521 key"));
        }
        _ => return None,
    };
    let mut point = vec![4];
    for name in ["x", "y"] {
        point.extend(padded(&base64url(node.str_at(name)?)?, curve)?);
    }
    Some(if curve == 32 {
        KeyMaterial::P256(point)
    } else {
        KeyMaterial::P384(point)
    })
}

fn secret(node: &Node) -> Option<KeyMaterial> {
    let text = node.str_at("k")?;
    if text == "[redacted]" || text.bytes().all(|b| b == b'*') && !text.is_empty() {
        return Some(KeyMaterial::Unmodelled("a secret that was redacted"));
    }
    base64url(text)
        .filter(|secret| !secret.is_empty())
        .map(KeyMaterial::Secret)
}

fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

/// A big-endian number in exactly `size` bytes; none when it needs more.
pub(super) fn padded(number: &[u8], size: usize) -> Option<Vec<u8>> {
    let digits = without_zeros(number);
    let mut bytes = vec![0; size.checked_sub(digits.len())?];
    bytes.extend_from_slice(digits);
    Some(bytes)
}
