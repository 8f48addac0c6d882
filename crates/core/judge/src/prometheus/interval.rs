//! How far a share seen in some requests may be from the true one.

/// The lower and upper bound of a share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The least share that fits.
    pub low: f64,
    /// The greatest.
    pub high: f64,
}

impl Interval {
    /// Whether a share lies inside.
    pub fn holds(self, share: f64) -> bool {
        (self.low..=self.high).contains(&share)
    }
}

/// Wilson's score interval for `hits` of `total`, at `z` standard deviations; all is possible when
/// nothing was seen.
pub fn wilson(hits: f64, total: f64, z: f64) -> Interval {
    if total <= 0.0 {
        return Interval {
            low: 0.0,
            high: 1.0,
        };
    }
    let share = (hits / total).clamp(0.0, 1.0);
    let square = z * z;
    let scale = 1.0 + square / total;
    let centre = (share + square / (2.0 * total)) / scale;
    let reach = z / scale * (share * (1.0 - share) / total + square / (4.0 * total * total)).sqrt();
    Interval {
        low: (centre - reach).max(0.0),
        high: (centre + reach).min(1.0),
    }
}

/// The standard deviations that hold `count` intervals at once with that confidence (Bonferroni):
/// for one interval at 0.95 it is 1.96.
pub fn deviations(confidence: f64, count: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a handful of versions")]
    let each = (1.0 - confidence) / count.max(1) as f64;
    quantile(1.0 - each / 2.0)
}

/// The value that a normal variable stays below with probability `p`: Newton's method on the
/// distribution function, from a start that is close for every `p` of use.
fn quantile(p: f64) -> f64 {
    let p = p.clamp(1e-12, 1.0 - 1e-12);
    // The logistic approximation.
    let mut x = (p / (1.0 - p)).ln() / 1.702;
    for _ in 0..60 {
        let density = (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let step = (distribution(x) - p) / density.max(1e-300);
        x -= step.clamp(-1.0, 1.0);
        if step.abs() < 1e-13 {
            break;
        }
    }
    x
}

/// The normal distribution function: the series of the error function near the middle, its
/// continued fraction in the tails.
fn distribution(x: f64) -> f64 {
    let z = x.abs();
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let upper = if z < 3.0 {
        let (mut term, mut sum, mut k) = (z, z, 1.0);
        while term > 1e-17 {
            k += 2.0;
            term *= z * z / k;
            sum += term;
        }
        0.5 - density * sum
    } else {
        let fraction = (1..=60).rev().fold(z, |below, n| z + f64::from(n) / below);
        density / fraction
    };
    if x > 0.0 { 1.0 - upper } else { upper }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64, by: f64) -> bool {
        (a - b).abs() < by
    }

    #[test]
    fn deviations_are_those_of_the_tables() {
        for (confidence, count, expected) in [
            (0.95, 1, 1.959_963_985),
            (0.95, 2, 2.241_402_728),
            (0.90, 1, 1.644_853_627),
            (0.99, 1, 2.575_829_304),
            (0.999, 1, 3.290_526_731),
        ] {
            let found = deviations(confidence, count);
            assert!(near(found, expected, 1e-8), "{confidence} {count}: {found}");
        }
    }

    /// Worked out from the formula (E. B. Wilson, 1927) by another program.
    #[test]
    fn intervals_are_those_of_other_programs() {
        for (hits, total, low, high) in [
            (0.0, 10.0, 0.0, 0.277_532_8),
            (5.0, 10.0, 0.236_593_1, 0.763_406_9),
            (15.0, 50.0, 0.191_035_5, 0.437_503_5),
            (10.0, 100.0, 0.055_229_1, 0.174_365_7),
        ] {
            let found = wilson(hits, total, deviations(0.95, 1));
            assert!(
                near(found.low, low, 2e-6) && near(found.high, high, 2e-6),
                "{hits}/{total}: {found:?}"
            );
        }
    }

    #[test]
    fn nothing_seen_says_nothing() {
        assert_eq!(
            wilson(0.0, 0.0, 1.96),
            Interval {
                low: 0.0,
                high: 1.0
            }
        );
        assert!(wilson(0.0, 0.0, 1.96).holds(0.5));
    }
}
