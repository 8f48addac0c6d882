//! The rules as a collection, with the repository's own files.
#![expect(
    clippy::disallowed_methods,
    reason = "tests read the repository; the library they test reads nothing"
)]

#[path = "../../../output/tests/it/expect.rs"]
mod expect;
mod policies;
#[path = "../../../sim/tests/oracle/harness/random.rs"]
mod random;
mod rules;
