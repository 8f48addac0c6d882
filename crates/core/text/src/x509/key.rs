//! The kind and size of a public key.

use std::fmt;

use super::der::{self, DerFlaw, DerReader};

/// A public key, without the key. Shown as in `RSA 2048` or `ECDSA P-256`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    /// `RSA`, `ECDSA`, `Ed25519`, or the algorithm's object identifier.
    pub algorithm: String,
    /// The curve of an `ECDSA` key: `P-256`, or its object identifier.
    pub curve: Option<String>,
    /// Bits of the modulus or of the curve; none when the algorithm is not known.
    pub bits: Option<usize>,
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.curve, self.bits) {
            (Some(curve), _) => write!(f, "{} {curve}", self.algorithm),
            (None, Some(bits)) if self.algorithm == "RSA" => write!(f, "RSA {bits}"),
            _ => f.write_str(&self.algorithm),
        }
    }
}

/// Reads a `SubjectPublicKeyInfo`.
pub(super) fn key(info: &[u8]) -> Result<PublicKey, DerFlaw> {
    let mut info = DerReader::new(info).inside(der::SEQUENCE)?;
    let mut algorithm = info.inside(der::SEQUENCE)?;
    let oid = der::dotted(algorithm.expect(der::OBJECT_ID)?)?;
    let bits = info.expect(der::BIT_STRING)?;
    Ok(match &*oid {
        // The first byte of a BIT STRING counts the unused bits of its last one.
        "1.2.840.113549.1.1.1" => of("RSA", bits.get(1..).and_then(modulus_bits)),
        "1.2.840.10045.2.1" => elliptic(&mut algorithm)?,
        "1.3.101.112" => of("Ed25519", Some(256)),
        _ => of(&oid, None),
    })
}

fn of(algorithm: &str, bits: Option<usize>) -> PublicKey {
    PublicKey {
        algorithm: algorithm.to_owned(),
        curve: None,
        bits,
    }
}

fn elliptic(parameters: &mut DerReader<'_>) -> Result<PublicKey, DerFlaw> {
    // A curve that is spelled out instead of named: RFC 5480 forbids it, OpenSSL can write it.
    let Some(oid) = parameters.optional(der::OBJECT_ID)? else {
        return Ok(of("ECDSA", None));
    };
    let oid = der::dotted(oid)?;
    let (curve, bits) = match &*oid {
        "1.2.840.10045.3.1.7" => ("P-256", Some(256)),
        "1.3.132.0.33" => ("P-224", Some(224)),
        "1.3.132.0.34" => ("P-384", Some(384)),
        "1.3.132.0.35" => ("P-521", Some(521)),
        other => (other, None),
    };
    Ok(PublicKey {
        curve: Some(curve.to_owned()),
        ..of("ECDSA", bits)
    })
}

/// The size of the first of the two integers of an RSA key.
fn modulus_bits(key: &[u8]) -> Option<usize> {
    let mut numbers = DerReader::new(key).inside(der::SEQUENCE).ok()?;
    let modulus = numbers.expect(der::INTEGER).ok()?;
    // An integer is signed: a zero byte stands before one whose first bit is set.
    let zeros = modulus.iter().take_while(|&&b| b == 0).count();
    let top = modulus.get(zeros).map_or(0, |b| b.leading_zeros() as usize);
    Some((modulus.len() - zeros) * 8 - top)
}
