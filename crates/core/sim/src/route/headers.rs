//! How a route changes the headers of what it forwards.

use super::{RouteBranch, RouteDecision};
use crate::RequestState;
use crate::mutation::Mutation;
use meshladder_text::json::Raw;

/// `request_headers_to_add` and `request_headers_to_remove` of one message.
#[derive(Clone, Debug, Default)]
pub(super) struct HeaderChanges {
    remove: Vec<Mutation>,
    add: Vec<Mutation>,
}

impl HeaderChanges {
    /// Takes in a member of a message; false when it is neither of the two.
    pub(super) fn read(&mut self, key: &str, value: Raw<'_>) -> bool {
        match key {
            "request_headers_to_add" => {
                self.add = value.elements().filter_map(Mutation::option).collect()
            }
            "request_headers_to_remove" => {
                self.remove = value
                    .elements()
                    .filter_map(Raw::string)
                    .map(|name| Mutation::remove(&name))
                    .collect();
            }
            _ => return false,
        }
        true
    }
}

impl<'a> RouteDecision<'_, 'a> {
    /// Whether [`Self::change_headers`] may do anything.
    pub fn changes_headers(&self, branch: &RouteBranch<'_, 'a>) -> bool {
        let levels = [
            &self.route.headers,
            &self.virtual_host.headers,
            &self.table.headers,
        ];
        let all = branch
            .entry
            .map(|entry| &entry.headers)
            .into_iter()
            .chain(levels);
        all.into_iter()
            .any(|changes| !changes.remove.is_empty() || !changes.add.is_empty())
    }

    /// Changes the headers as they are forwarded to a branch of the target. Gives the headers whose
    /// new value cannot be told, each with the fact that is missing.
    pub fn change_headers(
        &self,
        branch: &RouteBranch<'_, 'a>,
        state: &mut RequestState<'_>,
    ) -> Vec<(Box<str>, Box<str>)> {
        let mut levels = [
            &self.route.headers,
            &self.virtual_host.headers,
            &self.table.headers,
        ];
        // "Headers are appended in the following order: weighted cluster, route, virtual host,
        // route configuration", so that the last one overwrites the others, unless the most
        // specific one shall win.
        if self.table.most_specific_header_mutations_wins {
            levels.reverse();
        }
        let mut unknown = Vec::new();
        for changes in branch
            .entry
            .map(|entry| &entry.headers)
            .into_iter()
            .chain(levels)
        {
            // "Removing headers first makes remove-before-add the default behavior as expected by
            // users."
            for mutation in changes.remove.iter().chain(&changes.add) {
                if let Some((name, fact)) = mutation.apply(state) {
                    unknown.push((name.into(), fact.into()));
                }
            }
        }
        unknown
    }
}
