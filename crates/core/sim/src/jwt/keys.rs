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
    let Some(set) = read(text) else {
        // A key set that was covered is not the one that Envoy has.
        if text.contains("[redacted]") {
            return Jwks::Elsewhere("the keys, which were redacted".into());
        }
        return Jwks::Invalid;
    };
    let Some(keys) = set.get("keys") else {
        return certificates(&set);
    };
    let keys: Vec<Jwk> = keys.items().iter().filter_map(key).collect();
    if keys.is_empty() {
        return Jwks::Invalid;
    }
    Jwks::Local(keys)
}

fn read(text: &str) -> Option<Node> {
    json::check(text).ok()?;
    Node::from_json(Raw::of(text).ok()?).ok()
}

/// Instead of `keys` there may be a map of key ids to certificates.
fn certificates(node: &Node) -> Jwks {
    let mut keys = Vec::new();
    for member in node.members() {
        if !is_certificate(&member.value) {
            return Jwks::Invalid;
        }
        keys.push(Jwk {
            kid: (*member.key).into(),
            alg: "".into(),
            material: KeyMaterial::Unmodelled("a certificate"),
        });
    }
    if keys.is_empty() {
        return Jwks::Invalid;
    }
    Jwks::Local(keys)
}

fn is_certificate(value: &Node) -> bool {
    let text = value.str().unwrap_or_default();
    text.starts_with("-----BEGIN CERTIFICATE-----\n")
}

fn key(node: &Node) -> Option<Jwk> {
    let Value::Object(_) = node.value else {
        return None;
    };
    let alg = node.str_at("alg").unwrap_or_default();
    // A key is used when its algorithm, if it names one, fits its type.
    let material = match node.str_at("kty")? {
        "RSA" if alg.is_empty() || alg.starts_with("RS") || alg.starts_with("PS") => rsa(node)?,
        "EC" if alg.is_empty() || alg.starts_with("ES") => elliptic(node, alg)?,
        "oct" if matches!(alg, "" | "HS256" | "HS384" | "HS512") => secret(node)?,
        "OKP" if matches!(alg, "" | "EdDSA") => edwards(node)?,
        _ => return None,
    };
    Some(Jwk {
        kid: node.str_at("kid").unwrap_or_default().into(),
        alg: alg.into(),
        material,
    })
}

fn edwards(node: &Node) -> Option<KeyMaterial> {
    if node.str_at("crv") != Some("Ed25519") {
        return None;
    }
    let key = base64url(node.str_at("x")?)?;
    if key.len() != 32 {
        return None;
    }
    Some(KeyMaterial::Ed25519(key))
}

fn rsa(node: &Node) -> Option<KeyMaterial> {
    let modulus = base64url(node.str_at("n")?)?;
    let exponent = base64url(node.str_at("e")?)?;
    let modulus = without_zeros(&modulus).to_vec();
    let exponent = without_zeros(&exponent).to_vec();
    // "non-standard key; reject it early": only 3 and 65537 are taken.
    if !matches!(exponent.as_slice(), [3] | [1, 0, 1]) {
        return None;
    }
    // An even number is no product of two large primes.
    if modulus.last()? % 2 == 0 {
        return None;
    }
    Some(KeyMaterial::Rsa { modulus, exponent })
}

fn elliptic(node: &Node, alg: &str) -> Option<KeyMaterial> {
    let crv = match node.get("crv") {
        Some(crv) => crv.str()?,
        None => "",
    };
    // Without a curve the algorithm tells it, and without both it is P-256.
    match (alg, crv) {
        ("" | "ES256", "P-256" | "") => Some(KeyMaterial::P256(point(node, 32)?)),
        ("" | "ES384", "P-384") | ("ES384", "") => Some(KeyMaterial::P384(point(node, 48)?)),
        ("" | "ES512", "P-521") | ("ES512", "") => Some(KeyMaterial::Unmodelled("a P-521 key")),
        _ => None,
    }
}

/// An uncompressed point: the byte 4, then both coordinates in full length.
fn point(node: &Node, size: usize) -> Option<Vec<u8>> {
    let mut point = vec![4];
    for name in ["x", "y"] {
        let coordinate = base64url(node.str_at(name)?)?;
        point.extend(padded(&coordinate, size)?);
    }
    Some(point)
}

fn secret(node: &Node) -> Option<KeyMaterial> {
    let text = node.str_at("k")?;
    let is_starred = !text.is_empty() && text.bytes().all(|byte| byte == b'*');
    if text == "[redacted]" || is_starred {
        return Some(KeyMaterial::Unmodelled("a secret that was redacted"));
    }
    let secret = base64url(text)?;
    if secret.is_empty() {
        return None;
    }
    Some(KeyMaterial::Secret(secret))
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
