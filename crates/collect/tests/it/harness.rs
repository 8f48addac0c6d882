//! A real Envoy, started as the oracle of the core starts it.

#[path = "../../../core/sim/tests/oracle/harness/client.rs"]
pub(crate) mod client;
#[path = "../../../core/sim/tests/oracle/harness/envoy.rs"]
pub(crate) mod envoy;
