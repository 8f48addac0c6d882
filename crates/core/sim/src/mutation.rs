//! Changes to request headers, as routes and filters write them down.

use super::{RequestState, message};
use meshladder_text::json::Raw;

/// One change.
#[derive(Clone, Debug)]
pub(crate) enum Mutation {
    /// Takes a header away.
    Remove(Box<str>),
    /// Sets or adds a value.
    Append {
        name: Box<str>,
        value: Box<str>,
        action: AppendAction,
    },
    /// What it does is not modelled: the header, and the fact that is missing.
    Other { name: Box<str>, fact: Box<str> },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AppendAction {
    AppendIfExistsOrAdd,
    AddIfAbsent,
    OverwriteIfExistsOrAdd,
    OverwriteIfExists,
}

impl Mutation {
    /// Takes a header away.
    pub(crate) fn remove(name: &str) -> Self {
        Self::Remove(name.to_ascii_lowercase().into())
    }

    /// Compiles a `config.core.v3.HeaderValueOption`; none when it does nothing.
    pub(crate) fn option(raw: Raw<'_>) -> Option<Self> {
        let header = raw.get("header")?;
        let name = message::header_name(header, "key");
        let value = message::text(header, "value");
        // "keep_empty_value: … custom headers with empty values … will be dropped by default".
        if value.is_empty() && !message::flag(raw, "keep_empty_value") {
            return None;
        }

        // `%%` is a percent sign, anything else between two of them a format.
        let literal = value.replace("%%", "\0");
        if literal.contains('%') {
            let fact = format!("the value `{value}` of the header {name}").into();
            return Some(Self::Other { name, fact });
        }
        Some(Self::Append {
            name,
            value: literal.replace('\0', "%").into(),
            action: AppendAction::compile(raw),
        })
    }

    /// Applies it; gives the header and the missing fact when that is not possible.
    pub(crate) fn apply<'m>(&'m self, state: &mut RequestState<'_>) -> Option<(&'m str, &'m str)> {
        match self {
            Self::Remove(name) => state.remove_header(name),
            Self::Other { name, fact } => return Some((name, fact)),
            Self::Append {
                name,
                value,
                action,
            } => action.apply(name, value, state),
        }
        None
    }
}

impl AppendAction {
    fn compile(raw: Raw<'_>) -> Self {
        match raw.string_at("append_action").as_deref() {
            Some("ADD_IF_ABSENT") => Self::AddIfAbsent,
            Some("OVERWRITE_IF_EXISTS_OR_ADD") => Self::OverwriteIfExistsOrAdd,
            Some("OVERWRITE_IF_EXISTS") => Self::OverwriteIfExists,
            // The deprecated `append`, of which `false` overwrites.
            None if message::optional_flag(raw, "append") == Some(false) => {
                Self::OverwriteIfExistsOrAdd
            }
            _ => Self::AppendIfExistsOrAdd,
        }
    }

    fn apply(self, name: &str, value: &str, state: &mut RequestState<'_>) {
        let exists = state.request.values(name).next().is_some();
        match self {
            // "If the header already exists then this will be a no-op."
            Self::AddIfAbsent if exists => return,
            // "If the header doesn't exist then this will be no-op."
            Self::OverwriteIfExists if !exists => return,
            Self::OverwriteIfExists | Self::OverwriteIfExistsOrAdd => state.remove_header(name),
            Self::AppendIfExistsOrAdd | Self::AddIfAbsent => {}
        }
        state.add_header(name, value.to_owned());
    }
}
