//! Durations such as `30s`, `5m`, `1h`, `500ms`.

use std::time::Duration;

/// A year: longer is a slip, and adding it to the clock must not overflow.
const MAX: u64 = 366 * 24 * 3600 * 1000;

/// Reads a duration; a bare number is seconds.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let factor: u64 = match unit {
        "ms" => 1,
        "" | "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(format!("`{unit}` is no unit of time: try ms, s, m, h or d")),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| "a time is a number and a unit, such as 30s".to_owned())?;
    let millis = number
        .checked_mul(factor)
        .filter(|millis| (1..=MAX).contains(millis));
    millis
        .map(Duration::from_millis)
        .ok_or_else(|| "a time from 1ms to a year".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        assert_eq!(parse("90s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse("7"), Ok(Duration::from_secs(7)));
        assert_eq!(parse("250ms"), Ok(Duration::from_millis(250)));
        for wrong in ["", "x", "5q", "0", "99999999999d", "-1s", "1.5s"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
