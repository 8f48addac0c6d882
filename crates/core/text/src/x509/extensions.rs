//! What stands behind the public key: whether this is a CA, and for which names it is.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::der::{self, DerFlaw, DerReader};
use super::name;

/// Whether this is a CA, and the subject alternative names, from what follows the public key.
pub(super) fn extensions(mut tbs: DerReader<'_>) -> Result<(bool, Vec<String>), DerFlaw> {
    let mut is_ca = false;
    let mut sans = Vec::new();
    while !tbs.is_empty() {
        let field = tbs.any()?;
        match field.tag {
            ISSUER_ID | SUBJECT_ID => continue,
            EXTENSIONS => {}
            _ => return Err("an element of another kind"),
        }
        let mut list = DerReader::new(field.content).inside(der::SEQUENCE)?;
        while !list.is_empty() {
            let mut extension = list.inside(der::SEQUENCE)?;
            let oid = extension.expect(der::OBJECT_ID)?;
            // `critical`: whoever verifies the certificate has to care, we do not.
            extension.optional(der::BOOLEAN)?;
            let value = extension.inside(der::OCTET_STRING)?;
            match oid {
                BASIC_CONSTRAINTS => is_ca = basic_constraints(value)?,
                SUBJECT_ALT_NAME => sans = alternative_names(value)?,
                _ => {}
            }
        }
    }
    Ok((is_ca, sans))
}

const ISSUER_ID: u8 = 0x81;
const SUBJECT_ID: u8 = 0x82;
const EXTENSIONS: u8 = 0xa3;
/// 2.5.29.19
const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 0x13];
/// 2.5.29.17
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];

/// RFC 5280, 4.2.1.9: `cA BOOLEAN DEFAULT FALSE`, so that an empty sequence is no CA.
fn basic_constraints(mut value: DerReader<'_>) -> Result<bool, DerFlaw> {
    let mut fields = value.inside(der::SEQUENCE)?;
    if fields.is_empty() {
        return Ok(false);
    }
    let ca = fields.optional(der::BOOLEAN)?;
    Ok(ca.is_some_and(|ca| ca != [0]))
}

fn alternative_names(mut value: DerReader<'_>) -> Result<Vec<String>, DerFlaw> {
    let mut names = value.inside(der::SEQUENCE)?;
    let mut sans = Vec::new();
    while !names.is_empty() {
        sans.push(alternative_name(names.any()?)?);
    }
    Ok(sans)
}

/// RFC 5280, 4.2.1.6: `GeneralName` is a choice of nine, told by the tag.
fn alternative_name(name: der::Element<'_>) -> Result<String, DerFlaw> {
    let mut inside = DerReader::new(name.content);
    Ok(match name.tag {
        0x81 => format!("email:{}", name::printable(name.content)),
        0x82 => format!("DNS:{}", name::printable(name.content)),
        0x86 => format!("URI:{}", name::printable(name.content)),
        0x87 => format!("IP:{}", address(name.content)),
        0x88 => format!("RID:{}", der::dotted(name.content)?),
        0xa0 => format!("otherName:{}", der::dotted(inside.expect(der::OBJECT_ID)?)?),
        0xa4 => format!("DirName:{}", name::name(&mut inside)?),
        _ => format!("#{}", der::hex(name.whole)),
    })
}

fn address(bytes: &[u8]) -> String {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Ipv4Addr::from(v4).to_string();
    }
    if let Ok(v6) = <[u8; 16]>::try_from(bytes) {
        return Ipv6Addr::from(v6).to_string();
    }
    format!("#{}", der::hex(bytes))
}
