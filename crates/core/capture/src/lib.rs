//! What was captured of a mesh: the Snapshot, and what its documents say in the words of those who
//! wrote them: Envoy, istiod, access logs, Kubernetes objects.

pub mod access_log;
pub mod clusters;
pub mod envoy;
pub mod flags;
pub mod istiod;
pub mod kind;
pub mod object;
pub mod snapshot;
pub mod ztunnel;

pub use kind::Kind;
