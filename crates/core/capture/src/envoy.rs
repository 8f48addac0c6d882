//! What Envoy says of itself through its admin interface, read in place.

pub mod clusters;
pub mod dump;
pub mod logging;
pub mod name;
pub mod spelling;
