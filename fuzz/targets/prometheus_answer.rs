#![no_main]

#[path = "../core.rs"]
mod core;

libfuzzer_sys::fuzz_target!(|data: &[u8]| core::prometheus_answer(data));
