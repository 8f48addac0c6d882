#![no_main]

#[path = "../collect.rs"]
mod collect;

libfuzzer_sys::fuzz_target!(|data: &[u8]| collect::source(data));
