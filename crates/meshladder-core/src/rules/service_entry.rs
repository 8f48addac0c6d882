//! Rules of ServiceEntries, for `analyze`.

use super::Rule;

mod entry_has_services_name;
mod hosts_disagree_on_protocol;
mod tcp_entry_without_address;

pub(super) static RULES: &[&Rule] =
    &[&tcp_entry_without_address::RULE, &hosts_disagree_on_protocol::RULE, &entry_has_services_name::RULE];
