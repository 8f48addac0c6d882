//! How often something happened, over time, in a few dozen bars at most.

use std::collections::BTreeMap;

/// Widths of a bar in seconds. Each is a multiple of the one before, so bars can be merged.
const WIDTHS: [i64; 10] = [1, 5, 15, 60, 300, 900, 3600, 21_600, 86_400, 604_800];

/// More bars than this become fewer and wider ones.
const MOST: i64 = 40;

/// Bars of equal width.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Position in [`WIDTHS`].
    step: usize,
    bars: BTreeMap<i64, u64>,
}

impl Histogram {
    /// Counts one at a time in seconds since 1970.
    pub fn add(&mut self, seconds: i64) {
        self.count(seconds.div_euclid(self.width()), 1);
    }

    /// The width of a bar in seconds.
    pub fn width(&self) -> i64 {
        WIDTHS[self.step]
    }

    /// Every bar from the first to the last, empty ones too: where it starts, and its count.
    pub fn bars(&self) -> Vec<(i64, u64)> {
        let (Some(first), Some(last)) = (self.bars.keys().next(), self.bars.keys().next_back()) else {
            return Vec::new();
        };
        // The last width may have any number of bars: a log with a line of 1970 in it.
        if last - first >= MOST {
            return self.bars.iter().map(|(at, n)| (at * self.width(), *n)).collect();
        }
        (*first..=*last).map(|at| (at * self.width(), self.bars.get(&at).copied().unwrap_or(0))).collect()
    }

    /// The bars as one line of text.
    pub fn sparkline(&self) -> String {
        let bars = self.bars();
        let most = bars.iter().map(|(_, count)| *count).max().unwrap_or(0);
        bars.iter().map(|(_, count)| bar(*count, most)).collect()
    }

    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        while self.step < other.step {
            self.widen();
        }
        let ratio = self.width() / other.width();
        other.bars.iter().for_each(|(at, count)| self.merge_bar(at.div_euclid(ratio), *count, other.width() * ratio));
    }

    /// The bar may have become wider meanwhile.
    fn merge_bar(&mut self, at: i64, count: u64, width: i64) {
        self.count((at * width).div_euclid(self.width()), count);
    }

    fn count(&mut self, at: i64, count: u64) {
        *self.bars.entry(at).or_insert(0) += count;
        while self.span() > MOST && self.step + 1 < WIDTHS.len() {
            self.widen();
        }
    }

    fn span(&self) -> i64 {
        match (self.bars.keys().next(), self.bars.keys().next_back()) {
            (Some(first), Some(last)) => last - first + 1,
            _ => 0,
        }
    }

    fn widen(&mut self) {
        let ratio = WIDTHS[self.step + 1] / WIDTHS[self.step];
        self.step += 1;
        for (at, count) in std::mem::take(&mut self.bars) {
            *self.bars.entry(at.div_euclid(ratio)).or_insert(0) += count;
        }
    }
}

fn bar(count: u64, most: u64) -> char {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    match count {
        0 => ' ',
        _ => BARS[usize::try_from((count * 8).div_ceil(most.max(1)) - 1).unwrap_or(7).min(7)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(times: &[i64]) -> Histogram {
        let mut histogram = Histogram::default();
        times.iter().for_each(|at| histogram.add(*at));
        histogram
    }

    #[test]
    fn bars_grow_wider_instead_of_more() {
        assert_eq!((of(&[100, 101, 101]).width(), of(&[100, 101, 101]).bars()), (1, vec![(100, 1), (101, 2)]));
        let long = of(&(0..1000).collect::<Vec<_>>());
        assert!(long.bars().len() <= 40, "{long:?}");
        assert_eq!(long.bars().iter().map(|(_, count)| count).sum::<u64>(), 1000);
        assert_eq!(of(&[0, 1_000_000_000_000]).bars().len(), 2);
        assert_eq!(of(&[0, 0, 0, 0, 2]).sparkline(), "█ ▂");
    }

    #[test]
    fn merged_is_as_if_counted_together() {
        for (a, b) in
            [(vec![0, 1, 2], vec![1, 90]), (vec![], vec![7]), (vec![-5, 3600 * 50], vec![0]), (vec![3], vec![-90_000])]
        {
            let mut merged = of(&a);
            merged.merge(&of(&b));
            assert_eq!(merged, of(&[a, b].concat()));
        }
    }
}
