//! Fuzzes the reading of sources with the stable compiler: `fuzz-source SECONDS SEED CORPUS`.

#[path = "../../../fuzz/engine.rs"]
mod engine;
#[path = "../../../fuzz/collect.rs"]
mod reader;

fn main() -> std::process::ExitCode {
    engine::main(&[("source", reader::source)])
}
