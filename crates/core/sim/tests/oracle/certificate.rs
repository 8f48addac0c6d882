//! Certificates made for one run: P-256, self-signed, with the names a test asks for.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};

/// A certificate and its key, as PEM.
pub(crate) struct Certificate {
    pub(crate) chain: String,
    pub(crate) key: String,
}

const SEQUENCE: u8 = 0x30;
const ECDSA_WITH_SHA256: &[u8] = &[0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, 2];
const EC_PUBLIC_KEY: &[u8] = &[0x06, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1];
const PRIME256V1: &[u8] = &[0x06, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7];
const SUBJECT_ALT_NAME: &[u8] = &[0x06, 3, 0x55, 0x1d, 0x11];
const COMMON_NAME: &[u8] = &[0x06, 3, 0x55, 4, 3];

impl Certificate {
    /// A certificate without subject and with these URI names, as a mesh has them.
    pub(crate) fn with_uris(uris: &[&str]) -> Self {
        let random = SystemRandom::new();
        let pkcs8 =
            EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random).expect("a key");
        let pair =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, pkcs8.as_ref(), &random)
                .expect("a key");
        let tbs = to_be_signed(pair.public_key().as_ref(), uris);
        let signature = pair.sign(&random, &tbs).expect("a signature");
        let algorithm = tlv(SEQUENCE, &[ECDSA_WITH_SHA256]);
        let certificate = tlv(
            SEQUENCE,
            &[&tbs, &algorithm, &tlv(0x03, &[&[0], signature.as_ref()])],
        );
        Self {
            chain: pem("CERTIFICATE", &certificate),
            key: pem("PRIVATE KEY", pkcs8.as_ref()),
        }
    }
}

/// `TBSCertificate` (RFC 5280, section 4.1).
fn to_be_signed(point: &[u8], uris: &[&str]) -> Vec<u8> {
    let issuer = tlv(
        SEQUENCE,
        &[&tlv(
            0x31,
            &[&tlv(SEQUENCE, &[COMMON_NAME, &tlv(0x0c, &[b"oracle"])])],
        )],
    );
    let validity = tlv(
        SEQUENCE,
        &[
            &tlv(0x17, &[b"200101000000Z"]),
            &tlv(0x17, &[b"490101000000Z"]),
        ],
    );
    let key = tlv(
        SEQUENCE,
        &[
            &tlv(SEQUENCE, &[EC_PUBLIC_KEY, PRIME256V1]),
            &tlv(0x03, &[&[0], point]),
        ],
    );
    let names: Vec<u8> = uris
        .iter()
        .flat_map(|uri| tlv(0x86, &[uri.as_bytes()]))
        .collect();
    let names = tlv(0x04, &[&tlv(SEQUENCE, &[&names])]);
    let extension = tlv(
        SEQUENCE,
        &[SUBJECT_ALT_NAME, &tlv(0x01, &[&[0xff]]), &names],
    );
    let extensions = tlv(0xa3, &[&tlv(SEQUENCE, &[&extension])]);
    let extensions = if uris.is_empty() {
        Vec::new()
    } else {
        extensions
    };
    tlv(
        SEQUENCE,
        &[
            &tlv(0xa0, &[&[0x02, 1, 2]]),
            &[0x02, 1, 7],
            &tlv(SEQUENCE, &[ECDSA_WITH_SHA256]),
            &issuer,
            &validity,
            &tlv(SEQUENCE, &[]),
            &key,
            &extensions,
        ],
    )
}

fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let mut bytes = vec![tag];
    match u8::try_from(content.len()) {
        Ok(length) if length < 0x80 => bytes.push(length),
        Ok(length) => bytes.extend([0x81, length]),
        Err(_) => {
            let length = u16::try_from(content.len()).expect("a small certificate");
            bytes.push(0x82);
            bytes.extend(length.to_be_bytes());
        }
    }
    bytes.extend(content);
    bytes
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = BASE64_STANDARD.encode(der);
    let lines: Vec<_> = text
        .as_bytes()
        .chunks(64)
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect();
    format!(
        "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
        lines.join("\n")
    )
}
