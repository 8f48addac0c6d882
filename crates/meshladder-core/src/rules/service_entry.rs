//! Rules of ServiceEntries, for `analyze`.

use super::Rule;

mod host_in_two_entries;
mod hosts_disagree_on_protocol;
mod tcp_entry_without_address;
mod visible;

pub(super) static RULES: &[&Rule] =
    &[&tcp_entry_without_address::RULE, &hosts_disagree_on_protocol::RULE, &host_in_two_entries::RULE];
