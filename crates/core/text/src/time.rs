//! Points in time as documents write them. The core has no clock: "now" is the Snapshot's
//! `taken_at`.

use std::fmt;

/// A point in time, to the nanosecond, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Seconds since 1970-01-01T00:00:00Z.
    pub seconds: i64,
    /// Nanoseconds of the second.
    pub nanos: u32,
}

impl Time {
    /// A whole second.
    pub fn from_seconds(seconds: i64) -> Self {
        Self { seconds, nanos: 0 }
    }

    /// Reads RFC 3339: `2026-11-15T06:30:51.055587345Z`, or with an offset such as `+02:00`.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, rest) = text.split_at_checked(10)?;
        // RFC 3339, 5.6: "T" and "Z" "may alternatively be lower case", and applications "may
        // choose, for the sake of readability, to specify a full-date and full-time separated by
        // (say) a space character".
        let clock = rest.strip_prefix(['T', 't', ' '])?;
        let local = date_seconds(date)? + clock_seconds(clock)?;
        let (nanos, zone) = fraction(clock.get(8..)?)?;
        Some(Self {
            seconds: local - offset(zone)?,
            nanos,
        })
    }

    /// As proto3 JSON writes a `Timestamp`: "uses 0, 3, 6 or 9 fractional digits".
    pub fn to_proto(self) -> String {
        let fraction = format!("{:09}", self.nanos);
        let digits = match self.nanos {
            0 => return self.to_string(),
            n if n % 1_000_000 == 0 => 3,
            n if n % 1_000 == 0 => 6,
            _ => 9,
        };
        let whole = Self::from_seconds(self.seconds).to_string();
        format!("{}.{}Z", whole.trim_end_matches('Z'), &fraction[..digits])
    }

    /// Seconds from `earlier` to this time, rounded down.
    pub fn seconds_since(self, earlier: Self) -> i64 {
        self.seconds - earlier.seconds - i64::from(self.nanos < earlier.nanos)
    }
}

/// RFC 3339 in UTC; the fraction only when there is one.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Euclidean, so that the second of the day is not negative before 1970.
        let days = self.seconds.div_euclid(86_400);
        let of_day = self.seconds.rem_euclid(86_400);
        let (year, month, day) = civil_from_days(days);
        let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}"
        )?;
        if self.nanos != 0 {
            write!(f, ".{}", format!("{:09}", self.nanos).trim_end_matches('0'))?;
        }
        f.write_str("Z")
    }
}

/// The first second of `2026-11-15`.
fn date_seconds(date: &str) -> Option<i64> {
    let year = field(date, 0, 4)?;
    let month = field(date, 5, 7)?;
    let day = field(date, 8, 10)?;
    if !has_separators(date, [4, 7], b'-') || !(1..=12).contains(&month) {
        return None;
    }
    if day < 1 || day > days_in(year, month) {
        return None;
    }
    Some(days_from_civil(year, month, day) * 86_400)
}

/// The second of the day of `06:30:51`.
fn clock_seconds(clock: &str) -> Option<i64> {
    let hour = field(clock, 0, 2)?;
    let minute = field(clock, 3, 5)?;
    let second = field(clock, 6, 8)?;
    // A leap second is read as the second after it.
    if !has_separators(clock, [2, 5], b':') || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(hour * 3600 + minute * 60 + second)
}

fn has_separators(text: &str, places: [usize; 2], separator: u8) -> bool {
    let bytes = text.as_bytes();
    bytes.get(places[0]) == Some(&separator) && bytes.get(places[1]) == Some(&separator)
}

fn field(text: &str, from: usize, to: usize) -> Option<i64> {
    let digits = text.get(from..to)?;
    // `parse` alone would take `+7`.
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    digits.parse().ok()
}

/// Splits `.123Z` into nanoseconds and the zone.
fn fraction(text: &str) -> Option<(u32, &str)> {
    let Some(rest) = text.strip_prefix('.') else {
        return Some((0, text));
    };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    // Nine digits, filled up with zeros: logs have millions of times, so without a text for it.
    let mut nanos = 0;
    for place in 0..9 {
        let digit = if place < digits {
            rest.as_bytes()[place] - b'0'
        } else {
            0
        };
        nanos = nanos * 10 + u32::from(digit);
    }
    Some((nanos, &rest[digits..]))
}

fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    // RFC 3339, 5.6: `time-numoffset = ("+" / "-") time-hour ":" time-minute`.
    if zone.len() != 6 || zone.as_bytes()[3] != b':' {
        return None;
    }
    Some(sign * (field(zone, 1, 3)? * 3600 + field(zone, 4, 6)? * 60))
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01 of a date in the Gregorian calendar. Years start in March here, so that
/// the leap day is the last day of a year and months have a regular length.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// The inverse of [`days_from_civil`].
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let (day, month) = (
        day_of_year - (153 * shifted + 2) / 5 + 1,
        (shifted + 2) % 12 + 1,
    );
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_3339_is_read_and_written() {
        for (text, seconds, nanos, canonical) in [
            ("1970-01-01T00:00:00Z", 0, 0, "1970-01-01T00:00:00Z"),
            (
                "2026-11-15T06:30:51.055587345Z",
                1_794_724_251,
                55_587_345,
                "2026-11-15T06:30:51.055587345Z",
            ),
            (
                "2024-02-29T23:59:60Z",
                1_709_251_200,
                0,
                "2024-03-01T00:00:00Z",
            ),
            (
                "2000-01-01T00:00:00.5+02:00",
                946_677_600,
                500_000_000,
                "1999-12-31T22:00:00.5Z",
            ),
            (
                "0001-01-01T00:00:00Z",
                -62_135_596_800,
                0,
                "0001-01-01T00:00:00Z",
            ),
        ] {
            let time = Time::parse(text).expect(text);
            assert_eq!(
                (time.seconds, time.nanos, time.to_string().as_str()),
                (seconds, nanos, canonical)
            );
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "2026-11-15",
            "2026-13-01T00:00:00Z",
            "2023-02-29T00:00:00Z",
            "2026-11-15T06:30:51",
            "2026-11-15T06:30:51.Z",
            "2026/11/15T06:30:51Z",
            "2026-11-15T06:30:51+0200",
            "é026-11-15T06:30:51Z",
            "2026-11-15T24:00:00Z",
        ] {
            assert_eq!(Time::parse(text), None, "{text}");
        }
    }

    #[test]
    fn proto3_writes_digits_by_threes() {
        for (text, expected) in [
            ("2026-11-15T06:30:51Z", "2026-11-15T06:30:51Z"),
            ("2026-11-15T06:30:51.5Z", "2026-11-15T06:30:51.500Z"),
            ("2026-11-15T06:30:51.0559Z", "2026-11-15T06:30:51.055900Z"),
            (
                "2026-11-15T06:30:51.05596144Z",
                "2026-11-15T06:30:51.055961440Z",
            ),
        ] {
            assert_eq!(
                Time::parse(text).map(Time::to_proto).as_deref(),
                Some(expected)
            );
        }
    }

    #[test]
    fn ages_round_down() {
        let at = |text| Time::parse(text).expect("a time");
        let (a, b) = (at("2026-11-15T06:30:51.9Z"), at("2026-11-15T06:30:54.1Z"));
        assert_eq!((b.seconds_since(a), a.seconds_since(b)), (2, -3));
    }
}
