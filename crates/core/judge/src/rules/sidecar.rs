//! Rules of Sidecars, for `analyze`.

use super::Rule;

mod egress_proxy_deprecated;
mod outbound_mode_left_out;
mod root_sidecar_with_selector;
mod selection;
mod sidecar_imports_unknown_host;
mod sidecar_in_ambient;
mod sidecar_selects_no_pod;
mod sidecars_share_a_pod;
mod two_default_sidecars;

pub(super) static RULES: &[&Rule] = &[
    &sidecar_selects_no_pod::RULE,
    &sidecars_share_a_pod::RULE,
    &two_default_sidecars::RULE,
    &sidecar_in_ambient::RULE,
    &egress_proxy_deprecated::RULE,
    &sidecar_imports_unknown_host::RULE,
    &root_sidecar_with_selector::RULE,
    &outbound_mode_left_out::RULE,
];
