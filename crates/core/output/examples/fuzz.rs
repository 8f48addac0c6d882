//! Fuzzes the parsers of the core with the stable compiler: `fuzz SECONDS SEED CORPUS`.
#![expect(
    clippy::disallowed_methods,
    reason = "a program that reads a corpus and the clock; the library it tries does neither"
)]

#[path = "../../../../fuzz/engine.rs"]
mod engine;
#[path = "../../../../fuzz/core.rs"]
mod parsers;

const TARGETS: [engine::Target; 10] = [
    ("json", parsers::json),
    ("yaml", parsers::yaml),
    ("config_dump", parsers::config_dump),
    ("clusters", parsers::clusters),
    ("syncz", parsers::syncz),
    ("prometheus_answer", parsers::prometheus_answer),
    ("certificate", parsers::certificate),
    ("redact", parsers::redact),
    ("analyze", parsers::analyze),
    ("access_log", parsers::access_log),
];

fn main() -> std::process::ExitCode {
    engine::main(&TARGETS)
}
