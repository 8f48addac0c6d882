//! Fields of a protobuf message as a dump writes it.
//!
//! "JSON output by default omits fields with default values", so a field that is not there has the
//! default of its type.

use std::borrow::Cow;

use meshladder_text::json::Raw;

/// A `bool`; false when it is not there.
pub(crate) fn flag(message: Raw<'_>, field: &str) -> bool {
    optional_flag(message, field) == Some(true)
}

/// A `google.protobuf.BoolValue`, or a `bool` whose absence means something else than false.
pub(crate) fn optional_flag(message: Raw<'_>, field: &str) -> Option<bool> {
    message.get(field)?.bool()
}

/// An unsigned number; zero when it is not there.
pub(crate) fn number(message: Raw<'_>, field: &str) -> u64 {
    optional_number(message, field).unwrap_or(0)
}

/// A `google.protobuf.UInt32Value`, or a number whose absence means something else than zero.
pub(crate) fn optional_number(message: Raw<'_>, field: &str) -> Option<u64> {
    message.get(field)?.number()
}

/// A `string`; empty when it is not there.
pub(crate) fn text<'a>(message: Raw<'a>, field: &str) -> Cow<'a, str> {
    message.string_at(field).unwrap_or_default()
}

/// A `repeated string`.
pub(crate) fn texts<'a>(message: Raw<'a>, field: &str) -> Vec<Cow<'a, str>> {
    message.list(field).filter_map(Raw::string).collect()
}

/// The name of a header. Envoy keeps header names in lower case.
pub(crate) fn header_name(message: Raw<'_>, field: &str) -> Box<str> {
    text(message, field).to_ascii_lowercase().into()
}
