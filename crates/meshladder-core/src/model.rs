//! Kubernetes objects: views over their trees, one file a kind.

pub mod object;
pub mod pod;
pub mod selector;
