//! `envoy.filters.http.header_mutation`: headers that later filters see changed.

use super::{PerRoute, Verdict};
use crate::doc::json::Raw;
use crate::sim::State;

/// The compiled request mutations of a `HeaderMutation`.
#[derive(Debug)]
pub(super) struct HeaderMutation(Vec<Mutation>);

#[derive(Debug)]
enum Mutation {
    Remove(Box<str>),
    Append {
        name: Box<str>,
        value: Box<str>,
        action: AppendAction,
    },
    /// What it does is not modelled.
    Other(Box<str>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AppendAction {
    AppendIfExistsOrAdd,
    AddIfAbsent,
    OverwriteIfExistsOrAdd,
    OverwriteIfExists,
}

impl HeaderMutation {
    pub(super) fn compile(raw: Raw<'_>) -> Self {
        let mutations = raw.get("mutations").into_iter().flat_map(|mutations| mutations.list("request_mutations"));
        Self(mutations.map(Mutation::compile).collect())
    }

    /// Changes the request, as the filter is configured and then as the route has it.
    pub(super) fn evaluate(&self, own: Option<&PerRoute>, state: &mut State<'_>) -> Verdict {
        let own = if let Some(PerRoute::HeaderMutation(own)) = own { own.0.as_slice() } else { &[] };
        for mutation in self.0.iter().chain(own) {
            if let Some(fact) = mutation.apply(state) {
                return Verdict::Undecided(fact.into());
            }
        }
        Verdict::Passed("it only changes headers".into())
    }
}

impl Mutation {
    fn compile(raw: Raw<'_>) -> Self {
        if let Some(name) = raw.string_at("remove") {
            return Self::Remove(name.to_ascii_lowercase().into());
        }
        let header = raw.at(["append", "header"]);
        let name = header.and_then(|header| header.string_at("key")).unwrap_or_default().to_ascii_lowercase();
        let value = header.and_then(|header| header.string_at("value")).unwrap_or_default();
        if header.is_none() || value.contains('%') {
            return Self::Other(format!("the value that a filter gives the header {name}").into());
        }
        let action = match raw.at(["append", "append_action"]).and_then(Raw::string).as_deref() {
            Some("ADD_IF_ABSENT") => AppendAction::AddIfAbsent,
            Some("OVERWRITE_IF_EXISTS_OR_ADD") => AppendAction::OverwriteIfExistsOrAdd,
            Some("OVERWRITE_IF_EXISTS") => AppendAction::OverwriteIfExists,
            _ => AppendAction::AppendIfExistsOrAdd,
        };
        Self::Append { name: name.into(), value: value.into(), action }
    }

    /// Applies it; gives the missing fact when that is not possible.
    fn apply<'m>(&'m self, state: &mut State<'_>) -> Option<&'m str> {
        match self {
            Self::Remove(name) => state.remove_header(name),
            Self::Other(fact) => return Some(fact),
            Self::Append { name, value, action } => {
                let exists = state.request.values(name).next().is_some();
                if matches!(action, AppendAction::OverwriteIfExists | AppendAction::OverwriteIfExistsOrAdd) {
                    state.remove_header(name);
                }
                let adds = match action {
                    AppendAction::AppendIfExistsOrAdd | AppendAction::OverwriteIfExistsOrAdd => true,
                    AppendAction::AddIfAbsent => !exists,
                    AppendAction::OverwriteIfExists => exists,
                };
                if adds {
                    state.add_header(name, value.to_string());
                }
            }
        }
        None
    }
}
