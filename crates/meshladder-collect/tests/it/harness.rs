//! A real Envoy, started as the oracle of the core starts it.

#[path = "../../../meshladder-core/tests/oracle/harness/client.rs"]
pub(crate) mod client;
#[path = "../../../meshladder-core/tests/oracle/harness/envoy.rs"]
pub(crate) mod envoy;
