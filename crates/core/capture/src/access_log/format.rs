//! A format string, compiled: "a plain string … with command operators", or a JSON object of them.

use std::sync::OnceLock;

use regex::Regex;

use super::clock::TimeFormat;
use super::field::{FieldShape, LogField};

mod compile;
mod matching;

/// How one proxy writes its lines.
#[derive(Clone, Debug)]
pub enum LogFormat {
    /// Text.
    Text(TextFormat),
    /// A JSON object a line.
    Json(JsonFormat),
}

/// Literals and fields in turn.
#[derive(Clone, Debug)]
pub struct TextFormat {
    /// What stands before the first field.
    lead: String,
    slots: Vec<Slot>,
    /// The slow way, for lines in which a value holds what also stands between fields.
    strict: OnceLock<Option<Regex>>,
    /// The slowest, for when a route has a name with blanks.
    loose: OnceLock<Option<Regex>>,
}

/// A field and the literal behind it.
#[derive(Clone, Debug)]
struct Slot {
    /// What it holds, when that is known.
    field: Option<LogField>,
    /// The operator as written.
    operator: String,
    class: FieldShape,
    /// How the time is written, when not as Envoy does it by itself.
    clock: Option<TimeFormat>,
    then: String,
}

/// The keys and what each is written from.
#[derive(Clone, Debug)]
pub struct JsonFormat {
    /// Sorted by key, as Envoy writes them.
    pub(super) keys: Vec<JsonKey>,
}

/// One member of the object.
#[derive(Clone, Debug)]
pub(super) struct JsonKey {
    pub(super) key: String,
    pub(super) value: JsonValue,
}

#[derive(Clone, Debug)]
pub(super) enum JsonValue {
    /// One operator.
    Field(LogField, Option<TimeFormat>),
    /// An operator whose meaning is not known.
    Other,
    /// Text with several operators.
    Text(Box<TextFormat>),
    /// An object in it.
    Object(JsonFormat),
}

impl LogFormat {
    /// Compiles a format: text, or a JSON object whose values are text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn compile(text: &str) -> Result<Self, String> {
        if text.trim_start().starts_with('{') {
            return compile::json(text.trim()).map(Self::Json);
        }
        let format = compile::text(text.trim_end_matches(['\n', '\r']))?;
        if format.slots.is_empty() {
            return Err("the format has no command operator such as %RESPONSE_CODE%".to_owned());
        }
        Ok(Self::Text(format))
    }
}
