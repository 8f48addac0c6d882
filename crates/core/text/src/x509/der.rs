//! DER (X.690): elements of a byte string, one after the other, without copying and without
//! recursion.

/// Why bytes are not the DER they should be, without a full stop.
pub(super) type DerFlaw = &'static str;

pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const BIT_STRING: u8 = 0x03;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT_ID: u8 = 0x06;
pub(super) const UTC_TIME: u8 = 0x17;
pub(super) const GENERALIZED_TIME: u8 = 0x18;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// The elements that are still to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct DerReader<'a>(&'a [u8]);

/// One element.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element<'a> {
    pub(super) tag: u8,
    pub(super) content: &'a [u8],
    /// Tag, length and content.
    pub(super) whole: &'a [u8],
}

impl<'a> DerReader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// The next element, whatever it is.
    pub(super) fn any(&mut self) -> Result<Element<'a>, DerFlaw> {
        let [tag, first, ..] = *self.0 else {
            return Err("cut short");
        };
        // X.690, 8.1.2.4: such a tag goes on in the next bytes, and X.509 has none.
        if tag & 0x1f == 0x1f {
            return Err("a tag number above 30");
        }
        let (header, length) = length(first, &self.0[2..])?;
        let content = header
            .checked_add(length)
            .and_then(|end| self.0.get(header..end))
            .ok_or("cut short")?;
        let (whole, rest) = self.0.split_at(header + length);
        self.0 = rest;
        Ok(Element {
            tag,
            content,
            whole,
        })
    }

    /// The content of the next element, which must have that tag.
    pub(super) fn expect(&mut self, tag: u8) -> Result<&'a [u8], DerFlaw> {
        self.optional(tag)?.ok_or("an element of another kind")
    }

    /// The content of the next element when it has that tag; otherwise nothing is read.
    pub(super) fn optional(&mut self, tag: u8) -> Result<Option<&'a [u8]>, DerFlaw> {
        match self.0.first() {
            Some(&t) if t == tag => Ok(Some(self.any()?.content)),
            Some(_) => Ok(None),
            None => Err("cut short"),
        }
    }

    /// The elements inside the next element, which must have that tag.
    pub(super) fn inside(&mut self, tag: u8) -> Result<DerReader<'a>, DerFlaw> {
        self.expect(tag).map(DerReader)
    }
}

/// The sizes of header and content, given the first byte of the length and all bytes behind it.
fn length(first: u8, behind: &[u8]) -> Result<(usize, usize), DerFlaw> {
    if first < 0x80 {
        return Ok((2, usize::from(first)));
    }
    let count = usize::from(first & 0x7f);
    if count == 0 {
        return Err("an indefinite length");
    }
    // Four bytes are 4 GiB; no certificate comes near.
    if count > 4 {
        return Err("a length out of range");
    }
    let bytes = behind.get(..count).ok_or("a length out of range")?;
    let mut length = 0usize;
    for &byte in bytes {
        length = length << 8 | usize::from(byte);
    }
    // X.690, 10.1: "the length shall be encoded in the minimum number of octets".
    if bytes[0] == 0 || length < 0x80 {
        return Err("a length that is not in its shortest form");
    }
    Ok((2 + count, length))
}

/// An object identifier as dotted numbers.
pub(super) fn dotted(content: &[u8]) -> Result<String, DerFlaw> {
    // X.690, 8.19.2: each number is a series of bytes, seven bits a byte, and bit 8 is set in all
    // of them but the last.
    let mut arcs = Vec::new();
    let mut arc = 0u64;
    let mut open = true;
    for &byte in content {
        arc = arc
            .checked_mul(128)
            .ok_or("an object identifier out of range")?
            | u64::from(byte & 0x7f);
        open = byte & 0x80 != 0;
        if !open {
            arcs.push(arc);
            arc = 0;
        }
    }
    let [first, rest @ ..] = &*arcs else {
        return Err("an empty object identifier");
    };
    if open {
        return Err("an object identifier that is cut short");
    }
    // X.690, 8.19.4: the first number stands for the first two: 40 × X + Y, where X is 0, 1 or 2.
    let top = (first / 40).min(2);
    let mut text = format!("{top}.{}", first - top * 40);
    for arc in rest {
        text.push('.');
        text.push_str(&arc.to_string());
    }
    Ok(text)
}

/// Lower-case hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    out
}
