//! What stands behind the public key: whether this is a CA, and for which names it is.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::der::{self, DerFlaw, DerReader};
use super::name;

/// Whether this is a CA, and the subject alternative names, from what follows the public key.
pub(super) fn extensions(tbs: DerReader<'_>) -> Result<(bool, Vec<String>), DerFlaw> {
    let (mut tbs, mut is_ca, mut sans) = (tbs, false, Vec::new());
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

fn basic_constraints(value: DerReader<'_>) -> Result<bool, DerFlaw> {
    let mut value = value;
    let mut fields = value.inside(der::SEQUENCE)?;
    Ok(!fields.is_empty() && fields.optional(der::BOOLEAN)?.is_some_and(|ca| ca != [0]))
}

fn alternative_names(value: DerReader<'_>) -> Result<Vec<String>, DerFlaw> {
    let mut value = value;
    let mut names = value.inside(der::SEQUENCE)?;
    let mut sans = Vec::new();
    while !names.is_empty() {
        sans.push(alternative_name(names.any()?)?);
    }
    Ok(sans)
}

/// RFC 5280, 4.2.1.6: `GeneralName` is a choice of nine, told by the tag.
fn alternative_name(name: der::Element<'_>) -> Result<String, DerFlaw> {
    let text = || name::printable(name.content);
    Ok(match name.tag {
        0x81 => format!("email:{}", text()),
        0x82 => format!("DNS:{}", text()),
        0xa4 => format!(
            "DirName:{}",
            name::name(DerReader::new(name.content).inside(der::SEQUENCE)?)?
        ),
        0x86 => format!("URI:{}", text()),
        0x87 => format!("IP:{}", address(name.content)),
        0x88 => format!("RID:{}", der::dotted(name.content)?),
        0xa0 => format!(
            "otherName:{}",
            der::dotted(DerReader::new(name.content).expect(der::OBJECT_ID)?)?
        ),
        _ => format!("#{}", der::hex(name.whole)),
    })
}

fn address(bytes: &[u8]) -> String {
    if let Ok(v4) = <[u8; 4]>::try_from(bytes) {
        return Ipv4Addr::from(v4).to_string();
    }
    <[u8; 16]>::try_from(bytes).map_or_else(
        |_| format!("#{}", der::hex(bytes)),
        |v6| Ipv6Addr::from(v6).to_string(),
    )
}
