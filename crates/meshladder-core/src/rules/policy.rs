//! Rules of policies, for `analyze`.

use super::Rule;

mod jwks_fetch_unrestricted;
mod plain_text_in_a_strict_mesh;
mod policy_for_nobody;
mod policy_names_unknown_namespace;
mod policy_selects_gateway_pod;

pub(super) static RULES: &[&Rule] = &[
    &policy_for_nobody::RULE,
    &policy_names_unknown_namespace::RULE,
    &policy_selects_gateway_pod::RULE,
    &jwks_fetch_unrestricted::RULE,
    &plain_text_in_a_strict_mesh::RULE,
];
