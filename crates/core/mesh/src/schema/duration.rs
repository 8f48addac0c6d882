//! Durations as Istio's objects write them, which is as Go does: `1.5s`, `2m30s`, `100ms`.

use super::describe::DurationRule;

const MILLISECOND: f64 = 1e6;
const SECOND: f64 = 1e9;

/// What is wrong with a duration, to follow the value.
pub(super) fn problem(span: DurationRule, text: &str) -> Option<&'static str> {
    if span == DurationRule::Gateway {
        return (!is_of_gateway_api(text)).then_some("not a duration such as \"10s\" or \"1h30m\"");
    }
    let Some(nanoseconds) = nanoseconds(text) else {
        return Some("not a duration such as \"1.5s\"");
    };
    match span {
        DurationRule::Free | DurationRule::Gateway => None,
        _ if nanoseconds < MILLISECOND => Some("less than a millisecond"),
        _ if nanoseconds % MILLISECOND != 0.0 => Some("finer than a millisecond"),
        DurationRule::Seconds if nanoseconds % SECOND != 0.0 => Some("finer than a second"),
        DurationRule::Milliseconds | DurationRule::Seconds => None,
    }
}

/// "A duration string is a possibly signed sequence of decimal numbers, each with optional fraction
/// and a unit suffix".
pub(super) fn nanoseconds(text: &str) -> Option<f64> {
    let (sign, mut rest) = match text.as_bytes().first()? {
        b'-' => (-1.0, &text[1..]),
        b'+' => (1.0, &text[1..]),
        _ => (1.0, text),
    };
    if rest == "0" {
        return Some(0.0);
    }
    let mut total = 0.0;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        let end = rest[digits..]
            .find(|c: char| c.is_ascii_digit() || c == '.')
            .map_or(rest.len(), |at| digits + at);
        total += number * unit(&rest[digits..end])?;
        rest = &rest[end..];
        if rest.is_empty() {
            // Fractions of a second are told exactly enough by whole nanoseconds.
            return Some((sign * total).round());
        }
    }
}

fn unit(name: &str) -> Option<f64> {
    Some(match name {
        "ns" => 1.0,
        "us" | "µs" | "μs" => 1e3,
        "ms" => MILLISECOND,
        "s" => SECOND,
        "m" => 60.0 * SECOND,
        "h" => 3600.0 * SECOND,
        _ => return None,
    })
}

/// `^([0-9]{1,5}(h|m|s|ms)){1,4}$`
fn is_of_gateway_api(text: &str) -> bool {
    let mut rest = text;
    for _ in 0..4 {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        let unit = ["ms", "h", "m", "s"]
            .into_iter()
            .find(|unit| rest[digits..].starts_with(unit));
        let (1..=5, Some(unit)) = (digits, unit) else {
            return false;
        };
        rest = &rest[digits + unit.len()..];
        if rest.is_empty() {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, seconds) in [
            ("1.5s", Some(1.5)),
            ("2m30s", Some(150.0)),
            ("100ms", Some(0.1)),
            ("1h", Some(3600.0)),
            ("0", Some(0.0)),
            ("-1s", Some(-1.0)),
            (".5s", Some(0.5)),
            ("5", None),
            ("1d", None),
            ("s", None),
            ("", None),
            ("1 s", None),
            ("1s2", None),
            (".s", None),
        ] {
            assert_eq!(nanoseconds(text).map(|n| n / SECOND), seconds, "{text}");
        }
    }

    #[test]
    fn what_a_field_asks_for_is_held() {
        for (span, text, is_bad) in [
            (DurationRule::Milliseconds, "1ms", false),
            (DurationRule::Milliseconds, "0s", true),
            (DurationRule::Milliseconds, "1.0005s", true),
            (DurationRule::Milliseconds, "-1s", true),
            (DurationRule::Seconds, "24h", false),
            (DurationRule::Seconds, "1.5s", true),
            (DurationRule::Free, "0s", false),
            (DurationRule::Free, "soon", true),
            (DurationRule::Gateway, "1h30m", false),
            (DurationRule::Gateway, "0s", false),
            (DurationRule::Gateway, "1.5s", true),
            (DurationRule::Gateway, "100000s", true),
            (DurationRule::Gateway, "", true),
            (DurationRule::Gateway, "1s1s1s1s1s", true),
        ] {
            assert_eq!(problem(span, text).is_some(), is_bad, "{text} as {span:?}");
        }
    }
}
