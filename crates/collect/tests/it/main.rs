//! Everything that can be a source, and everything that can be wrong with one.

mod archives;
mod bug_reports;
mod bundles;
mod captured_policies;
mod captures;
mod corpus;
mod directories;
#[path = "../../../core/output/tests/it/expect.rs"]
#[expect(dead_code, reason = "the tests of the other crates use the rest")]
mod expect;
mod fake;
mod files;
#[expect(dead_code, reason = "the oracle uses the rest")]
mod harness;
mod limits;
mod live;
#[path = "../../../core/output/tests/it/meshes.rs"]
mod meshes;
mod support;
mod times;
mod verifying;
mod wire;
mod writing;
