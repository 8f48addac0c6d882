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
    let words: Vec<String> = std::env::args().collect();
    let number = |at: usize| {
        words
            .get(at)
            .and_then(|word| word.parse().ok())
            .unwrap_or(1)
    };
    let corpus = words.get(3).map_or("fuzz/corpus", String::as_str);
    let failed = engine::run(&TARGETS, corpus.as_ref(), number(1), number(2));
    u8::from(failed > 0).into()
}
