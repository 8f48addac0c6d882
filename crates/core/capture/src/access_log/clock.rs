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
        match self.time(text) {
            Some(time) => Cow::Owned(time.to_string()),
            None => Cow::Borrowed(text),
        }
    }

    fn time(&self, text: &str) -> Option<Time> {
        let mut format = self.0.as_str();
        let mut rest = text;
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
        // What is left over means that another format wrote it.
        if !rest.is_empty() {
            return None;
        }
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
    let length = modifiers + letter.len_utf8();
    // `%ES`, `%E3S`, `%E*S`: seconds with their fraction.
    let letter = if letter == 'S' && modifiers > 0 {
        '.'
    } else {
        letter
    };
    Some((letter, length))
}

impl TimeParts {
    /// Reads what a directive writes from the start of the text, and gives the rest.
    fn take<'t>(&mut self, directive: char, text: &'t str) -> Option<&'t str> {
        let (number, rest) = match directive {
            // Those that stand for several others.
            'F' => return self.take_all("Y-m-d", text),
            'T' => return self.take_all("H:M:S", text),
            'D' => return self.take_all("m/d/y", text),
            '.' => return self.take_seconds(text),
            'Z' => return behind_zone(text),
            'Y' => number(text, 4)?,
            'd' | 'e' => number(text.trim_start(), 2)?,
            'y' | 'm' | 'H' | 'M' | 'S' => number(text, 2)?,
            'b' | 'h' => month(text)?,
            // Eleven digits last for three thousand years.
            's' => number(text, 11)?,
            'f' => nanoseconds(text)?,
            'z' => offset(text)?,
            _ => return None,
        };
        match directive {
            'Y' => self.date[0] = Some(number),
            'y' => self.date[0] = Some(2000 + number),
            'm' | 'b' | 'h' => self.date[1] = Some(number),
            'd' | 'e' => self.date[2] = Some(number),
            'H' => self.clock[0] = number,
            'M' => self.clock[1] = number,
            'S' => self.clock[2] = number,
            's' => self.epoch = Some(number),
            'f' => self.nanos = u32::try_from(number).ok()?,
            _ => self.offset = number,
        }
        Some(rest)
    }

    /// Reads several directives, with what stands between them.
    fn take_all<'t>(&mut self, directives: &str, mut text: &'t str) -> Option<&'t str> {
        for letter in directives.chars() {
            text = if letter.is_ascii_alphabetic() {
                self.take(letter, text)?
            } else {
                text.strip_prefix(letter)?
            };
        }
        Some(text)
    }

    /// Reads seconds, and their fraction when there is one.
    fn take_seconds<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let rest = self.take('S', text)?;
        match rest.strip_prefix('.') {
            Some(fraction) => self.take('f', fraction),
            None => Some(rest),
        }
    }

    fn time(&self) -> Option<Time> {
        Some(Time {
            seconds: self.seconds()? - self.offset,
            nanos: self.nanos,
        })
    }

    fn seconds(&self) -> Option<i64> {
        if let Some(epoch) = self.epoch {
            return Some(epoch);
        }
        let [Some(year), Some(month), Some(day)] = self.date else {
            return None;
        };
        let [hour, minute, second] = self.clock;
        let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
        Some(Time::parse(&text)?.seconds)
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

/// A fraction of a second, of any number of digits.
fn nanoseconds(text: &str) -> Option<(i64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 {
        return None;
    }
    let padded = format!("{:0<9}", &text[..digits]);
    Some((padded[..9].parse().ok()?, &text[digits..]))
}

fn behind_zone(text: &str) -> Option<&str> {
    for zone in ["UTC", "GMT", "Z"] {
        if let Some(rest) = text.strip_prefix(zone) {
            return Some(rest);
        }
    }
    None
}

fn month(text: &str) -> Option<(i64, &str)> {
    const NAMES: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    for (number, name) in (1..).zip(NAMES) {
        if let Some(rest) = text.strip_prefix(name) {
            return Some((number, rest));
        }
    }
    None
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
            ("%é", "x", "x"),
            ("%E3\u{fffd}:%S", "x", "x"),
            ("%s", "soon", "soon"),
        ] {
            assert_eq!(TimeFormat::new(format).read(text), expected, "{format}");
        }
    }
}
