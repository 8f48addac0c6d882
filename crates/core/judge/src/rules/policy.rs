//! Rules of policies, for `analyze`.

use super::Rule;

mod accounts;
mod identity_without_mutual_tls;
mod jwks_fetch_unrestricted;
mod listed;
mod names;
mod peer_authentications_share_a_pod;
mod plain_text_in_a_strict_mesh;
mod policy_host_unknown;
mod policy_names_unknown_namespace;
mod policy_selects_gateway_pod;
mod principal_unknown;
mod selector_finds_nobody;
mod strict_without_auto_mutual_tls;
mod trust_domain_unknown;
mod two_default_peer_authentications;
mod unknown_method;

pub(super) static RULES: &[&Rule] = &[
    &policy_names_unknown_namespace::RULE,
    &policy_selects_gateway_pod::RULE,
    &jwks_fetch_unrestricted::RULE,
    &plain_text_in_a_strict_mesh::RULE,
    &two_default_peer_authentications::RULE,
    &peer_authentications_share_a_pod::RULE,
    &selector_finds_nobody::RULE,
    &unknown_method::RULE,
    &policy_host_unknown::RULE,
    &identity_without_mutual_tls::RULE,
    &principal_unknown::RULE,
    &trust_domain_unknown::RULE,
    &strict_without_auto_mutual_tls::RULE,
];
