//! A metric with its series, as Prometheus' text format writes it.

use std::collections::BTreeSet;
use std::fmt::Write;

/// A gauge or a counter and its series.
#[derive(Clone, Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    help: &'static str,
    kind: &'static str,
    series: Vec<Series>,
}

#[derive(Clone, Debug, PartialEq)]
struct Series {
    /// The lower, the sooner it is told.
    rank: u8,
    labels: String,
    value: f64,
}

impl Family {
    pub(super) fn new(name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            help,
            kind: "gauge",
            series: Vec::new(),
        }
    }

    /// Something that only grows.
    pub(super) fn counter(name: &'static str, help: &'static str) -> Self {
        Self {
            kind: "counter",
            ..Self::new(name, help)
        }
    }

    /// Adds a series; those of low rank are told first when there are too many.
    pub(super) fn add<const N: usize>(&mut self, rank: u8, labels: [(&str, &str); N], value: f64) {
        let pairs: Vec<String> = labels
            .iter()
            .map(|(name, text)| format!("{name}=\"{}\"", escaped(text)))
            .collect();
        self.series.push(Series {
            rank,
            labels: pairs.join(","),
            value,
        });
    }

    /// Adds a series whose value is how many things are wrong: those that have any are told first.
    #[expect(clippy::cast_precision_loss, reason = "nobody counts that far")]
    pub(super) fn count<const N: usize>(&mut self, labels: [(&str, &str); N], count: usize) {
        self.add(u8::from(count == 0), labels, count as f64);
    }

    /// How many series it has.
    pub(super) fn len(&self) -> usize {
        self.series.len()
    }

    /// Writes the first `most` of them. A String takes everything.
    pub(super) fn write(&self, out: &mut String, most: usize) {
        if self.series.is_empty() {
            return;
        }
        let Self {
            name, help, kind, ..
        } = self;
        let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
        let mut series: Vec<&Series> = self.series.iter().collect();
        series.sort_by_key(|series| series.rank);
        // Two clusters may have pods of one name, and Prometheus refuses what is told twice.
        let mut told = BTreeSet::new();
        series.retain(|series| told.insert(&series.labels));
        for Series { labels, value, .. } in series.into_iter().take(most) {
            let _ = if labels.is_empty() {
                writeln!(out, "{name} {value}")
            } else {
                writeln!(out, "{name}{{{labels}}} {value}")
            };
        }
    }
}

/// "Label value can be any sequence of UTF-8 characters, but the backslash, double-quote, and line
/// feed characters have to be escaped."
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_the_worst_come_first() {
        let mut family = Family::new("m", "what it is");
        family.add(1, [("a", "fine")], 1.0);
        family.add(0, [("a", "say \"no\"\\\n")], 0.5);
        let mut out = String::new();
        family.write(&mut out, 1);
        assert_eq!(
            out,
            "# HELP m what it is\n# TYPE m gauge\nm{a=\"say \\\"no\\\"\\\\\\n\"} 0.5\n"
        );
    }

    #[test]
    fn large_and_small_values_are_numbers_that_prometheus_reads() {
        let mut family = Family::new("m", "h");
        for (name, value) in [("a", 1_794_724_251.055), ("b", 1e300), ("c", 1e-9)] {
            family.add(0, [("l", name)], value);
        }
        let mut out = String::new();
        family.write(&mut out, 9);
        for (line, value) in out.lines().skip(2).zip([1_794_724_251.055, 1e300, 1e-9]) {
            assert_eq!(
                line.split_once(' ')
                    .and_then(|(_, text)| text.parse::<f64>().ok()),
                Some(value),
                "{line}"
            );
        }
    }
}
