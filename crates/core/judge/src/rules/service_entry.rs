//! Rules of ServiceEntries, for `analyze`.

use super::Rule;

mod entry_has_services_name;
mod host_in_two_entries;
mod hosts_disagree_on_protocol;
mod tcp_entry_without_address;

/// Where a host and port can be seen: a namespace, or `*`.
type Key<'m> = (&'m str, &'m str, u16);

pub(super) static RULES: &[&Rule] = &[
    &tcp_entry_without_address::RULE,
    &hosts_disagree_on_protocol::RULE,
    &entry_has_services_name::RULE,
    &host_in_two_entries::RULE,
];
