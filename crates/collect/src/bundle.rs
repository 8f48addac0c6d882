//! Bundles: a Snapshot as files, to keep and to hand on.

mod verify;
mod write;

pub use verify::{Verification, verify};
pub use write::{Summary, check_name, write};
