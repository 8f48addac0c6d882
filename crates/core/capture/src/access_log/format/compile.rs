//! From a format string to literals and fields.

use std::sync::OnceLock;

use super::{JsonFormat, JsonKey, JsonValue, Slot, TextFormat};
use crate::access_log::clock::TimeFormat;
use crate::access_log::field::{FieldShape, LogField, of_operator};
use meshladder_text::json::{Raw, ValueKind, check};

/// Text: "command operators are used to extract values … `%%` is a percent sign".
pub(super) fn text(format: &str) -> Result<TextFormat, String> {
    let mut compiled = TextFormat {
        lead: String::new(),
        slots: Vec::new(),
        strict: OnceLock::new(),
        loose: OnceLock::new(),
    };
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        literal(&mut compiled, &rest[..at]);
        let body = &rest[at + 1..];
        if let Some(after) = body.strip_prefix('%') {
            literal(&mut compiled, "%");
            rest = after;
            continue;
        }
        let Some(end) = operator_end(body) else {
            return Err(format!("the operator at `%{}` has no end", head(body)));
        };
        compiled.slots.push(slot(&body[..end])?);
        rest = &body[end + 1..];
    }
    literal(&mut compiled, rest);
    Ok(compiled)
}

fn literal(compiled: &mut TextFormat, text: &str) {
    match compiled.slots.last_mut() {
        Some(slot) => slot.then.push_str(text),
        None => compiled.lead.push_str(text),
    }
}

/// The closing percent sign: those in parentheses are of a time's format.
fn operator_end(body: &str) -> Option<usize> {
    let open = body.find(['(', '%'])?;
    if body.as_bytes()[open] == b'%' {
        return Some(open);
    }
    // A header's name holds no parenthesis, and a time's format hardly one.
    let close = open + body[open..].find(')')?;
    Some(close + body[close..].find('%')?)
}

fn slot(operator: &str) -> Result<Slot, String> {
    let name = operator.split(['(', ':']).next().unwrap_or_default();
    if !is_operator_name(name) {
        return Err(format!("`%{}%` is no command operator", head(operator)));
    }
    let argument = argument(operator);
    let (field, mut class) = of_operator(name, argument);

    let mut clock = None;
    if field == Some(LogField::Start) && !argument.is_empty() {
        clock = Some(TimeFormat::new(argument));
        // A time has blanks only where its format has them.
        if !argument.contains([' ', '"']) {
            class = FieldShape::Name;
        }
    }

    // A length (`%RESPONSE_CODE_DETAILS%:20`) cuts a value anywhere, even inside its brackets.
    let behind = operator.rsplit_once(')').map_or(operator, |(_, rest)| rest);
    if behind.contains(':') && class == FieldShape::Details {
        class = FieldShape::Word;
    }

    Ok(Slot {
        field,
        operator: operator.to_owned(),
        class,
        clock,
        then: String::new(),
    })
}

fn is_operator_name(name: &str) -> bool {
    let is_of_name = |b: u8| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_';
    !name.is_empty() && name.bytes().all(is_of_name)
}

/// What stands in the operator's parentheses.
fn argument(operator: &str) -> &str {
    let Some((_, rest)) = operator.split_once('(') else {
        return "";
    };
    rest.rsplit_once(')').map_or("", |(inner, _)| inner)
}

fn head(text: &str) -> String {
    text.chars().take(20).collect()
}

/// "A JSON object … values are format strings", numbers and booleans are constants.
pub(super) fn json(text: &str) -> Result<JsonFormat, String> {
    if let Err(fault) = check(text) {
        return Err(format!(
            "the format is no JSON object: {} at byte {}",
            fault.what, fault.at
        ));
    }
    let raw = Raw::of(text).map_err(|fault| fault.what)?;
    let format = object(raw)?;
    if format.keys.is_empty() {
        return Err("the format has no command operator such as %RESPONSE_CODE%".to_owned());
    }
    Ok(format)
}

fn object(raw: Raw<'_>) -> Result<JsonFormat, String> {
    let mut keys = Vec::new();
    for (key, value) in raw.members() {
        let value = match value.kind() {
            ValueKind::Object => JsonValue::Object(object(value)?),
            ValueKind::String => match value_of(text(&value.string().unwrap_or_default())?) {
                Some(value) => value,
                None => continue,
            },
            // A constant, or a list, tells nothing of the request.
            ValueKind::Array | ValueKind::Scalar => continue,
        };
        keys.push(JsonKey {
            key: key.into_owned(),
            value,
        });
    }
    // Envoy writes the members of an object in this order, and reading counts on it.
    keys.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(JsonFormat { keys })
}

/// None for a constant.
fn value_of(mut format: TextFormat) -> Option<JsonValue> {
    if format.slots.is_empty() {
        return None;
    }
    let is_bare = format.lead.is_empty() && format.slots[0].then.is_empty();
    if format.slots.len() > 1 || !is_bare {
        return Some(JsonValue::Text(Box::new(format)));
    }
    let slot = format.slots.remove(0);
    Some(match slot.field {
        Some(field) => JsonValue::Field(field, slot.clock),
        None => JsonValue::Other,
    })
}
