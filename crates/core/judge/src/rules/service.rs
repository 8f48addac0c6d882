//! Rules of Services, for `analyze`.

use super::Rule;

mod app_protocol_unknown;
mod external_name_port_takes_all;
mod named;
mod port_name_says_no_protocol;

pub(super) static RULES: &[&Rule] = &[
    &port_name_says_no_protocol::RULE,
    &external_name_port_takes_all::RULE,
    &app_protocol_unknown::RULE,
];
