//! Signatures, verified for real.

use ring::hmac;
use ring::signature as ring_signature;
use ring::signature::{RsaParameters, UnparsedPublicKey, VerificationAlgorithm};

use super::keys::{Jwk, KeyMaterial, padded};
use super::status::JwtStatus;
use super::token::Jwt;
use crate::Tri;

/// Whether one of the keys signed the token. "If kid is specified in JWT, JWK with the same kid is
/// used for verification. If kid is not specified in JWT, try all JWK. The same alg must be used."
pub(super) fn verify(token: &Jwt, keys: &[Jwk]) -> Result<Tri, JwtStatus> {
    let fits = |key: &&Jwk| {
        (token.kid.is_empty() || key.kid.is_empty() || *key.kid == *token.kid)
            && (key.alg.is_empty() || *key.alg == *token.alg)
    };
    let mut result = Err(JwtStatus::NoMatchingKey);
    for key in keys.iter().filter(fits) {
        match signed_by(token, &key.material)? {
            Tri::Yes => return Ok(Tri::Yes),
            Tri::No if result.is_err() => result = Err(JwtStatus::VerificationFails),
            Tri::No => {}
            unknown @ Tri::Unknown(_) => result = Ok(unknown),
        }
    }
    result
}

fn signed_by(token: &Jwt, material: &KeyMaterial) -> Result<Tri, JwtStatus> {
    let (message, signature) = (token.signed.as_bytes(), token.signature.as_slice());
    Ok(match material {
        KeyMaterial::Rsa { modulus, exponent } => rsa(token, modulus, exponent),
        KeyMaterial::P256(point) => elliptic(token, point, 32),
        KeyMaterial::P384(point) => elliptic(token, point, 48),
        KeyMaterial::Ed25519(_) if signature.len() != 64 => {
            return Err(JwtStatus::Ed25519WrongLength);
        }
        KeyMaterial::Ed25519(key) => holds(&ring_signature::ED25519, key, message, signature),
        KeyMaterial::Secret(secret) => {
            let key = hmac::Key::new(hash_of(token, "HS").hmac(), secret);
            hmac::verify(&key, message, signature).is_ok().into()
        }
        KeyMaterial::Unmodelled(what) => Tri::unknown(format!("whether {what} signed the token")),
    })
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
    UnparsedPublicKey::new(algorithm, key)
        .verify(message, signature)
        .is_ok()
        .into()
}

fn rsa(token: &Jwt, modulus: &[u8], exponent: &[u8]) -> Tri {
    let pss = token.alg.starts_with("PS");
    if !pss && !token.alg.starts_with("RS") {
        return Tri::No;
    }
    let legacy = modulus.len() < 256;
    let parameters: &RsaParameters = match (pss, legacy, hash_of(token, &token.alg[..2])) {
        (false, false, Hash::Sha256) => &ring_signature::RSA_PKCS1_2048_8192_SHA256,
        (false, false, Hash::Sha384) => &ring_signature::RSA_PKCS1_2048_8192_SHA384,
        (false, false, Hash::Sha512) => &ring_signature::RSA_PKCS1_2048_8192_SHA512,
        (true, false, Hash::Sha256) => &ring_signature::RSA_PSS_2048_8192_SHA256,
        (true, false, Hash::Sha384) => &ring_signature::RSA_PSS_2048_8192_SHA384,
        (true, false, Hash::Sha512) => &ring_signature::RSA_PSS_2048_8192_SHA512,
        (false, true, Hash::Sha256) if modulus.len() >= 128 => {
            &ring_signature::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY
        }
        (false, true, Hash::Sha512) if modulus.len() >= 128 => {
            &ring_signature::RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY
        }
        _ => return unmodelled_key(modulus.len()),
    };
    if modulus.len() > 1024 {
        return unmodelled_key(modulus.len());
    }
    let key = ring_signature::RsaPublicKeyComponents {
        n: modulus,
        e: exponent,
    };
    key.verify(parameters, token.signed.as_bytes(), &token.signature)
        .is_ok()
        .into()
}

fn unmodelled_key(bytes: usize) -> Tri {
    Tri::unknown(format!(
        "whether an RSA key of {} bits signed the token",
        bytes * 8
    ))
}

/// A JWS holds the two numbers of an ECDSA signature one after the other (RFC 7518, section 3.4).
/// Envoy cuts it in half, however long it is.
fn elliptic(token: &Jwt, point: &[u8], size: usize) -> Tri {
    let half = token.signature.len() / 2;
    let (r, s) = (&token.signature[..half], &token.signature[half..2 * half]);
    let (Some(r), Some(s)) = (padded(r, size), padded(s, size)) else {
        return Tri::No;
    };
    let algorithm: &'static dyn VerificationAlgorithm = match (size, hash_of(token, "ES")) {
        (32, Hash::Sha256) => &ring_signature::ECDSA_P256_SHA256_ASN1,
        (32, Hash::Sha384) => &ring_signature::ECDSA_P256_SHA384_ASN1,
        (48, Hash::Sha256) => &ring_signature::ECDSA_P384_SHA256_ASN1,
        (48, Hash::Sha384) => &ring_signature::ECDSA_P384_SHA384_ASN1,
        _ => {
            return Tri::unknown(format!(
                "whether a P-{} key signed the token with {}",
                size * 8,
                token.alg
            ));
        }
    };
    holds(algorithm, point, token.signed.as_bytes(), &der(&r, &s))
}

/// `SEQUENCE { INTEGER r, INTEGER s }`
fn der(r: &[u8], s: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(r.len() + s.len() + 8);
    for number in [r, s] {
        let zeros = number
            .iter()
            .take_while(|byte| **byte == 0)
            .count()
            .min(number.len() - 1);
        let digits = &number[zeros..];
        let sign = usize::from(digits[0] >= 0x80);
        body.extend([0x02, length(digits.len() + sign)]);
        body.extend(std::iter::repeat_n(0, sign));
        body.extend(digits);
    }
    let mut whole = vec![0x30, length(body.len())];
    whole.append(&mut body);
    whole
}

fn length(bytes: usize) -> u8 {
    u8::try_from(bytes)
        .ok()
        .filter(|n| *n < 0x80)
        .expect("two numbers of at most 48 bytes fit a short DER length")
}
