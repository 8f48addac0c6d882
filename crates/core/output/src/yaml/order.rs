//! The order of keys: go-yaml's "natural" one, in which `p2` stands before `p10`.

use std::cmp::Ordering;

/// Compares two keys: marks before digits before letters, and digits in a row as one number.
///
/// go-yaml's own comparison runs in a circle for keys such as `a12`, `a1b` and `a2`; this one calls
/// `a12` the last.
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (Some(first_a), Some(first_b)) = (a.chars().next(), b.chars().next()) else {
            return a.len().cmp(&b.len());
        };
        let both_digits = first_a.is_ascii_digit() && first_b.is_ascii_digit();
        let split = |text: &'_ str, first: char| {
            if both_digits {
                digits(text)
            } else {
                first.len_utf8()
            }
        };
        let (token_a, rest_a) = a.split_at(split(a, first_a));
        let (token_b, rest_b) = b.split_at(split(b, first_b));
        let order = if both_digits {
            compare_numbers(token_a, token_b)
        } else {
            (class(first_a), first_a).cmp(&(class(first_b), first_b))
        };
        if order.is_ne() {
            return order;
        }
        (a, b) = (rest_a, rest_b);
    }
}

fn class(c: char) -> u8 {
    match c {
        '0'..='9' => 1,
        c if c.is_alphabetic() => 2,
        _ => 0,
    }
}

/// How many digits stand at the front.
fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

fn compare_numbers(a: &str, b: &str) -> Ordering {
    let (m, n) = (a.trim_start_matches('0'), b.trim_start_matches('0'));
    (m.len(), m, a.len()).cmp(&(n.len(), n, b.len()))
}
