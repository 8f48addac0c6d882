//! Chance. Envoy draws one number for a request, and `runtime_fraction` and weighted clusters both
//! look at it; so a request that missed a route of 10 % is never among the first 10 % of a later
//! one.

use crate::runtime::Fraction;

/// So many of so many requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestShare {
    /// How many.
    pub of: u64,
    /// Of how many.
    pub total: u64,
}

/// What is known of the number drawn: its remainder by `modulus` is at least `from` and below `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dice {
    pub(super) modulus: u64,
    pub(super) from: u64,
    pub(super) to: u64,
}

impl Default for Dice {
    fn default() -> Self {
        Self {
            modulus: 1,
            from: 0,
            to: 1,
        }
    }
}

/// One side of a decision by chance; none when it cannot happen.
type DiceSide = Option<(RequestShare, Dice)>;

impl Dice {
    /// The sides on which a route with that fraction matches and does not.
    pub(super) fn split(self, fraction: Option<Fraction>) -> (DiceSide, DiceSide) {
        let Some(fraction) = fraction else {
            let always = RequestShare { of: 1, total: 1 };
            return (Some((always, self)), None);
        };
        let known = self.by(fraction.denominator);
        // A request matches when its number is below the numerator.
        let edge = fraction.numerator.clamp(known.from, known.to);
        (known.side(known.from, edge), known.side(edge, known.to))
    }

    /// The part of what is known that lies between two numbers.
    fn side(self, from: u64, to: u64) -> DiceSide {
        if from >= to {
            return None;
        }
        let share = RequestShare {
            of: to - from,
            total: self.to - self.from,
        };
        Some((share, Self { from, to, ..self }))
    }

    /// What is known of the remainder by another modulus. Remainders by different ones are taken
    /// for independent.
    pub(super) fn by(self, modulus: u64) -> Self {
        if self.modulus == modulus {
            return self;
        }
        Self {
            modulus,
            from: 0,
            to: modulus,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn percent(numerator: u64) -> Fraction {
        Fraction {
            numerator,
            denominator: 100,
        }
    }

    #[test]
    fn nothing_and_all_are_decided() {
        assert!(matches!(Dice::default().split(None), (Some(_), None)));
        assert!(matches!(
            Dice::default().split(Some(percent(0))),
            (None, Some(_))
        ));
        assert!(matches!(
            Dice::default().split(Some(percent(100))),
            (Some(_), None)
        ));
    }

    #[test]
    fn a_request_keeps_its_number() {
        let (hit, miss) = Dice::default().split(Some(percent(10)));
        assert_eq!(
            hit.map(|(share, _)| share),
            Some(RequestShare { of: 10, total: 100 })
        );
        let (_, rest) = miss.expect("most requests miss");
        assert!(rest.split(Some(percent(10))).0.is_none());
        let (hit, _) = rest.split(Some(percent(55)));
        assert_eq!(
            hit.map(|(share, _)| share),
            Some(RequestShare { of: 45, total: 90 })
        );
    }
}
