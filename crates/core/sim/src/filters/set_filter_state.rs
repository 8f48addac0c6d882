//! `envoy.filters.http.set_filter_state`: values that later filters look at.

use super::FilterVerdict;
use crate::{Request, RequestState};
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
        let values = raw.list("on_request_headers").map(|value| {
            let key = value.string_at("object_key").unwrap_or_default();
            let format = value
                .at(["format_string", "text_format_source", "inline_string"])
                .and_then(Raw::string);
            let parts = format.and_then(|format| parts(&format));
            FilterStateObject {
                value: parts.ok_or_else(|| format!("the filter state {key}").into()),
                skip_if_empty: value.get("skip_if_empty").and_then(Raw::bool) == Some(true),
                omit_empty_values: value
                    .at(["format_string", "omit_empty_values"])
                    .and_then(Raw::bool)
                    == Some(true),
                key: key.into(),
            }
        });
        Self(values.collect())
    }

    pub(super) fn evaluate(&self, state: &mut RequestState<'_>) -> FilterVerdict {
        for object in &self.0 {
            let parts = match &object.value {
                Ok(parts) => parts,
                Err(fact) => return FilterVerdict::Undecided(fact.clone()),
            };
            let text: String = parts
                .iter()
                .map(|part| part.text(&state.request, object.absent()))
                .collect();
            if !(text.is_empty() && object.skip_if_empty) {
                state.filter_state.push((object.key.to_string(), text));
            }
        }
        FilterVerdict::Passed("it decides nothing".into())
    }
}

impl FilterStateObject {
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
        if name.contains('?') {
            return None;
        }
        parts.push(FormatPart::Header(name.to_ascii_lowercase().into()));
        rest = behind;
    }
    parts.push(FormatPart::Text(rest.into()));
    Some(parts)
}
