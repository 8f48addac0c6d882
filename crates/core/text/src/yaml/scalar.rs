//! What a scalar stands for: the resolution of go-yaml v2 and the conversion to JSON that
//! Kubernetes does on top.

use std::borrow::Cow;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use granit_parser::{ScalarStyle, Tag};

use crate::tree::Value;

/// Where YAML's own tags live; `!!` is short for it.
const YAML: &str = "tag:yaml.org,2002:";

/// The value of a scalar, and what is wrong with it.
pub(super) fn value(
    text: Cow<'_, str>,
    style: ScalarStyle,
    tag: Option<&Tag>,
) -> (Value, Option<String>) {
    let Some(tag) = tag else {
        return if style == ScalarStyle::Plain {
            plain(text)
        } else {
            (Value::String(text.into()), None)
        };
    };
    match tag.suffix_in_namespace(YAML).as_deref() {
        Some("binary") => binary(text),
        Some(name @ ("null" | "bool" | "int" | "float")) => tagged(text, name),
        // go-yaml keeps the text of a scalar with a tag that it does not know, even if it looks
        // like a number.
        _ => (Value::String(text.into()), None),
    }
}

/// Whether a key is the `<<` that merges other mappings into its own.
pub(super) fn is_merge(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> bool {
    if text != "<<" {
        return false;
    }
    let Some(tag) = tag else {
        return style == ScalarStyle::Plain;
    };
    // To go-yaml a lone `!` makes any scalar a string, but a `<<` no less a merge key.
    tag.parts() == ("", "!") || tag.suffix_in_namespace(YAML).as_deref() == Some("merge")
}

/// The name a value has as a key; none when it is a list or a mapping, which cannot be one.
pub(super) fn key(value: Value) -> Option<Arc<str>> {
    match value {
        Value::Null => Some("null".into()),
        Value::Bool(value) => Some(if value { "true".into() } else { "false".into() }),
        Value::Number(text) => Some(number_key(text)),
        Value::String(text) => Some(text),
        Value::Array(_) | Value::Object(_) => None,
    }
}

fn plain(text: Cow<'_, str>) -> (Value, Option<String>) {
    match resolve(&text) {
        Resolution::Text => (Value::String(text.into()), None),
        Resolution::Value(value) => (value, None),
        Resolution::NotFinite => {
            let problem = format!("`{text}` cannot be written as JSON");
            (Value::String(text.into()), Some(problem))
        }
    }
}

fn tagged(text: Cow<'_, str>, tag: &str) -> (Value, Option<String>) {
    let (value, problem) = plain(Cow::Borrowed(&text));
    let fits = match &value {
        Value::Null => tag == "null",
        Value::Bool(_) => tag == "bool",
        Value::Number(_) => {
            tag == "float" || tag == "int" && integer(&without_underscores(&text)).is_some()
        }
        _ => tag == "float" && problem.is_some(),
    };
    if fits {
        return (value, problem);
    }
    let problem = format!("`{text}` is not a !!{tag}");
    (Value::String(text.into()), Some(problem))
}

fn binary(text: Cow<'_, str>) -> (Value, Option<String>) {
    match STANDARD.decode(text.replace(['\r', '\n'], "")) {
        // Go's JSON encoder, too, puts U+FFFD where the bytes are not UTF-8.
        Ok(bytes) => (Value::String(String::from_utf8_lossy(&bytes).into()), None),
        Err(_) => (
            Value::String(text.into()),
            Some("!!binary value is not base64".to_owned()),
        ),
    }
}

enum Resolution {
    Text,
    Value(Value),
    /// Infinite or not a number: go-yaml reads it, but JSON has no such thing.
    NotFinite,
}

/// Timestamps need no case of their own: go-yaml recognises them and then keeps their text.
fn resolve(text: &str) -> Resolution {
    match text.as_bytes().first() {
        None => Resolution::Value(Value::Null),
        Some(b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~') => {
            word(text)
        }
        Some(b'0'..=b'9' | b'+' | b'-' | b'.') => number(text),
        Some(_) => Resolution::Text,
    }
}

fn word(text: &str) -> Resolution {
    Resolution::Value(match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Value::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Value::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Value::Null,
        _ => return Resolution::Text,
    })
}

