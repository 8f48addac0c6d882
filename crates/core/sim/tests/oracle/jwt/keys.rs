//! Keys that are made anew for every run, as JWKs and for signing.

use std::process::Command;

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::rsa::{KeyPair as RsaKeyPair, PublicKeyComponents};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair,
    EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384,
    RSA_PKCS1_SHA512, RSA_PSS_SHA256, RSA_PSS_SHA384, RSA_PSS_SHA512, RsaEncoding,
};
use serde_json::{Value, json};

/// A key that can sign.
pub(crate) enum Key {
    Rsa(RsaKeyPair),
    P256(EcdsaKeyPair),
    P384(EcdsaKeyPair),
    Ed25519(Ed25519KeyPair),
    Secret([u8; 32]),
}

pub(crate) fn b64(bytes: impl AsRef<[u8]>) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}

impl Key {
    pub(crate) fn rsa(seed: u64) -> Self {
        let script = include_str!("rsa.py");
        let output = Command::new("python3")
            .args(["-c", script, &seed.to_string()])
            .output()
            .expect("python3 runs");
        let text = String::from_utf8(output.stdout).expect("hexadecimal digits");
        let digits = text
            .trim()
            .as_bytes()
            .chunks(2)
            .map(|pair| std::str::from_utf8(pair).expect("ASCII"));
        let der: Vec<_> = digits
            .map(|pair| u8::from_str_radix(pair, 16).expect("a byte"))
            .collect();
        Self::Rsa(RsaKeyPair::from_der(&der).expect("an RSA key"))
    }

    pub(crate) fn p256() -> Self {
        Self::P256(elliptic(&ECDSA_P256_SHA256_FIXED_SIGNING))
    }

    pub(crate) fn p384() -> Self {
        Self::P384(elliptic(&ECDSA_P384_SHA384_FIXED_SIGNING))
    }

    pub(crate) fn ed25519() -> Self {
        let pkcs8 = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).expect("a key");
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(pkcs8.as_ref()).expect("a key"))
    }

    /// The algorithms it can sign with.
    pub(crate) fn algorithms(&self) -> &'static [&'static str] {
        match self {
            Self::Rsa(_) => &["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
            Self::P256(_) => &["ES256"],
            Self::P384(_) => &["ES384"],
            Self::Ed25519(_) => &["EdDSA"],
            Self::Secret(_) => &["HS256", "HS384", "HS512"],
        }
    }

    /// The public half, as RFC 7517 writes it; the whole of a shared secret.
    pub(crate) fn jwk(&self) -> Value {
        match self {
            Self::Rsa(pair) => {
                let public = PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({"kty": "RSA", "n": b64(public.n), "e": b64(public.e)})
            }
            Self::P256(pair) => point("P-256", pair.public_key().as_ref()),
            Self::P384(pair) => point("P-384", pair.public_key().as_ref()),
            Self::Ed25519(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": b64(pair.public_key())})
            }
            Self::Secret(secret) => json!({"kty": "oct", "k": b64(secret)}),
        }
    }

    pub(crate) fn sign(&self, algorithm: &str, text: &str) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Rsa(pair) => {
                let encoding: &'static dyn RsaEncoding = match algorithm {
                    "RS384" => &RSA_PKCS1_SHA384,
                    "RS512" => &RSA_PKCS1_SHA512,
                    "PS256" => &RSA_PSS_SHA256,
                    "PS384" => &RSA_PSS_SHA384,
                    "PS512" => &RSA_PSS_SHA512,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; pair.public().modulus_len()];
                pair.sign(encoding, &random, text.as_bytes(), &mut signature)
                    .expect("a signature");
                signature
            }
            Self::P256(pair) | Self::P384(pair) => pair
                .sign(&random, text.as_bytes())
                .expect("a signature")
                .as_ref()
                .to_vec(),
            Self::Ed25519(pair) => pair.sign(text.as_bytes()).as_ref().to_vec(),
            Self::Secret(secret) => {
                let hash = match algorithm {
                    "HS384" => hmac::HMAC_SHA384,
                    "HS512" => hmac::HMAC_SHA512,
                    _ => hmac::HMAC_SHA256,
                };
                hmac::sign(&hmac::Key::new(hash, secret), text.as_bytes())
                    .as_ref()
                    .to_vec()
            }
        }
    }
}

fn elliptic(algorithm: &'static EcdsaSigningAlgorithm) -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(algorithm, &random).expect("a key");
    EcdsaKeyPair::from_pkcs8(algorithm, pkcs8.as_ref(), &random).expect("a key")
}

fn point(curve: &str, point: &[u8]) -> Value {
    let (x, y) = point[1..].split_at((point.len() - 1) / 2);
    json!({"kty": "EC", "crv": curve, "x": b64(x), "y": b64(y)})
}
