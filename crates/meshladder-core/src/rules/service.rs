//! Rules of Services, for `analyze`.

use super::Rule;

mod external_name_port_takes_all;
mod named;
mod port_name_says_no_protocol;

pub(super) static RULES: &[&Rule] = &[&port_name_says_no_protocol::RULE, &external_name_port_takes_all::RULE];
