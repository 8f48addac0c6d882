//! What ztunnel says of itself: its config dump and its log.

pub mod dump;
pub mod log;
pub mod policy;
