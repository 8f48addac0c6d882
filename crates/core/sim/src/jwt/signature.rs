//! Signatures, verified for real.

use ring::hmac;
use ring::signature as ring_signature;
use ring::signature::{RsaParameters, UnparsedPublicKey, VerificationAlgorithm};

use super::keys::{Jwk, KeyMaterial, padded};
use super::status::JwtStatus;
use super::token::Jwt;
use crate::Tri;

/// Whether one of the keys signed the token.
pub(super) fn verify(token: &Jwt, keys: &[Jwk]) -> Result<Tri, JwtStatus> {
    let mut result = Err(JwtStatus::NoMatchingKey);
    for key in keys {
        if !fits(key, token) {
            continue;
        }
        match signed_by(token, &key.material)? {
            Tri::Yes => return Ok(Tri::Yes),
            Tri::No if result.is_err() => result = Err(JwtStatus::VerificationFails),
            Tri::No => {}
            unknown @ Tri::Unknown(_) => result = Ok(unknown),
        }
    }
    result
}

/// "If kid is specified in JWT, JWK with the same kid is used for verification. If kid is not
/// specified in JWT, try all JWK. The same alg must be used."
fn fits(key: &Jwk, token: &Jwt) -> bool {
    let has_kid = token.kid.is_empty() || key.kid.is_empty() || *key.kid == *token.kid;
    let has_alg = key.alg.is_empty() || *key.alg == *token.alg;
    has_kid && has_alg
}

fn signed_by(token: &Jwt, material: &KeyMaterial) -> Result<Tri, JwtStatus> {
    let (message, signature) = (token.signed.as_bytes(), token.signature.as_slice());
    match material {
        KeyMaterial::Rsa { modulus, exponent } => Ok(rsa(token, modulus, exponent)),
        KeyMaterial::P256(point) => Ok(elliptic(token, point, 32)),
        KeyMaterial::P384(point) => Ok(elliptic(token, point, 48)),
        KeyMaterial::Ed25519(_) if signature.len() != 64 => Err(JwtStatus::Ed25519WrongLength),
        KeyMaterial::Ed25519(key) => Ok(holds(&ring_signature::ED25519, key, message, signature)),
        KeyMaterial::Secret(secret) => {
            let key = hmac::Key::new(hash_of(token, "HS").hmac(), secret);
            Ok(hmac::verify(&key, message, signature).is_ok().into())
        }
        KeyMaterial::Unmodelled(what) => {
            Ok(Tri::unknown(format!("whether {what} signed the token")))
        }
    }
}

/// The hash an algorithm's name asks for; SHA-256 when it asks for none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

/// "default to SHA256": also when the algorithm is one for other keys.
fn hash_of(token: &Jwt, family: &str) -> Hash {
    match token.alg.strip_prefix(family) {
        Some("384") => Hash::Sha384,
        Some("512") => Hash::Sha512,
        _ => Hash::Sha256,
    }
}

impl Hash {
    fn hmac(self) -> hmac::Algorithm {
        match self {
            Self::Sha256 => hmac::HMAC_SHA256,
            Self::Sha384 => hmac::HMAC_SHA384,
            Self::Sha512 => hmac::HMAC_SHA512,
        }
    }
}

fn holds(
    algorithm: &'static dyn VerificationAlgorithm,
    key: &[u8],
    message: &[u8],
    signature: &[u8],
) -> Tri {
    let key = UnparsedPublicKey::new(algorithm, key);
    key.verify(message, signature).is_ok().into()
}

fn rsa(token: &Jwt, modulus: &[u8], exponent: &[u8]) -> Tri {
    let family = match &token.alg {
        alg if alg.starts_with("PS") => "PS",
        alg if alg.starts_with("RS") => "RS",
        _ => return Tri::No,
    };
    let Some(parameters) = rsa_parameters(family, hash_of(token, family), modulus.len()) else {
        let bits = modulus.len() * 8;
        return Tri::unknown(format!(
            "whether an RSA key of {bits} bits signed the token"
        ));
    };
    let key = ring_signature::RsaPublicKeyComponents {
        n: modulus,
        e: exponent,
    };
    let message = token.signed.as_bytes();
    key.verify(parameters, message, &token.signature)
        .is_ok()
        .into()
}

