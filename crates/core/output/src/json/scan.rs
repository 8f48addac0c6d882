//! JSON as a flat run of tokens; commas and colons are passed over, for the printer sets its own.

use meshladder_text::json::skip_string;

/// A part of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonToken<'a> {
    /// `{` or `[`
    Open(u8),
    /// `}` or `]`
    Close(u8),
    /// A string with its quotes.
    String(&'a str),
    /// Anything else up to the next white space or mark.
    Scalar(&'a str),
}

/// The tokens of a text; they end where a string does not.
#[derive(Debug)]
pub(super) struct JsonScan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Iterator for JsonScan<'a> {
    type Item = JsonToken<'a>;

    fn next(&mut self) -> Option<JsonToken<'a>> {
        let bytes = self.text.as_bytes();
        let between = bytes[self.at..]
            .iter()
            .take_while(|b| is_space(**b) || matches!(b, b',' | b':'))
            .count();
        let start = self.at + between;
        let first = *bytes.get(start)?;
        self.at = match first {
            b'{' | b'[' | b'}' | b']' => start + 1,
            b'"' => skip_string(bytes, start)?,
            _ => {
                start
                    + bytes[start..]
                        .iter()
                        .take_while(|b| !is_space(**b) && !is_mark(**b))
                        .count()
            }
        };
        let text = &self.text[start..self.at];
        Some(match first {
            b'{' | b'[' => JsonToken::Open(first),
            b'}' | b']' => JsonToken::Close(first),
            b'"' => JsonToken::String(text),
            _ => JsonToken::Scalar(text),
        })
    }
}

impl<'a> JsonScan<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Reads past the object or array whose bracket was the last token, and gives it as it stands;
    /// none when it does not end.
    pub(super) fn nested(&mut self) -> Option<&'a str> {
        let start = self.at - 1;
        let mut depth = 1usize;
        while depth > 0 {
            match self.next()? {
                JsonToken::Open(_) => depth += 1,
                JsonToken::Close(_) => depth -= 1,
                JsonToken::String(_) | JsonToken::Scalar(_) => {}
            }
        }
        Some(&self.text[start..self.at])
    }
}

fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\n' | b'\r' | b'\t')
}

fn is_mark(b: u8) -> bool {
    matches!(b, b'{' | b'[' | b'}' | b']' | b'"' | b',' | b':')
}
