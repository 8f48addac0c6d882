#![no_main]

#[path = "../core.rs"]
mod core;

libfuzzer_sys::fuzz_target!(|data: &[u8]| core::access_log(data));
