//! `%START_TIME(…)%`: times written by a format of their own, read back.

use std::borrow::Cow;

use meshladder_text::time::Time;

/// A format such as `%Y/%m/%dT%H:%M:%S%z` or `%s.%3f`.
#[derive(Clone, Debug)]
pub(super) struct TimeFormat(String);

/// What has been read of a time.
#[derive(Default)]
struct TimeParts {
    epoch: Option<i64>,
    date: [Option<i64>; 3],
    clock: [i64; 3],
    nanos: u32,
    offset: i64,
}

impl TimeFormat {
    pub(super) fn new(format: &str) -> Self {
        // Envoy takes a format in quotes too.
        Self(format.trim_matches('"').to_owned())
    }

    /// The time as RFC 3339; the text as it is when it cannot be read.
    pub(super) fn read<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.time(text)
            .map_or(Cow::Borrowed(text), |time| Cow::Owned(time.to_string()))
    }

    fn time(&self, text: &str) -> Option<Time> {
        let (mut format, mut rest) = (self.0.as_str(), text);
        let mut parts = TimeParts::default();
        while let Some(first) = format.chars().next() {
            format = &format[first.len_utf8()..];
            if first == '%' {
                let (directive, length) = directive(format)?;
                format = &format[length..];
                rest = parts.take(directive, rest)?;
            } else {
                rest = rest.strip_prefix(first)?;
            }
        }
        rest.is_empty().then_some(())?;
        parts.time()
    }
}

/// A directive's letter, and how long it is with what stands before the letter: `E3S`, `6f`.
fn directive(format: &str) -> Option<(char, usize)> {
    let modifiers = format
        .bytes()
        .take_while(|b| b.is_ascii_digit() || matches!(b, b'E' | b'*' | b'O'))
        .count();
    let letter = format[modifiers..].chars().next()?;
    // `%ES`, `%E3S`, `%E*S`: seconds with their fraction.
    let letter = if letter == 'S' && modifiers > 0 {
        '.'
    } else {
        letter
    };
    Some((letter, modifiers + 1))
}

impl TimeParts {
    /// Reads what a directive writes from the start of the text, and gives the rest.
    fn take<'t>(&mut self, directive: char, text: &'t str) -> Option<&'t str> {
        let several = |parts: &mut Self, format: &str, mut text: &'t str| {
            for letter in format.chars() {
                text = if letter.is_ascii_alphabetic() {
                    parts.take(letter, text)?
                } else {
                    text.strip_prefix(letter)?
                };
            }
            Some(text)
        };
        match directive {
            'Y' => number(text, 4).map(|(n, rest)| (self.date[0] = Some(n), rest).1),
            'y' => number(text, 2).map(|(n, rest)| (self.date[0] = Some(2000 + n), rest).1),
            'm' => number(text, 2).map(|(n, rest)| (self.date[1] = Some(n), rest).1),
            'd' | 'e' => {
                number(text.trim_start(), 2).map(|(n, rest)| (self.date[2] = Some(n), rest).1)
            }
            'b' | 'h' => month(text).map(|(n, rest)| (self.date[1] = Some(n), rest).1),
            'H' => number(text, 2).map(|(n, rest)| (self.clock[0] = n, rest).1),
            'M' => number(text, 2).map(|(n, rest)| (self.clock[1] = n, rest).1),
            'S' => number(text, 2).map(|(n, rest)| (self.clock[2] = n, rest).1),
            '.' => {
                let rest = self.take('S', text)?;
                rest.strip_prefix('.')
                    .map_or(Some(rest), |rest| self.take('f', rest))
            }
            // Eleven digits last for three thousand years.
            's' => number(text, 11).map(|(n, rest)| (self.epoch = Some(n), rest).1),
            'f' => fraction(text).map(|(n, rest)| (self.nanos = n, rest).1),
            'F' => several(self, "Y-m-d", text),
            'T' => several(self, "H:M:S", text),
            'D' => several(self, "m/d/y", text),
            'z' => offset(text).map(|(seconds, rest)| (self.offset = seconds, rest).1),
            'Z' => ["UTC", "GMT", "Z"]
                .iter()
                .find_map(|zone| text.strip_prefix(zone)),
            _ => None,
        }
    }

    fn time(&self) -> Option<Time> {
        let seconds = if let Some(epoch) = self.epoch {
            epoch
        } else {
            let [Some(year), Some(month), Some(day)] = self.date else {
                return None;
            };
            let [hour, minute, second] = self.clock;
            Time::parse(&format!(
                "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"
            ))?
            .seconds
        };
        Some(Time {
            seconds: seconds - self.offset,
            nanos: self.nanos,
        })
    }
}

fn number(text: &str, most: usize) -> Option<(i64, &str)> {
    let digits = text
        .bytes()
        .take(most)
        .take_while(u8::is_ascii_digit)
        .count();
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

fn fraction(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let padded = format!("{:0<9}", &text[..digits]);
    Some((
        padded[..9].parse().ok().filter(|_| digits > 0)?,
        &text[digits..],
    ))
}

fn month(text: &str) -> Option<(i64, &str)> {
    const NAMES: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    (1..)
        .zip(NAMES)
        .find_map(|(n, name)| Some((n, text.strip_prefix(name)?)))
}

fn offset(text: &str) -> Option<(i64, &str)> {
    let sign = match text.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, rest) = number(&text[1..], 2)?;
    let (minutes, rest) = number(rest.strip_prefix(':').unwrap_or(rest), 2)?;
    Some((sign * (hours * 3600 + minutes * 60), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_were_written() {
        for (format, text, expected) in [
            (
                "%Y/%m/%dT%H:%M:%S%z",
                "2026/11/15T07:31:02+0100",
                "2026-11-15T06:31:02Z",
            ),
            ("%s.%3f", "1794724251.055", "2026-11-15T06:30:51.055Z"),
            (
                "%Y-%m-%dT%H:%M:%E3SZ",
                "2026-11-15T06:31:02.101Z",
                "2026-11-15T06:31:02.101Z",
            ),
            (
                "%F %T.%6f",
                "2026-11-15 06:31:02.000007",
                "2026-11-15T06:31:02.000007Z",
            ),
            (
                "%d/%b/%Y:%H:%M:%S %z",
                "15/Nov/2026:06:31:02 +0000",
                "2026-11-15T06:31:02Z",
            ),
            ("%Q", "x", "x"),
            ("%s", "soon", "soon"),
        ] {
            assert_eq!(TimeFormat::new(format).read(text), expected, "{format}");
        }
    }
}
