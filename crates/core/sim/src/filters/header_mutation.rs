//! `envoy.filters.http.header_mutation`: headers that later filters see changed.

use std::borrow::Cow;

use super::{FilterVerdict, PerRoute};
use crate::RequestState;
use crate::matcher::unmodelled;
use crate::mutation::Mutation;
use meshladder_text::json::Raw;

/// The compiled request mutations of a `HeaderMutation`.
#[derive(Debug)]
pub(super) struct HeaderMutation(Vec<Mutation>);

impl HeaderMutation {
    pub(super) fn compile(raw: Raw<'_>) -> Self {
        let Some(mutations) = raw.get("mutations") else {
            return Self(Vec::new());
        };
        Self(
            mutations
                .list("request_mutations")
                .filter_map(mutation)
                .collect(),
        )
    }

    /// Changes the request, as the filter is configured and then as the route has it.
    pub(super) fn evaluate(
        &self,
        own: Option<&PerRoute>,
        state: &mut RequestState<'_>,
    ) -> FilterVerdict {
        let own = match own {
            Some(PerRoute::HeaderMutation(own)) => &own.0[..],
            _ => &[],
        };
        // A route adds to what the filter does, it does not take its place.
        for mutation in self.0.iter().chain(own) {
            if let Some((_, fact)) = mutation.apply(state) {
                return FilterVerdict::Undecided(fact.into());
            }
        }
        FilterVerdict::Passed("it only changes headers".into())
    }
}

/// One `HeaderMutation`; none when it does nothing.
fn mutation(raw: Raw<'_>) -> Option<Mutation> {
    if let Some(name) = raw.string_at("remove") {
        return Some(Mutation::remove(&name));
    }
    if let Some(option) = raw.get("append") {
        return Mutation::option(option);
    }

    let kind = match raw.members().next() {
        Some((key, _)) => key,
        None => Cow::default(),
    };
    Some(Mutation::Other {
        name: Box::default(),
        fact: unmodelled(&format!("a header mutation's `{kind}`")),
    })
}
