//! The binary, run as users run it.

mod analyze;
mod authz;
mod bad_input;
mod cli;
mod clusters;
mod connecting;
mod describe;
mod diff;
#[path = "../../../core/output/tests/it/expect.rs"]
mod expect;
#[path = "../../../collect/tests/it/fake.rs"]
#[expect(dead_code, reason = "the tests of the collector use the rest")]
mod fake;
mod fixes;
mod golden;
#[path = "../../../collect/tests/it/harness.rs"]
#[expect(dead_code, reason = "the oracle uses the rest")]
mod harness;
mod hostile;
mod ladder;
mod listings;
mod live;
mod log_level;
mod logs;
#[path = "../../../core/output/tests/it/meshes.rs"]
mod meshes;
mod monitor;
mod objects_and_dumps;
mod reports;
mod rule_book;
mod runbook;
mod schema;
mod secrets;
mod support;
mod trace;
#[path = "../../../collect/tests/it/wire.rs"]
#[expect(dead_code, reason = "the tests of the collector use the rest")]
mod wire;
