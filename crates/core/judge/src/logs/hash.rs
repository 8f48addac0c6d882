//! A quick hash that is the same in every run, and maps by it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are hashes already.
pub(super) type ByHash<T> = HashMap<u64, T, BuildHasherDefault<AsItIs>>;

/// Takes a key as its own hash.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AsItIs(u64);

impl Hasher for AsItIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes
            .iter()
            .fold(self.0, |hash, byte| mix(hash, u64::from(*byte)));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

/// The hash of a text: eight bytes at a time, and its length.
pub(super) fn hash(text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let hash = words.iter().fold(text.len() as u64, |hash, word| {
        mix(hash, u64::from_le_bytes(*word))
    });
    let rest = rest
        .iter()
        .fold(0, |word, byte| word << 8 | u64::from(*byte));
    mix(hash, rest)
}

/// Splitmix64's last step, on both.
pub(super) fn mix(hash: u64, word: u64) -> u64 {
    let z = (hash ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (z ^ (z >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb) ^ (z >> 32)
}
