//! Rules of ServiceEntries, for `analyze`.

use super::Rule;

mod hosts_disagree_on_protocol;
mod tcp_entry_without_address;

pub(super) static RULES: &[&Rule] = &[&tcp_entry_without_address::RULE, &hosts_disagree_on_protocol::RULE];
