//! The binary, run as users run it.

mod analyze;
mod authz;
mod bad_input;
mod cli;
mod describe;
mod diff;
#[path = "../../../meshladder-core/tests/it/expect.rs"]
mod expect;
mod fixes;
mod golden;
mod ladder;
mod listings;
mod monitor;
mod logs;
mod objects_and_dumps;
mod reports;
mod schema;
mod runbook;
mod secrets;
mod support;
mod trace;
