//! What logging costs: bytes a second, and CPU.

use std::collections::VecDeque;

use meshladder_text::time::Time;

/// How much is logged, over the last second and in all. Times are milliseconds from any start.
#[derive(Clone, Debug, Default)]
pub struct LogRate {
    recent: VecDeque<(u64, u64)>,
    in_window: u64,
    total: u64,
    peak: u64,
}

/// The window.
const SECOND: u64 = 1000;

impl LogRate {
    /// Notes what was read; gives the bytes of the last second.
    pub fn add(&mut self, at: u64, bytes: u64) -> u64 {
        while let Some(&(then, bytes)) = self.recent.front()
            && then + SECOND <= at
        {
            self.recent.pop_front();
            self.in_window -= bytes;
        }
        self.recent.push_back((at, bytes));
        self.in_window += bytes;
        self.total += bytes;
        self.peak = self.peak.max(self.in_window);
        self.in_window
    }

    /// All bytes.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The most of any second.
    pub fn peak(&self) -> u64 {
        self.peak
    }
}

/// Bytes a second of a log that was read from `seconds` ago on, with the time the kubelet puts
/// before each line. A log that was cut at some size is measured by its own times.
pub fn before(text: &str, seconds: u64, is_cut: bool) -> Option<u64> {
    let mut bytes = 0;
    let mut first = None;
    let mut last = None;
    for line in text.lines() {
        let Some((time, rest)) = line.split_once(' ') else {
            continue;
        };
        let Some(time) = Time::parse(time) else {
            continue;
        };
        // The line break was written too.
        bytes += rest.len() as u64 + 1;
        first = first.or(Some(time));
        last = Some(time);
    }
    if !is_cut {
        return Some(bytes / seconds.max(1));
    }
    let (first, last) = (first?, last?);
    let millis = (last.seconds - first.seconds) * 1000
        + (i64::from(last.nanos) - i64::from(first.nanos)) / 1_000_000;
    Some(bytes * 1000 / u64::try_from(millis).ok()?.max(1))
}

/// Millicores of a Kubernetes quantity: `12345678n`, `250m`, `2`.
pub fn cpu(text: &str) -> Option<f64> {
    let (number, factor) = match text.strip_suffix(['n', 'u', 'm']) {
        Some(number) if text.ends_with('n') => (number, 1e-6),
        Some(number) if text.ends_with('u') => (number, 1e-3),
        Some(number) => (number, 1.0),
        None => (text, 1e3),
    };
    let number: f64 = number.parse().ok()?;
    // Rust reads `inf` and `nan` too.
    number.is_finite().then_some(number * factor)
}
