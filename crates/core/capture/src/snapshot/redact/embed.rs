//! What a string with escapes stands for, and where each byte of it came from.

/// The text inside a string of JSON, or of YAML in double quotes.
#[derive(Debug)]
pub(super) struct InnerText {
    pub text: Vec<u8>,
    /// Offsets in the text and in the source, wherever the two stop running in step.
    jumps: Vec<(usize, usize)>,
}

impl InnerText {
    /// Reads what stands between the quotes.
    pub(super) fn of(source: &[u8]) -> Self {
        let mut out = Self {
            text: Vec::with_capacity(source.len()),
            jumps: vec![(0, 0)],
        };
        let mut at = 0;
        while let Some(plain) = memchr::memchr(b'\\', &source[at..]) {
            out.text.extend_from_slice(&source[at..at + plain]);
            at += plain;
            at += out.escape(&source[at..]);
            out.jumps.push((out.text.len(), at));
        }
        out.text.extend_from_slice(&source[at..]);
        out
    }

    /// Where the byte at `at` comes from.
    pub(super) fn source(&self, at: usize) -> usize {
        let next = self.jumps.partition_point(|&(text, _)| text <= at);
        let (text, source) = self.jumps[next - 1];
        source + (at - text)
    }

    /// Reads one escape and returns its length.
    fn escape(&mut self, source: &[u8]) -> usize {
        let simple = match source.get(1) {
            Some(b'n') => b'\n',
            Some(b't') => b'\t',
            Some(b'r') => b'\r',
            Some(b'u') => return self.unicode(source, 4),
            Some(b'x') => return self.unicode(source, 2),
            // YAML's line continuation: the line break and the indentation after it stand for
            // nothing.
            Some(b'\n') => return source.len() - source[1..].trim_ascii_start().len(),
            Some(&other) => other,
            // Cut off: half an escape is no character.
            None => return 1,
        };
        self.text.push(simple);
        2
    }

    /// A character by its number. Only the ASCII ones matter here; others stand for themselves.
    fn unicode(&mut self, source: &[u8], digits: usize) -> usize {
        let Some(code) = code_of(source.get(2..2 + digits)) else {
            self.text.push(b'?');
            return 2;
        };
        match u8::try_from(code) {
            Ok(ascii) if ascii.is_ascii() => self.text.push(ascii),
            _ => self.text.push(b'?'),
        }
        2 + digits
    }
}

fn code_of(digits: Option<&[u8]>) -> Option<u32> {
    u32::from_str_radix(str::from_utf8(digits?).ok()?, 16).ok()
}
