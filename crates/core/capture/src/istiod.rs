//! What istiod says through its debug endpoints.

pub mod clusterz;
pub mod endpoint_shardz;
pub mod networkz;
pub mod scopes;
pub mod syncz;
