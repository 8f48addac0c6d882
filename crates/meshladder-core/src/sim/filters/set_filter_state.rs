//! `envoy.filters.http.set_filter_state`: values that later filters look at.

use super::Verdict;
use crate::doc::json::Raw;
use crate::sim::{Request, State};

/// A compiled `Config`.
#[derive(Debug)]
pub(super) struct SetFilterState(Vec<(Box<str>, Result<Vec<Part>, Box<str>>, bool)>);

/// A piece of a format string.
#[derive(Debug)]
enum Part {
    Text(Box<str>),
    Header(Box<str>),
}

impl SetFilterState {
    pub(super) fn compile(raw: Raw<'_>) -> Self {
        let values = raw.list("on_request_headers").map(|value| {
            let key = value.string_at("object_key").unwrap_or_default();
            let format = value.at(["format_string", "text_format_source", "inline_string"]).and_then(Raw::string);
            let parts = format.and_then(|format| parts(&format));
            let skips_empty = value.get("skip_if_empty").and_then(Raw::bool) == Some(true);
            (Box::from(&*key), parts.ok_or_else(|| format!("the filter state {key}").into()), skips_empty)
        });
        Self(values.collect())
    }

    pub(super) fn evaluate(&self, state: &mut State<'_>) -> Verdict {
        for (key, parts, skips_empty) in &self.0 {
            let parts = match parts {
                Ok(parts) => parts,
                Err(fact) => return Verdict::Undecided(fact.clone()),
            };
            let text: String = parts.iter().map(|part| part.text(&state.request)).collect();
            if !(text.is_empty() && *skips_empty) {
                state.filter_state.push((key.to_string(), text));
            }
        }
        Verdict::Passed("it decides nothing".into())
    }
}

impl Part {
    fn text<'t>(&'t self, request: &'t Request) -> &'t str {
        match self {
            Self::Text(text) => text,
            // "If there is no such header, the value is '-'"
            Self::Header(name) => request.values(name).next().unwrap_or("-"),
        }
    }
}

/// Plain text and `%REQ(NAME)%`; none for any other format.
fn parts(format: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = format;
    while let Some((text, behind)) = rest.split_once('%') {
        parts.push(Part::Text(text.into()));
        let (name, behind) = behind.strip_prefix("REQ(")?.split_once(")%")?;
        if name.contains('?') {
            return None;
        }
        parts.push(Part::Header(name.to_ascii_lowercase().into()));
        rest = behind;
    }
    parts.push(Part::Text(rest.into()));
    Some(parts)
}
