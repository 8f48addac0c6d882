//! Tests that need more than one module of the core, or the repository's own files.
#![expect(
    clippy::disallowed_methods,
    reason = "tests read the repository; the library they test reads nothing"
)]

mod corpus;
mod expect;
mod flags;
#[expect(dead_code, reason = "the tests of the binary use the rest")]
mod meshes;
mod redact;
mod tidy;
