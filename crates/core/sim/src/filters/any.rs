//! `google.protobuf.Any` as a dump writes it.

use std::borrow::Cow;

use meshladder_text::json::Raw;

/// A message and its type.
#[derive(Clone, Debug)]
pub struct TypedConfig<'a> {
    /// The message's name, without `type.googleapis.com/`.
    pub type_url: Cow<'a, str>,
    /// The message.
    pub value: Raw<'a>,
}

impl<'a> TypedConfig<'a> {
    /// Reads an `Any`; none when it has no type. A `TypedStruct` stands for what is in it.
    pub fn of(raw: Raw<'a>) -> Option<Self> {
        let type_url = message_name(raw.string_at("@type")?);
        if !type_url.ends_with(".TypedStruct") {
            return Some(Self {
                type_url,
                value: raw,
            });
        }
        Some(Self {
            type_url: message_name(raw.string_at("type_url")?),
            value: raw.get("value").unwrap_or(raw),
        })
    }
}

/// `envoy.extensions.filters.http.rbac.v3.RBAC` of a type's URL.
fn message_name(url: Cow<'_, str>) -> Cow<'_, str> {
    match url.rsplit_once('/') {
        Some((_, name)) => Cow::Owned(name.to_owned()),
        None => url,
    }
}
