//! What is being read, for whoever waits.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Counts what was asked for and what came.
#[derive(Debug, Default)]
pub struct Tally {
    what: Mutex<(String, Option<Instant>)>,
    expected: AtomicUsize,
    done: AtomicUsize,
    bytes: AtomicUsize,
}

impl Tally {
    /// What is being read, as a line: `reading proxies: 12 of 40, 31.0 MB, about 9 s left`.
    pub fn line(&self) -> String {
        let (what, begun) = self.what.lock().map(|what| what.clone()).unwrap_or_default();
        let (done, expected) = (self.done.load(Ordering::Relaxed), self.expected.load(Ordering::Relaxed));
        let tenths = self.bytes.load(Ordering::Relaxed) / 100_000;
        let left = begun.filter(|_| done > 0 && done < expected).map(|begun| {
            let millis = begun.elapsed().as_millis() * (expected - done) as u128 / done as u128;
            format!(", about {} s left", millis.div_ceil(1000))
        });
        format!("{what}: {done} of {expected}, {}.{} MB{}", tenths / 10, tenths % 10, left.unwrap_or_default())
    }

    /// From now on something else is read, and so many of it.
    pub(crate) fn begin(&self, what: &str, expected: usize) {
        if let Ok(mut now) = self.what.lock() {
            *now = (what.to_owned(), Some(Instant::now()));
        }
        self.expected.store(expected, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
    }

    pub(crate) fn done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn read(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