/// What verifies with a key of so many bytes; none where the library has nothing.
fn rsa_parameters(family: &str, hash: Hash, bytes: usize) -> Option<&'static RsaParameters> {
    match (family, bytes, hash) {
        ("RS", 256..=1024, Hash::Sha256) => Some(&ring_signature::RSA_PKCS1_2048_8192_SHA256),
        ("RS", 256..=1024, Hash::Sha384) => Some(&ring_signature::RSA_PKCS1_2048_8192_SHA384),
        ("RS", 256..=1024, Hash::Sha512) => Some(&ring_signature::RSA_PKCS1_2048_8192_SHA512),
        ("PS", 256..=1024, Hash::Sha256) => Some(&ring_signature::RSA_PSS_2048_8192_SHA256),
        ("PS", 256..=1024, Hash::Sha384) => Some(&ring_signature::RSA_PSS_2048_8192_SHA384),
        ("PS", 256..=1024, Hash::Sha512) => Some(&ring_signature::RSA_PSS_2048_8192_SHA512),
        ("RS", 128..256, Hash::Sha256) => {
            Some(&ring_signature::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY)
        }
        ("RS", 128..256, Hash::Sha512) => {
            Some(&ring_signature::RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY)
        }
        _ => None,
    }
}

/// A JWS holds the two numbers of an ECDSA signature one after the other (RFC 7518, section 3.4).
/// Envoy cuts it in half, however long it is.
fn elliptic(token: &Jwt, point: &[u8], size: usize) -> Tri {
    // Leading zeros do not count, but a number that is too long cannot be right.
    let half = token.signature.len() / 2;
    let (r, s) = (&token.signature[..half], &token.signature[half..2 * half]);
    let (Some(r), Some(s)) = (padded(r, size), padded(s, size)) else {
        return Tri::No;
    };
    let Some(algorithm) = elliptic_algorithm(size, hash_of(token, "ES")) else {
        let (bits, alg) = (size * 8, &token.alg);
        return Tri::unknown(format!(
            "whether a P-{bits} key signed the token with {alg}"
        ));
    };
    holds(algorithm, point, token.signed.as_bytes(), &der(&r, &s))
}

fn elliptic_algorithm(size: usize, hash: Hash) -> Option<&'static dyn VerificationAlgorithm> {
    match (size, hash) {
        (32, Hash::Sha256) => Some(&ring_signature::ECDSA_P256_SHA256_ASN1),
        (32, Hash::Sha384) => Some(&ring_signature::ECDSA_P256_SHA384_ASN1),
        (48, Hash::Sha256) => Some(&ring_signature::ECDSA_P384_SHA256_ASN1),
        (48, Hash::Sha384) => Some(&ring_signature::ECDSA_P384_SHA384_ASN1),
        _ => None,
    }
}

/// `SEQUENCE { INTEGER r, INTEGER s }`
fn der(r: &[u8], s: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(r.len() + s.len() + 8);
    for number in [r, s] {
        push_integer(number, &mut body);
    }
    let mut whole = vec![0x30, length(body.len())];
    whole.append(&mut body);
    whole
}

/// The shortest form: no zero in front, except where the first bit would make it negative.
fn push_integer(number: &[u8], body: &mut Vec<u8>) {
    let mut digits = number;
    while let [0, rest @ ..] = digits
        && !rest.is_empty()
    {
        digits = rest;
    }
    let sign = usize::from(digits[0] >= 0x80);
    body.extend([0x02, length(digits.len() + sign)]);
    body.extend(std::iter::repeat_n(0, sign));
    body.extend(digits);
}

fn length(bytes: usize) -> u8 {
    assert!(
        bytes < 0x80,
        "two numbers of at most 48 bytes fit a short DER length"
    );
    u8::try_from(bytes).expect("it is below 128")
}
