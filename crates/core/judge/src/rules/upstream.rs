//! Rules of the rung `upstream`.

use super::Rule;

mod application_answers_error;
mod application_breaks_protocol;
mod application_closes_connection;
mod application_does_not_answer;
mod application_not_listening;
mod client_gives_up;
pub(super) mod connect_timeout_too_short;
mod control_plane_throttles;
mod filter_answers;
mod grpc_hides_failure;
mod http_1_0;
mod idle_connection_closed;
mod keep_alive_race;
mod local_rate_limit;
mod pod_goes_away;
mod pool_overflow;
mod port_speaks_http_1;
mod raw_bytes_on_http_port;
mod request_malformed;
mod request_repeated;
mod retries_exhausted;
mod route_timeout;
mod seen_not_predicted;

pub(super) static RULES: &[&Rule] = &[
    &application_answers_error::RULE,
    &application_closes_connection::RULE,
    &application_not_listening::RULE,
    &client_gives_up::RULE,
    &control_plane_throttles::RULE,
    &grpc_hides_failure::RULE,
    &http_1_0::RULE,
    &keep_alive_race::RULE,
    &local_rate_limit::RULE,
    &pod_goes_away::RULE,
    &pool_overflow::RULE,
    &port_speaks_http_1::RULE,
    &raw_bytes_on_http_port::RULE,
    &request_repeated::RULE,
    &retries_exhausted::RULE,
    &route_timeout::RULE,
    &seen_not_predicted::RULE,
    &filter_answers::RULE,
    &connect_timeout_too_short::RULE,
    &idle_connection_closed::RULE,
    &request_malformed::RULE,
    &application_does_not_answer::RULE,
    &application_breaks_protocol::RULE,
];
