//! The name that was probably meant.

/// In bytes.
const LONGEST_LETTER: usize = 4;

/// The name that differs the least from the wanted one, when it differs little: one letter in four.
pub fn nearest<'n>(wanted: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let most = (wanted.len() / 4).max(1);
    // A name that is much longer or shorter need not be compared letter by letter.
    let near = names.filter(|name| name.len().abs_diff(wanted.len()) <= most * LONGEST_LETTER);
    let best = near.map(|name| (distance(wanted, name), name)).min()?;
    (best.0 > 0 && best.0 <= most).then_some(best.1)
}

/// How many letters must be put in, taken out, changed, or swapped with the next one.
pub fn distance(a: &str, b: &str) -> usize {
    strsim::osa_distance(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_letters() {
        for (a, b, expected) in [
            ("", "", 0),
            ("cart", "cart", 0),
            ("cart", "crt", 1),
            ("ab", "ba", 1),
            ("cart", "card", 1),
            ("crat", "cart", 1),
            ("", "ab", 2),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn only_a_slip_is_taken_for_another_name() {
        let names = || ["catalog", "cart", "payments"].into_iter();
        assert_eq!(nearest("catlog", names()), Some("catalog"));
        assert_eq!(nearest("ratings", names()), None);
        assert_eq!(nearest("cart", names()), None, "it is there");
    }
}
