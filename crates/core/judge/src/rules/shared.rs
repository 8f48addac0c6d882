//! What rules of several families share.

pub(super) mod absence;
pub(super) mod accounts;
pub(super) mod analyzed;
pub(super) mod authority;
pub(super) mod istiod_log;
pub(super) mod peer_modes;
pub(super) mod selector_misses;
pub(super) mod workloads;
