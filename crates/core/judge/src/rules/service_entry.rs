//! Rules of ServiceEntries, for `analyze`.

use super::Rule;

mod host_in_two_entries;

/// Where a host and port can be seen: a namespace, or `*`.
pub(in crate::rules) type Key<'m> = (&'m str, &'m str, u16);

pub(super) static RULES: &[&Rule] = &[&host_in_two_entries::RULE];
