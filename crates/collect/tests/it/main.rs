//! Everything that can be a source, and everything that can be wrong with one.

mod archives;
mod bug_reports;
mod bundles;
mod captured_policies;
mod captures;
mod corpus;
mod directories;
mod fake;
mod files;
#[expect(dead_code, reason = "the oracle uses the rest")]
mod harness;
mod limits;
mod live;
mod support;
mod times;
mod verifying;
mod wire;
mod writing;
