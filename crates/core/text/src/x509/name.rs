//! Distinguished names as RFC 2253 writes them, with the type names Go uses.

use super::der::{self, DerFlaw, DerReader, Element};

/// `CN=web,O=shop`: the most specific part first, as in RFC 2253, section 2.1: "starting with the
/// last element of the sequence and moving backwards toward the first".
pub(super) fn name(reader: &mut DerReader<'_>) -> Result<String, DerFlaw> {
    let mut rdns = reader.inside(der::SEQUENCE)?;
    let mut parts = Vec::new();
    while !rdns.is_empty() {
        parts.push(relative(rdns.inside(der::SET)?)?);
    }
    parts.reverse();
    Ok(parts.join(","))
}

/// One relative name; a multi-valued one is joined with `+`.
fn relative(mut attributes: DerReader<'_>) -> Result<String, DerFlaw> {
    let mut parts = Vec::new();
    while !attributes.is_empty() {
        let mut attribute = attributes.inside(der::SEQUENCE)?;
        let oid = der::dotted(attribute.expect(der::OBJECT_ID)?)?;
        let value = attribute.any()?;
        parts.push(match (type_name(&oid), text(value)) {
            (Some(name), Some(text)) => format!("{name}={}", escaped(&text)),
            // RFC 2253, 2.4: "if the AttributeValue is of a type which does not have a string
            // representation defined for it, then it is simply encoded as an octothorpe character
            // followed by the hexadecimal".
            (name, _) => format!("{}=#{}", name.unwrap_or(&oid), der::hex(value.whole)),
        });
    }
    Ok(parts.join("+"))
}

fn type_name(oid: &str) -> Option<&'static str> {
    Some(match oid {
        "2.5.4.3" => "CN",
        "2.5.4.5" => "SERIALNUMBER",
        "2.5.4.6" => "C",
        "2.5.4.7" => "L",
        "2.5.4.8" => "ST",
        "2.5.4.9" => "STREET",
        "2.5.4.10" => "O",
        "2.5.4.11" => "OU",
        "2.5.4.17" => "POSTALCODE",
        "0.9.2342.19200300.100.1.1" => "UID",
        "0.9.2342.19200300.100.1.25" => "DC",
        "1.2.840.113549.1.9.1" => "emailAddress",
        _ => return None,
    })
}

/// The text of a string of any of ASN.1's types; none when it is no string or not one of its type.
fn text(value: Element<'_>) -> Option<String> {
    let bytes = value.content;
    match value.tag {
        // UTF8String
        0x0c => String::from_utf8(bytes.to_vec()).ok(),
        // NumericString, PrintableString, IA5String, VisibleString
        0x12 | 0x13 | 0x16 | 0x1a if bytes.is_ascii() => Some(latin_1(bytes)),
        // TeletexString, which everyone writes and reads as Latin-1
        0x14 => Some(latin_1(bytes)),
        // UniversalString
        0x1c => utf_32(bytes),
        // BMPString
        0x1e => utf_16(bytes),
        _ => None,
    }
}

fn latin_1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

fn utf_32(bytes: &[u8]) -> Option<String> {
    let (units, []) = bytes.as_chunks::<4>() else {
        return None;
    };
    let mut text = String::new();
    for unit in units {
        text.push(char::from_u32(u32::from_be_bytes(*unit))?);
    }
    Some(text)
}

fn utf_16(bytes: &[u8]) -> Option<String> {
    let (units, []) = bytes.as_chunks::<2>() else {
        return None;
    };
    let units: Vec<u16> = units.iter().map(|unit| u16::from_be_bytes(*unit)).collect();
    String::from_utf16(&units).ok()
}

/// RFC 2253, 2.4: "a space or `#` character occurring at the beginning of the string, a space
/// character occurring at the end of the string, one of the characters `,`, `+`, `"`, `\`, `<`, `>`
/// or `;`" takes a backslash. Control characters become `\` and two hex digits a byte, so that no
/// certificate can steer a terminal.
fn escaped(text: &str) -> String {
    let last = text.char_indices().next_back().map_or(0, |(at, _)| at);
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        match c {
            ',' | '+' | '"' | '\\' | '<' | '>' | ';' => out.extend(['\\', c]),
            '#' if at == 0 => out.push_str("\\#"),
            ' ' if at == 0 || at == last => out.push_str("\\ "),
            c if c.is_control() => push_hex(&mut out, c.encode_utf8(&mut [0; 4]).as_bytes()),
            c => out.push(c),
        }
    }
    out
}

/// Printable ASCII as it is, every other byte as `\` and two hex digits.
pub(super) fn printable(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len());
    for &byte in bytes {
        match byte {
            b' '..=b'~' => out.push(char::from(byte)),
            _ => push_hex(&mut out, &[byte]),
        }
    }
    out
}

fn push_hex(out: &mut String, bytes: &[u8]) {
    for byte in bytes {
        out.push('\\');
        out.push_str(&der::hex(&[*byte]));
    }
}
