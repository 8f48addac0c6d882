//! Durations: as Istio's objects and Envoy's dumps write them, which is as Go does (`1.5s`,
//! `2m30s`, `100ms`), and as Prometheus and users do (`5m`, `1d`).

const MICROSECOND: f64 = 1e3;
const MILLISECOND: f64 = 1e6;
const SECOND: f64 = 1e9;

/// Nanoseconds of a duration in Go's syntax: "a possibly signed sequence of decimal numbers, each
/// with optional fraction and a unit suffix".
pub fn nanoseconds(text: &str) -> Option<f64> {
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
        "us" | "µs" | "μs" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        "m" => 60.0 * SECOND,
        "h" => 3600.0 * SECOND,
        _ => return None,
    })
}

/// Whole milliseconds of a duration in Go's syntax; none for a negative one.
pub fn milliseconds(text: &str) -> Option<u64> {
    let milliseconds = nanoseconds(text)? / MILLISECOND;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is not negative, and what is longer than all time is all time"
    )]
    (milliseconds >= 0.0).then_some(milliseconds as u64)
}

/// Seconds of a duration in Prometheus' syntax, such as `5m`, `1h30m` or `1d`: it has days, weeks
/// and years, which Go's has not, and neither fractions nor signs.
pub fn prometheus_seconds(text: &str) -> Option<f64> {
    const UNITS: [(&str, f64); 7] = [
        ("ms", 0.001),
        ("s", 1.0),
        ("m", 60.0),
        ("h", 3600.0),
        ("d", 86_400.0),
        ("w", 604_800.0),
        ("y", 31_536_000.0),
    ];
    let (mut rest, mut sum) = (text, 0.0);
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let (number, tail) = rest.split_at(digits);
        let letters = tail.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (unit, next) = tail.split_at(letters);
        let (_, scale) = UNITS.iter().find(|(name, _)| *name == unit)?;
        sum += number.parse::<f64>().ok()? * scale;
        rest = next;
    }
    (!text.is_empty()).then_some(sum)
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
    fn milliseconds_are_whole_and_not_negative() {
        for (text, expected) in [
            ("1s", Some(1000)),
            ("1m30s", Some(90_000)),
            ("200ms", Some(200)),
            ("0.500s", Some(500)),
            ("1.0005s", Some(1000)),
            ("-1s", None),
            ("x", None),
            ("5", None),
        ] {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }

    #[test]
    fn days_are_for_prometheus() {
        for (text, expected) in [
            ("5m", Some(300.0)),
            ("1h30m", Some(5400.0)),
            ("90s", Some(90.0)),
            ("1d", Some(86_400.0)),
            ("0s", Some(0.0)),
            ("5", None),
            ("", None),
            ("m", None),
            ("5x", None),
            ("1.5s", None),
        ] {
            assert_eq!(prometheus_seconds(text), expected, "{text}");
        }
    }
}
