//! The binary, run as users run it.

mod golden;
mod support;
