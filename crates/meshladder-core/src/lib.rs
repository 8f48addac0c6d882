//! Everything Meshladder knows about a mesh, as pure functions of a Snapshot.
//!
//! No file, network, clock, randomness or async in this crate: see ARCHITECTURE.md, invariant 1.

pub mod access_log;
pub mod authz;
pub mod canary;
pub mod cidr;
pub mod describe;
pub mod diff;
pub mod doc;
pub mod envoy;
pub mod finding;
pub mod flags;
pub mod fleet;
pub mod istiod;
pub mod ladder;
pub mod logs;
pub mod mesh;
pub mod model;
pub mod monitor;
mod parallel;
pub mod prometheus;
pub mod render;
pub mod report;
pub mod rules;
pub mod schema;
pub mod sim;
pub mod snapshot;
pub mod tables;
pub mod target;
pub mod time;
pub mod tri;
pub mod walk;
pub mod x509;
