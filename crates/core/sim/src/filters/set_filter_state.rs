//! `envoy.filters.http.set_filter_state`: values that later filters look at.

use super::FilterVerdict;
use crate::{Request, RequestState, message};
use meshladder_text::json::Raw;

/// A compiled `Config`.
#[derive(Debug)]
pub(super) struct SetFilterState(Vec<FilterStateObject>);

#[derive(Debug)]
struct FilterStateObject {
    key: Box<str>,
    /// Or the missing fact.
    value: Result<Vec<FormatPart>, Box<str>>,
    skip_if_empty: bool,
    omit_empty_values: bool,
}

/// A piece of a format string.
#[derive(Debug)]
enum FormatPart {
    Text(Box<str>),
    Header(Box<str>),
}

impl SetFilterState {
    pub(super) fn compile(raw: Raw<'_>) -> Self {
        let objects = raw.list("on_request_headers");
        Self(objects.map(FilterStateObject::compile).collect())
    }

    pub(super) fn evaluate(&self, state: &mut RequestState<'_>) -> FilterVerdict {
        for object in &self.0 {
            let text = match object.text(&state.request) {
                Ok(text) => text,
                Err(fact) => return FilterVerdict::Undecided(fact.into()),
            };
            // What is empty is then left as it was.
            if text.is_empty() && object.skip_if_empty {
                continue;
            }
            state.filter_state.push((object.key.to_string(), text));
        }
        FilterVerdict::Passed("it decides nothing".into())
    }
}

impl FilterStateObject {
    /// Compiles a `FilterStateValue`.
    fn compile(raw: Raw<'_>) -> Self {
        let key = message::text(raw, "object_key");
        let format = raw.at(["format_string", "text_format_source", "inline_string"]);
        let format = format.and_then(Raw::string);
        let omit_empty_values = raw.at(["format_string", "omit_empty_values"]);
        Self {
            value: match format.and_then(|format| parts(&format)) {
                Some(parts) => Ok(parts),
                None => Err(format!("the filter state {key}").into()),
            },
            skip_if_empty: message::flag(raw, "skip_if_empty"),
            omit_empty_values: omit_empty_values.and_then(Raw::bool) == Some(true),
            key: key.into(),
        }
    }

    /// Its value for a request, or the missing fact.
    fn text(&self, request: &Request) -> Result<String, &str> {
        let parts = match &self.value {
            Ok(parts) => parts,
            Err(fact) => return Err(fact),
        };
        let mut text = String::new();
        for part in parts {
            text.push_str(part.text(request, self.absent()));
        }
        Ok(text)
    }

    /// "`omit_empty_values`: whether to omit empty values; by default, an empty value is `-`".
    fn absent(&self) -> &'static str {
        if self.omit_empty_values { "" } else { "-" }
    }
}

impl FormatPart {
    fn text<'t>(&'t self, request: &'t Request, absent: &'static str) -> &'t str {
        match self {
            Self::Text(text) => text,
            Self::Header(name) => request.values(name).next().unwrap_or(absent),
        }
    }
}

/// Plain text and `%REQ(NAME)%`; none for any other format.
fn parts(format: &str) -> Option<Vec<FormatPart>> {
    let mut parts = Vec::new();
    let mut rest = format;
    while let Some((text, behind)) = rest.split_once('%') {
        parts.push(FormatPart::Text(text.into()));
        let (name, behind) = behind.strip_prefix("REQ(")?.split_once(")%")?;
        // `%REQ(X?Y)%` falls back to another header.
        if name.contains('?') {
            return None;
        }
        parts.push(FormatPart::Header(name.to_ascii_lowercase().into()));
        rest = behind;
    }
    parts.push(FormatPart::Text(rest.into()));
    Some(parts)
}
