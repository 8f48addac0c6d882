//! The binary, run as users run it.

mod bad_input;
mod cli;
#[path = "../../../meshladder-core/tests/it/expect.rs"]
mod expect;
mod golden;
mod listings;
mod reports;
mod secrets;
mod support;
mod trace;
