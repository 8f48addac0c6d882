//! Rules of Services and ServiceEntries, for `analyze`.

use super::Rule;

mod app_protocol_unknown;
mod external_name_port_takes_all;
mod host_in_two_entries;
mod named;
mod port_name_says_no_protocol;

/// Where a host and port can be seen: a namespace, or `*`.
pub(in crate::rules) type Key<'m> = (&'m str, &'m str, u16);

pub(super) static RULES: &[&Rule] = &[
    &port_name_says_no_protocol::RULE,
    &external_name_port_takes_all::RULE,
    &app_protocol_unknown::RULE,
    &host_in_two_entries::RULE,
];
