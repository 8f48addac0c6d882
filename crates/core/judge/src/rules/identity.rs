//! Rules of the rung `identity`.

use super::Rule;

mod certificate_not_signed;
mod certificate_out_of_time;
mod certificate_ref_missing;
mod certs;
mod client_tls_against_server;
mod destination_rule_never_used;
mod foreign_trust_domain;
mod gateway_credential_missing;
mod greeting_waits_for_client;
mod http_port_gets_tls;
mod no_common_root;
mod peer_authentication_misses_workload;
mod plain_text_meets_strict;
mod pod_address_meets_strict;
mod port_bypasses_proxy;
mod port_level;
mod secret_not_delivered;
mod secret_warming;
mod servers;
mod service_passed_through;
mod tls_handshake_fails;
mod tls_port;
mod tls_twice;

pub(super) use port_bypasses_proxy::{bypassed, drop_annotation};

pub(super) static RULES: &[&Rule] = &[
    &gateway_credential_missing::RULE,
    &plain_text_meets_strict::RULE,
    &pod_address_meets_strict::RULE,
    &service_passed_through::RULE,
    &client_tls_against_server::RULE,
    &destination_rule_never_used::RULE,
    &certificate_out_of_time::RULE,
    &secret_not_delivered::RULE,
    &secret_warming::RULE,
    &tls_twice::RULE,
    &http_port_gets_tls::RULE,
    &no_common_root::RULE,
    &foreign_trust_domain::RULE,
    &port_bypasses_proxy::RULE,
    &certificate_ref_missing::RULE,
    &greeting_waits_for_client::RULE,
    &tls_handshake_fails::RULE,
    &peer_authentication_misses_workload::RULE,
    &certificate_not_signed::RULE,
];
