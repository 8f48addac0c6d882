//! What istiod says through its debug endpoints.

pub mod syncz;
