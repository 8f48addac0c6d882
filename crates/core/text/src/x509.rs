//! Facts of X.509 certificates (RFC 5280): who, by whom, for which names, from when until when.
//!
//! Nothing here verifies a signature: Envoy does that, and its counters say how it ended.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use ring::digest::{SHA256, digest};

use crate::time::Time;

mod der;
mod extensions;
mod key;
mod name;

use der::{DerFlaw, DerReader};
pub use key::PublicKey;

/// What a certificate says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The subject, as in `CN=web,O=shop`; a workload certificate of Istio has none.
    pub subject: String,
    /// The subject of the certificate that signed this one.
    pub issuer: String,
    /// The serial number as istioctl prints it: hex, padded to 32 digits.
    pub serial: String,
    /// The first second of its life.
    pub not_before: Time,
    /// The last second of its life.
    pub not_after: Time,
    /// Whether it may sign other certificates.
    pub is_ca: bool,
    /// The names it is for: `URI:…`, `DNS:…`, `IP:…`, `email:…`.
    pub sans: Vec<String>,
    /// The kind and size of its public key.
    pub key: PublicKey,
    /// SHA-256 of its `SubjectPublicKeyInfo` in lower-case hex: a root that was renewed keeps its
    /// key.
    pub key_sha256: String,
    /// SHA-256 of the certificate in lower-case hex.
    pub sha256: String,
}

impl Certificate {
    /// Reads a certificate in DER.
    ///
    /// # Errors
    /// Why it is none, as in `subject: cut short`.
    pub fn from_der(der: &[u8]) -> Result<Self, String> {
        let mut document = DerReader::new(der);
        let mut certificate = document
            .inside(der::SEQUENCE)
            .map_err(part("certificate"))?;
        if !document.is_empty() {
            return Err("bytes after the end of the certificate".to_owned());
        }
        // The fields of a `TBSCertificate` in their order (RFC 5280, 4.1).
        let mut tbs = certificate
            .inside(der::SEQUENCE)
            .map_err(part("certificate"))?;
        tbs.optional(EXPLICIT_0).map_err(part("version"))?;
        let serial = serial(&mut tbs).map_err(part("serial number"))?;
        tbs.expect(der::SEQUENCE)
            .map_err(part("signature algorithm"))?;
        let issuer = name::name(&mut tbs).map_err(part("issuer"))?;
        let (not_before, not_after) = validity(&mut tbs).map_err(part("validity"))?;
        let subject = name::name(&mut tbs).map_err(part("subject"))?;
        let info = tbs.any().map_err(part("public key"))?;
        let key = key::key(info.whole).map_err(part("public key"))?;
        let (is_ca, sans) = extensions::extensions(tbs).map_err(part("extensions"))?;
        let sha256 = der::hex(digest(&SHA256, der).as_ref());
        let key_sha256 = der::hex(digest(&SHA256, info.whole).as_ref());
        Ok(Self {
            subject,
            issuer,
            serial,
            not_before,
            not_after,
            is_ca,
            sans,
            key,
            key_sha256,
            sha256,
        })
    }

    /// The trust domain of the first SPIFFE identity.
    pub fn trust_domain(&self) -> Option<&str> {
        for san in &self.sans {
            let uri = san.strip_prefix("URI:");
            if let Some(domain) = uri.and_then(trust_domain) {
                return Some(domain);
            }
        }
        None
    }
}

/// Every `CERTIFICATE` block of a PEM text, in order, whatever stands between them.
pub fn from_pem(pem: &[u8]) -> Vec<Result<Certificate, String>> {
    const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";
    let mut certificates = Vec::new();
    let mut begins = memmem::find_iter(pem, BEGIN).peekable();
    while let Some(begin) = begins.next() {
        // A block without an end must not take in the one behind it.
        let end = begins.peek().copied().unwrap_or(pem.len());
        certificates.push(block(&pem[begin + BEGIN.len()..end]));
    }
    certificates
}

/// The trust domain of a SPIFFE identity: `cluster.local` of
/// `spiffe://cluster.local/ns/shop/sa/cart`.
pub fn trust_domain(uri: &str) -> Option<&str> {
    let domain = uri.strip_prefix("spiffe://")?.split('/').next()?;
    if domain.is_empty() {
        return None;
    }
    Some(domain)
}

const EXPLICIT_0: u8 = 0xa0;

fn part(what: &'static str) -> impl Fn(DerFlaw) -> String {
    move |flaw| format!("{what}: {flaw}")
}

fn block(text: &[u8]) -> Result<Certificate, String> {
    let end = memmem::find(text, b"-----END CERTIFICATE-----").ok_or("no END CERTIFICATE line")?;
    let mut base64 = text[..end].to_vec();
    base64.retain(|b| !b.is_ascii_whitespace());
    let der = STANDARD.decode(base64).map_err(|_| "not base64")?;
    Certificate::from_der(&der)
}

/// As Go's `%032x` prints the integer, which is what istioctl does.
fn serial(tbs: &mut DerReader<'_>) -> Result<String, DerFlaw> {
    let content = tbs.expect(der::INTEGER)?;
    let first = content.first().ok_or("empty")?;
    let negative = first & 0x80 != 0;
    let mut magnitude = content.to_vec();
    if negative {
        negate(&mut magnitude);
    }
    let digits = der::hex(&magnitude);
    let digits = digits.trim_start_matches('0');
    // The sign takes one of the 32 places.
    if negative {
        return Ok(format!("-{digits:0>31}"));
    }
    Ok(format!("{digits:0>32}"))
}

/// Two's complement: every bit flipped, then one added.
fn negate(bytes: &mut [u8]) {
    let mut carry = true;
    for byte in bytes.iter_mut().rev() {
        (*byte, carry) = (!*byte).overflowing_add(u8::from(carry));
    }
}

fn validity(tbs: &mut DerReader<'_>) -> Result<(Time, Time), DerFlaw> {
    let mut times = tbs.inside(der::SEQUENCE)?;
    let not_before = time(times.any()?)?;
    let not_after = time(times.any()?)?;
    Ok((not_before, not_after))
}

/// RFC 5280, 4.1.2.5: both forms "MUST be expressed in Greenwich Mean Time (Zulu) and MUST include
/// seconds".
fn time(element: der::Element<'_>) -> Result<Time, DerFlaw> {
    let text = str::from_utf8(element.content).map_err(|_| "not a time in UTC")?;
    let text = text.strip_suffix('Z').ok_or("not a time in UTC")?;
    let digits = match element.tag {
        // "Where YY is greater than or equal to 50, the year SHALL be interpreted as 19YY".
        der::UTC_TIME => format!("{}{text}", if text >= "50" { "19" } else { "20" }),
        der::GENERALIZED_TIME => text.to_owned(),
        _ => return Err("not a time"),
    };
    if digits.len() != 14 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err("not a time");
    }
    let [year, month, day] = [&digits[..4], &digits[4..6], &digits[6..8]];
    let [hour, minute, second] = [&digits[8..10], &digits[10..12], &digits[12..]];
    Time::parse(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z")).ok_or("not a time")
}

#[cfg(test)]
mod tests;
