//! The strict reading of a whole document: RFC 8259, nothing kept.

use super::{TextFault, behind_bom, skip_space};

/// How deep a document may nest. Envoy's deepest dumps stay under 60.
const MAX_DEPTH: usize = 512;

/// Whether the document is one well-formed JSON value.
///
/// # Errors
/// The first fault, with its place.
pub fn check(doc: &str) -> Result<(), TextFault> {
    let bytes = doc.as_bytes();
    let mut at = skip_space(bytes, behind_bom(doc));
    // The brackets that are open, so that nesting costs no stack.
    let mut open: Vec<u8> = Vec::new();
    'value: loop {
        match bytes.get(at) {
            Some(&bracket @ (b'{' | b'[')) => {
                if open.len() == MAX_DEPTH {
                    return Err(fault(bytes, at, "nested too deep"));
                }
                open.push(bracket);
                at = skip_space(bytes, at + 1);
                if bytes.get(at) != Some(&close(bracket)) {
                    at = before_value(bytes, at, bracket)?;
                    continue 'value;
                }
            }
            _ => at = scalar(bytes, at)?,
        }
        // A value has ended: climb out of every bracket that closes here, until a `,` asks for the
        // next value.
        loop {
            at = skip_space(bytes, at);
            match (open.last(), bytes.get(at)) {
                (None, None) => return Ok(()),
                (None, Some(_)) => return Err(fault(bytes, at, "text after the end of the value")),
                (Some(&bracket), Some(b',')) => {
                    at = before_value(bytes, skip_space(bytes, at + 1), bracket)?;
                    continue 'value;
                }
                (Some(&bracket), Some(&b)) if b == close(bracket) => {
                    open.pop();
                    at += 1;
                }
                _ => return Err(fault(bytes, at, "expected `,` or the closing bracket")),
            }
        }
    }
}

fn close(open: u8) -> u8 {
    if open == b'{' { b'}' } else { b']' }
}

/// Reads what stands before a value inside `bracket`: a member's name, or nothing in an array.
fn before_value(bytes: &[u8], at: usize, bracket: u8) -> Result<usize, TextFault> {
    if bracket == b'{' {
        member_name(bytes, at)
    } else {
        Ok(at)
    }
}

fn scalar(bytes: &[u8], at: usize) -> Result<usize, TextFault> {
    match bytes.get(at) {
        Some(b'"') => string(bytes, at),
        Some(b'-' | b'0'..=b'9') => number(bytes, at),
        _ => literal(bytes, at),
    }
}

/// RFC 8259, 3: "The literal names MUST be lowercase. No other literal names are allowed."
fn literal(bytes: &[u8], at: usize) -> Result<usize, TextFault> {
    for word in ["true", "false", "null"] {
        if bytes[at..].starts_with(word.as_bytes()) {
            return Ok(at + word.len());
        }
    }
    Err(fault(bytes, at, "expected a value"))
}

fn member_name(bytes: &[u8], at: usize) -> Result<usize, TextFault> {
    if bytes.get(at) != Some(&b'"') {
        return Err(fault(bytes, at, "expected a member name in quotes"));
    }
    let colon = skip_space(bytes, string(bytes, at)?);
    if bytes.get(colon) != Some(&b':') {
        return Err(fault(bytes, colon, "expected `:` after a member name"));
    }
    Ok(skip_space(bytes, colon + 1))
}

fn string(bytes: &[u8], start: usize) -> Result<usize, TextFault> {
    let mut at = start + 1;
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = behind_escape(bytes, at)?,
            // RFC 8259, 7: "the control characters (U+0000 through U+001F)" must be escaped.
            Some(0..=0x1f) => return Err(fault(bytes, at, "control character in a string")),
            Some(_) => at += 1,
            None => return Err(fault(bytes, bytes.len(), "")),
        }
    }
}

fn behind_escape(bytes: &[u8], backslash: usize) -> Result<usize, TextFault> {
    match bytes.get(backslash + 1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => return Ok(backslash + 2),
        Some(b'u') => {
            let end = backslash + 6;
            let digits = bytes.get(backslash + 2..end).unwrap_or_default();
            if digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit) {
                return Ok(end);
            }
        }
        _ => {}
    }
    Err(fault(bytes, backslash, "broken escape in a string"))
}

/// RFC 8259, 6: `number = [ minus ] int [ frac ] [ exp ]`, and "Leading zeros are not allowed."
fn number(bytes: &[u8], start: usize) -> Result<usize, TextFault> {
    let not_a_number = || fault(bytes, start, "not a number");

    let whole = start + usize::from(bytes[start] == b'-');
    let mut at = behind_digits(bytes, whole);
    let leading_zero = at - whole > 1 && bytes[whole] == b'0';
    if at == whole || leading_zero {
        return Err(not_a_number());
    }

    if bytes.get(at) == Some(&b'.') {
        let fraction = at + 1;
        at = behind_digits(bytes, fraction);
        if at == fraction {
            return Err(not_a_number());
        }
    }

    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let has_sign = matches!(bytes.get(at + 1), Some(b'+' | b'-'));
        let exponent = at + 1 + usize::from(has_sign);
        at = behind_digits(bytes, exponent);
        if at == exponent {
            return Err(not_a_number());
        }
    }
    Ok(at)
}

fn behind_digits(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..]
        .iter()
        .take_while(|b| b.is_ascii_digit())
        .count()
}

/// The fault; at the end of the text it is always that there is no more of it.
fn fault(bytes: &[u8], at: usize, what: &str) -> TextFault {
    if at >= bytes.len() {
        TextFault::new(bytes.len(), "the document is cut short")
    } else {
        TextFault::new(at, what)
    }
}
