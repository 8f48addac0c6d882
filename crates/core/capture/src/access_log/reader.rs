//! Lines of one log, told apart: requests, other lines, and lines that are neither.

use super::builtin;
use super::format::LogFormat;
use super::record::AccessRecord;
use super::tunnel;
use super::wrapping::{is_of_agent, unwrap};

/// The formats to try: those that were given, then Istio's and Envoy's own.
#[derive(Clone, Debug, Default)]
pub struct FormatList(Vec<LogFormat>);

/// What a line is.
#[derive(Debug, PartialEq, Eq)]
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every line of a long log is this one, and a box costs more"
)]
pub enum LineKind<'a> {
    /// A request or a connection.
    Access(AccessRecord<'a>),
    /// It starts as an access log does, and goes on otherwise.
    Malformed,
    /// Anything else.
    Other,
    /// The start of a line that goes on in the next.
    Part,
}

/// Reads line by line. What fitted last is tried first.
#[derive(Debug)]
pub struct LogReader<'f> {
    formats: Vec<&'f LogFormat>,
    last: usize,
    /// A long line so far, which the container runtime has cut.
    part: String,
}

impl FormatList {
    /// Only Istio's and Envoy's own.
    pub const OWN: Self = Self(Vec::new());

    /// These before the built-in ones.
    pub fn new(given: Vec<LogFormat>) -> Self {
        Self(given)
    }

    /// How many were given.
    pub fn given(&self) -> usize {
        self.0.len()
    }

    /// A reader of one log.
    pub fn reader(&self) -> LogReader<'_> {
        LogReader {
            formats: self.0.iter().chain(builtin::formats()).collect(),
            last: 0,
            part: String::new(),
        }
    }
}

impl<'f> LogReader<'f> {
    /// Tells what a line is; the line break may still be there.
    pub fn read<'a>(&mut self, line: &'a str) -> LineKind<'a>
    where
        'f: 'a,
    {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if self.part.is_empty()
            && let Some(record) = self.quick(line)
        {
            return LineKind::Access(record);
        }
        self.unwrapped(line)
    }

    /// Takes off what others have put around the line, and puts cut lines together.
    fn unwrapped<'a>(&mut self, line: &'a str) -> LineKind<'a>
    where
        'f: 'a,
    {
        // ztunnel's lines look like an agent's, but for their scope.
        if let Some(record) = tunnel::read(line) {
            return LineKind::Access(record);
        }
        if is_of_agent(line) {
            return LineKind::Other;
        }
        let Some(unwrapped) = unwrap(line) else {
            return self.known(line);
        };
        if unwrapped.is_part {
            self.part.push_str(&unwrapped.text);
            return LineKind::Part;
        }
        if self.part.is_empty()
            && let std::borrow::Cow::Borrowed(text) = unwrapped.text
        {
            return self.known(text);
        }
        let whole = std::mem::take(&mut self.part) + &unwrapped.text;
        match self.known(&whole) {
            LineKind::Access(record) => LineKind::Access(record.into_owned()),
            LineKind::Malformed => LineKind::Malformed,
            LineKind::Other | LineKind::Part => LineKind::Other,
        }
    }

    /// Tries every format, and then whether one begins somewhere in the line.
    fn known<'a>(&mut self, text: &'a str) -> LineKind<'a>
    where
        'f: 'a,
    {
        if let Some(record) = self.quick(text).or_else(|| self.careful(text)) {
            return LineKind::Access(record);
        }
        if self.begins(text) {
            return LineKind::Malformed;
        }
        // Whatever a shipper has put before it, the line itself is whole.
        let Some(text) = start_in(text) else {
            return LineKind::Other;
        };
        match self.quick(text).or_else(|| self.careful(text)) {
            Some(record) => LineKind::Access(record),
            None => LineKind::Other,
        }
    }

    fn quick<'a>(&mut self, line: &'a str) -> Option<AccessRecord<'a>>
    where
        'f: 'a,
    {
        if let Some(record) = self.formats[self.last].quick(line) {
            return Some(record);
        }
        for (i, format) in self.formats.iter().enumerate() {
            if let Some(record) = format.quick(line) {
                self.last = i;
                return Some(record);
            }
        }
        None
    }

    fn careful<'a>(&self, line: &'a str) -> Option<AccessRecord<'a>>
    where
        'f: 'a,
    {
        for format in &self.formats {
            if let LogFormat::Text(text) = format
                && text.begins(line)
                && let Some(record) = text.careful(line)
            {
                return Some(record);
            }
        }
        None
    }

    fn begins(&self, line: &str) -> bool {
        for format in &self.formats {
            if let LogFormat::Text(text) = format
                && text.begins(line)
            {
                return true;
            }
        }
        line.starts_with("{\"") && line.contains("\"response_code\"")
    }
}

impl LogFormat {
    fn quick<'a>(&'a self, line: &'a str) -> Option<AccessRecord<'a>> {
        match self {
            Self::Text(text) => text.quick(line),
            Self::Json(json) => json.read(line),
        }
    }
}

/// Where `[2026-` or `{"` stands in a line, not too far from its start.
fn start_in(line: &str) -> Option<&str> {
    // The first byte is left out: a line that starts there was tried already.
    for (at, six) in line.as_bytes().windows(6).enumerate().take(300).skip(1) {
        let is_start = match six {
            [b'[', year @ .., b'-'] => year.iter().all(u8::is_ascii_digit),
            [b'{', b'"', ..] => true,
            _ => false,
        };
        if is_start {
            return line.get(at..);
        }
    }
    None
}
