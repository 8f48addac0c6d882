//! Everything Meshladder knows about a mesh, as pure functions of a Snapshot.
//!
//! No file, network, clock, randomness or async in this crate: see ARCHITECTURE.md, invariant 1.

pub mod authz;
pub mod doc;
pub mod envoy;
pub mod istiod;
pub mod mesh;
pub mod model;
pub mod render;
pub mod sim;
pub mod snapshot;
pub mod tables;
pub mod target;
pub mod time;
pub mod walk;
pub mod x509;
