//! What is being read, for whoever waits.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts what was asked for and what came.
#[derive(Debug, Default)]
pub struct Tally {
    what: Mutex<String>,
    expected: AtomicUsize,
    done: AtomicUsize,
    bytes: AtomicUsize,
}

impl Tally {
    /// What is being read, as a line: `proxies: 12 of 40, 31.0 MB`.
    pub fn line(&self) -> String {
        let what = self.what.lock().map(|what| what.clone()).unwrap_or_default();
        let (done, expected) = (self.done.load(Ordering::Relaxed), self.expected.load(Ordering::Relaxed));
        let tenths = self.bytes.load(Ordering::Relaxed) / 100_000;
        format!("{what}: {done} of {expected}, {}.{} MB", tenths / 10, tenths % 10)
    }

    /// From now on something else is read, and so many of it.
    pub(crate) fn begin(&self, what: &str, expected: usize) {
        if let Ok(mut now) = self.what.lock() {
            what.clone_into(&mut now);
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
