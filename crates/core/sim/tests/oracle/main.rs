//! The evaluator against a real Envoy on loopback: generated configuration and requests, and both
//! must say the same.
#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the oracle starts a process and talks to it; the library does not"
)]

mod access_log;
mod ask;
mod certificate;
mod chain;
mod cluster;
mod filters;
mod harness;
mod jwt;
mod listener;
mod network;
mod rbac;
mod routes;
mod truth;
mod wire;
