//! What is being read, for whoever waits.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Counts what was asked for and what came. Several clusters are read side by side: one may still
/// list objects while the next asks proxies.
#[derive(Debug, Default)]
pub struct Tally {
    parts: Mutex<Vec<Part>>,
    bytes: AtomicUsize,
}

/// Things of one sort.
#[derive(Debug)]
struct Part {
    what: String,
    begun: Instant,
    expected: usize,
    done: usize,
}

impl Tally {
    /// What is being read, as a line: `reading proxies: 12 of 40, 31.0 MB, about 9 s left`. Of
    /// several what began first and is not done.
    pub fn line(&self) -> String {
        let tenths = self.bytes.load(Ordering::Relaxed) / 100_000;
        let Ok(parts) = self.parts.lock() else {
            return String::new();
        };
        let part = parts
            .iter()
            .find(|part| part.done < part.expected)
            .or(parts.last());
        let Some(Part {
            what,
            begun,
            expected,
            done,
        }) = part
        else {
            return String::new();
        };
        let left = (*done > 0 && done < expected).then(|| {
            let millis = begun.elapsed().as_millis() * (expected - done) as u128 / *done as u128;
            format!(", about {} s left", millis.div_ceil(1000))
        });
        format!(
            "{what}: {done} of {expected}, {}.{} MB{}",
            tenths / 10,
            tenths % 10,
            left.unwrap_or_default()
        )
    }

    /// From now on this is read as well, and so many of it. What is done with is told no more.
    pub(crate) fn begin(&self, what: &str, expected: usize) {
        let Ok(mut parts) = self.parts.lock() else {
            return;
        };
        if let Some(part) = parts
            .iter_mut()
            .find(|part| part.what == what && part.done < part.expected)
        {
            part.expected += expected;
            return;
        }
        parts.retain(|part| part.done < part.expected);
        parts.push(Part {
            what: what.to_owned(),
            begun: Instant::now(),
            expected,
            done: 0,
        });
    }

    /// One of these came, or will not.
    pub(crate) fn done(&self, what: &str) {
        let Ok(mut parts) = self.parts.lock() else {
            return;
        };
        if let Some(part) = parts.iter_mut().find(|part| part.what == what) {
            part.done += 1;
        }
    }

    pub(crate) fn read(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_began_first_and_is_not_done_is_told() {
        let tally = Tally::default();
        assert_eq!(tally.line(), "");
        tally.begin("reading objects", 1);
        tally.begin("reading objects", 1);
        tally.done("reading objects");
        tally.begin("reading proxies", 3);
        tally.done("reading proxies");
        assert!(
            tally
                .line()
                .starts_with("reading objects: 1 of 2, 0.0 MB, about "),
            "{}",
            tally.line()
        );
        tally.done("reading objects");
        assert!(
            tally.line().starts_with("reading proxies: 1 of 3"),
            "{}",
            tally.line()
        );
        tally.read(1_000_000);
        tally.done("reading proxies");
        tally.done("reading proxies");
        assert_eq!(tally.line(), "reading proxies: 3 of 3, 1.0 MB");
        tally.begin("reading logs", 2);
        assert_eq!(tally.line(), "reading logs: 0 of 2, 1.0 MB");
    }
}
