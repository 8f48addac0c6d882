//! The evaluator as a whole, held to truth tables.
#![expect(
    clippy::disallowed_methods,
    reason = "tests read the repository; the library they test reads nothing"
)]

mod sim;
