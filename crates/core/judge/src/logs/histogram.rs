//! How often something happened, over time, in a few dozen bars at most.

/// Widths of a bar in seconds. Each is a multiple of the one before, so bars can be merged.
const WIDTHS: [i64; 10] = [1, 5, 15, 60, 300, 900, 3600, 21_600, 86_400, 604_800];

/// More bars than this become fewer and wider ones.
const MOST: i64 = 40;

/// Bars of equal width.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Position in [`WIDTHS`].
    step: usize,
    /// The first bar's time, in widths.
    first: i64,
    /// From the first bar that has any to the last.
    counts: Vec<u64>,
    /// Times so far from the others that the widest bars would be too many.
    pub outliers: u64,
}

impl Histogram {
    /// Counts one at a time in seconds since 1970.
    pub fn add(&mut self, seconds: i64) {
        self.count(seconds, 1);
    }

    /// The width of a bar in seconds.
    pub fn width(&self) -> i64 {
        WIDTHS[self.step]
    }

    /// Every bar from the first to the last, empty ones too: where it starts, and its count.
    pub fn bars(&self) -> Vec<(i64, u64)> {
        (self.first..)
            .zip(&self.counts)
            .map(|(at, count)| (at * self.width(), *count))
            .collect()
    }

    /// The bars as one line of text.
    pub fn sparkline(&self) -> String {
        let most = self.counts.iter().copied().max().unwrap_or(0);
        self.counts.iter().map(|count| bar(*count, most)).collect()
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        while self.step < other.step {
            self.widen();
        }
        other
            .bars()
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .for_each(|(start, count)| self.count(start, count));
        self.outliers += other.outliers;
    }

    fn count(&mut self, seconds: i64, count: u64) {
        loop {
            let at = seconds.div_euclid(self.width());
            if self.counts.is_empty() {
                self.first = at;
            }
            let (first, last) = (
                self.first.min(at),
                (self.first + self.bar_count() - 1).max(at),
            );
            if last - first < MOST {
                return self.count_at(at, first, last, count);
            }
            if self.step + 1 == WIDTHS.len() {
                self.outliers += count;
                return;
            }
            self.widen();
        }
    }

    fn bar_count(&self) -> i64 {
        i64::try_from(self.counts.len()).unwrap_or(MOST)
    }

    fn count_at(&mut self, at: i64, first: i64, last: i64, count: u64) {
        // Both differences are below MOST.
        let places = |from: i64, to: i64| usize::try_from(to - from).unwrap_or(0);
        if first < self.first {
            self.counts
                .splice(0..0, std::iter::repeat_n(0, places(first, self.first)));
            self.first = first;
        }
        self.counts
            .resize(self.counts.len().max(places(first, last) + 1), 0);
        self.counts[places(first, at)] += count;
    }

    fn widen(&mut self) {
        let bars = self.bars();
        self.step += 1;
        self.counts.clear();
        bars.into_iter()
            .filter(|(_, count)| *count > 0)
            .for_each(|(start, count)| self.count(start, count));
    }
}

fn bar(count: u64, most: u64) -> char {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    match count {
        0 => ' ',
        _ => {
            BARS[usize::try_from((count * 8).div_ceil(most.max(1)) - 1)
                .unwrap_or(7)
                .min(7)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: &[i64]) -> Histogram {
        let mut histogram = Histogram::default();
        for at in times {
            histogram.add(*at);
        }
        histogram
    }

    #[test]
    fn bars_grow_wider_instead_of_more() {
        assert_eq!(
            (of(&[100, 101, 101]).width(), of(&[100, 101, 101]).bars()),
            (1, vec![(100, 1), (101, 2)])
        );
        let long = of(&(0..1000).collect::<Vec<_>>());
        assert!(long.bars().len() <= 40, "{long:?}");
        assert_eq!(
            long.bars().iter().map(|(_, count)| count).sum::<u64>(),
            1000
        );
        let far = of(&[0, 1_000_000_000_000]);
        assert_eq!((far.bars().len(), far.outliers), (1, 1));
        assert_eq!(of(&[0, 0, 0, 0, 2]).sparkline(), "█ ▂");
    }

    #[test]
    fn merged_is_as_if_counted_together() {
        for (a, b) in [
            (vec![0, 1, 2], vec![1, 90]),
            (vec![], vec![7]),
            (vec![-5, 3600 * 50], vec![0]),
            (vec![3], vec![-90_000]),
        ] {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            assert_eq!(merged, of(&[a, b].concat()));
        }
    }
}
