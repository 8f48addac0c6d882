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
                self.add = value.elements().filter_map(Mutation::option).collect();
            }
            "request_headers_to_remove" => {
                for name in value.elements().filter_map(Raw::string) {
                    self.remove.push(Mutation::remove(&name));
                }
            }
            _ => return false,
        }
        true
    }

    fn is_empty(&self) -> bool {
        self.remove.is_empty() && self.add.is_empty()
    }

    fn apply(&self, state: &mut RequestState<'_>, unknown: &mut Vec<(Box<str>, Box<str>)>) {
        // "Removing headers first makes remove-before-add the default behavior as expected by users."
        for mutation in self.remove.iter().chain(&self.add) {
            if let Some((name, fact)) = mutation.apply(state) {
                unknown.push((name.into(), fact.into()));
            }
        }
    }
}

impl<'a> RouteDecision<'_, 'a> {
    /// Whether [`Self::change_headers`] may do anything.
    pub fn changes_headers(&self, branch: &RouteBranch<'_, 'a>) -> bool {
        if let Some(entry) = branch.entry
            && !entry.headers.is_empty()
        {
            return true;
        }
        !(self.route.headers.is_empty()
            && self.virtual_host.headers.is_empty()
            && self.table.headers.is_empty())
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
        if let Some(entry) = branch.entry {
            entry.headers.apply(state, &mut unknown);
        }
        for changes in levels {
            changes.apply(state, &mut unknown);
        }
        unknown
    }
}