fn number(text: &str) -> Resolution {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Resolution::NotFinite;
    }
    // go-yaml drops underscores wherever they stand, but leaves `.5_0` to Go, which wants digits on
    // both sides.
    if text.starts_with('.') && !has_underscores_between_digits(text) {
        return Resolution::Text;
    }
    let digits = without_underscores(text);
    match integer(&digits).or_else(|| float(&digits)) {
        Some(number) => Resolution::Value(Value::Number(number)),
        None => Resolution::Text,
    }
}

fn has_underscores_between_digits(text: &str) -> bool {
    let bytes = text.as_bytes();
    for (at, _) in text.match_indices('_') {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let behind = bytes.get(at + 1);
        if !before.is_some_and(u8::is_ascii_digit) || !behind.is_some_and(u8::is_ascii_digit) {
            return false;
        }
    }
    true
}

/// What Go's `strconv.ParseInt` and `ParseUint` with base 0 accept: a sign, `0x`, `0o`, `0b`, and
/// `0` for octal.
fn integer(text: &str) -> Option<Arc<str>> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("+", &text[1..]),
        _ => ("", text),
    };
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let value = u64::from_str_radix(digits, radix).ok()?;
    // With a sign it has to fit a signed integer; go-yaml tries a float for what does not.
    let most = match sign {
        "" => u64::MAX,
        "+" => i64::MAX.unsigned_abs(),
        _ => i64::MIN.unsigned_abs(),
    };
    if value > most {
        return None;
    }
    Some(match sign {
        "" if radix == 10 => text.into(),
        "-" if value > 0 => format!("-{value}").into(),
        _ => value.to_string().into(),
    })
}

/// go-yaml's `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`, in the notation of JSON.
fn float(text: &str) -> Option<Arc<str>> {
    let (minus, unsigned) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        _ => ("", text),
    };
    let mantissa_end = unsigned.find(['e', 'E']).unwrap_or(unsigned.len());
    let (mantissa, exponent) = unsigned.split_at(mantissa_end);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if !is_digits(whole) || !is_digits(fraction) || whole.len() + fraction.len() == 0 {
        return None;
    }
    // Rust's own parser sees to the exponent, and to numbers that are out of range: Go calls those
    // strings.
    if !text.parse::<f64>().ok()?.is_finite() {
        return None;
    }
    // JSON wants a digit before the point, and no zeros before others.
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let point = if fraction.is_empty() { "" } else { "." };
    Some(format!("{minus}{whole}{point}{fraction}{exponent}").into())
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit())
}

fn without_underscores(text: &str) -> Cow<'_, str> {
    if text.contains('_') {
        Cow::Owned(text.replace('_', ""))
    } else {
        Cow::Borrowed(text)
    }
}

/// Kubernetes writes a key that is a float with Go's `FormatFloat(key, 'g', -1, 32)`: `1.10`
/// becomes `1.1`.
fn number_key(text: Arc<str>) -> Arc<str> {
    if text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok() {
        return text;
    }
    let Ok(value) = text.parse::<f32>() else {
        return text;
    };
    // Single precision overflows where the value itself did not.
    if value.is_infinite() {
        return if value > 0.0 { ".inf" } else { "-.inf" }.into();
    }
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else {
        return text;
    };
    // Go's `strconv`: "%e is used if the exponent from the conversion is less than -4 or greater
    // than or equal to the precision. if precision was the shortest possible, use precision 6 for
    // this decision".
    match exponent.parse::<i32>() {
        Ok(-4..6) => value.to_string().into(),
        Ok(exponent) if exponent < 0 => format!("{digits}e-{:02}", -exponent).into(),
        Ok(exponent) => format!("{digits}e+{exponent:02}").into(),
        Err(_) => text,
    }
}
