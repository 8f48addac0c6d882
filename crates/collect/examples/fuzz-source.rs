//! Fuzzes the reading of sources with the stable compiler: `fuzz-source SECONDS SEED CORPUS`.

#[path = "../../../fuzz/engine.rs"]
mod engine;
#[path = "../../../fuzz/collect.rs"]
mod reader;

fn main() -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let number = |at: usize| {
        words
            .get(at)
            .and_then(|word| word.parse().ok())
            .unwrap_or(1)
    };
    let corpus = words.get(3).map_or("fuzz/corpus", String::as_str);
    let targets = [("source", reader::source as fn(&[u8]))];
    let failed = engine::run(&targets, corpus.as_ref(), number(1), number(2));
    u8::from(failed > 0).into()
}
