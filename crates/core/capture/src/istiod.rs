//! What istiod says through its debug endpoints.

pub mod scopes;
pub mod syncz;
