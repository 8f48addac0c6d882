//! Values by their names in running text: arguments, queries, connection strings, what people write
//! into logs.

use std::ops::Range;

use super::name::{self, NameClass};
use super::token::run;
use super::{SecretFinder, TextSyntax, cover, flow};

impl SecretFinder<'_> {
    /// `--password=x`, `password=x` in a query, in a log, in a connection string.
    pub(super) fn assigned(&mut self, class: NameClass, name: Range<usize>) {
        let start = name.end + 1;
        let before = name.start.checked_sub(1).and_then(|at| self.byte(at));
        let in_query = matches!(before, Some(b'?' | b'&' | b';'));
        let range = match before {
            // An argument as a string of its own may hold any sign.
            Some(quote @ (b'"' | b'\'')) if class != NameClass::Unsure => {
                start..flow::close_quote(self.text, start, quote)
            }
            None if self.depth.strings > 0 && class != NameClass::Unsure => {
                start..self.end_of_line(start)
            }
            _ if self.format == TextSyntax::Yaml && self.is_item(name.start) => {
                start..self.end_of_line(start)
            }
            _ => self.word_at(start),
        };
        let value = &self.text[range.clone()];
        let is_secret = match class {
            NameClass::Query => in_query,
            NameClass::Unsure if in_query => !name::is_harmless(value),
            _ => name::is_secret(class, value),
        };
        self.mark(is_secret.then_some(range));
    }

    /// A value that does not follow its name at once: `password = "x"` in TOML, Lua or AWS'
    /// credentials, `<password>x</password>`, `login a password x` in a `.netrc`.
    pub(super) fn apart(&mut self, class: NameClass, name: &Range<usize>) -> bool {
        let sign = run(self.text, name.end, |b| b == b' ' || b == b'\t');
        let before = name.start.checked_sub(1).and_then(|at| self.byte(at));
        match self.byte(sign) {
            Some(b'>') if before == Some(b'<') && sign == name.end => {
                let start = sign + 1;
                let range = start..run(self.text, start, |b| !matches!(b, b'<' | b'\n'));
                let is_secret = name::is_secret(class, &self.text[range.clone()]);
                self.mark(is_secret.then_some(range));
                true
            }
            Some(b'=') if sign > name.end && !matches!(self.byte(sign + 1), Some(b'=' | b'~')) => {
                let skipped = sign + 1 + usize::from(self.byte(sign + 1) == Some(b'>'));
                let start = run(self.text, skipped, |b| b == b' ' || b == b'\t');
                let is_quoted = matches!(self.byte(start), Some(b'"' | b'\''));
                let range = self.word_at(start);
                let value = &self.text[range.clone()];
                let line = memchr::memrchr(b'\n', &self.text[..name.start]).map_or(0, |at| at + 1);
                let is_first = self.text[line..name.start].trim_ascii().is_empty();
                let is_secret = name::is_secret(class, value)
                    && (is_quoted || is_first || is_told_secret(class, value, false));
                self.mark(is_secret.then_some(range));
                true
            }
            Some(_) if sign > name.end && class == NameClass::Password && self.is_netrc(name) => {
                let range = self.word_at(sign);
                self.mark((!name::is_harmless(&self.text[range.clone()])).then_some(range));
                true
            }
            _ => false,
        }
    }

    /// Whether a `login` with its user stands before the name.
    fn is_netrc(&self, name: &Range<usize>) -> bool {
        const ENTRY: usize = 128;
        let near = &self.text[name.start.saturating_sub(ENTRY)..name.start];
        let Some(login) = memchr::memmem::rfind(near, b"login ") else {
            return false;
        };
        near[login..]
            .split(u8::is_ascii_whitespace)
            .filter(|word| !word.is_empty())
            .count()
            == 2
    }

    /// `password: x`. Error messages have the same form, so a plain word is none: `token: expired`.
    pub(super) fn told(&mut self, class: NameClass, name: Range<usize>) {
        let start = run(self.text, name.end + 1, |b| b == b' ' || b == b'\t');
        if start == name.end + 1 && !self.is_pair(&name) {
            return;
        }
        // Go's `map[Cookie:[a=b; c=d]]`.
        let is_listed = start == name.end + 1 && self.byte(start) == Some(b'[');
        let start = start + usize::from(is_listed);
        let scheme = match class {
            NameClass::Header => cover::scheme(&self.text[start..]),
            _ => 0,
        };
        let value_start = start + scheme;
        let mut range = if is_listed {
            let list = &self.text[start..];
            let length = memchr::memchr2(b']', b'\n', list).unwrap_or(list.len());
            value_start..start + length.max(scheme)
        } else {
            self.word_at(value_start)
        };
        if !is_told_secret(class, &self.text[range.clone()], scheme > 0) {
            return;
        }
        // A header without a scheme, such as a cookie, goes on behind its first word.
        if class == NameClass::Header && scheme == 0 && !is_listed {
            range.end = self.end_of_string(range.end);
        }
        self.mark(Some(range));
    }

    /// Whether `name:value` without a space is a pair, as in Go's `map[password:x]`, and no image
    /// with its tag.
    fn is_pair(&self, name: &Range<usize>) -> bool {
        let before = self.text[..name.start].last();
        let value = &self.text[name.end + 1..];
        let is_version = matches!(
            value,
            [b'v', b'0'..=b'9', ..] | [b'0'..=b'9', b'.', ..] | [b'0'..=b'9', _, b'.', ..]
        );
        self.format == TextSyntax::Text
            && matches!(before, None | Some(b' ' | b'[' | b'{' | b',' | b'('))
            && !is_version
    }

    /// `--password x` in a command line, and `- --password` in a list.
    pub(super) fn flag(&mut self, class: NameClass, token: Range<usize>) {
        if self.text[token.start] != b'-' {
            return;
        }
        match self.byte(token.end) {
            Some(b' ') => {
                let range = self.word_at(run(self.text, token.end, |b| b == b' '));
                let value = &self.text[range.clone()];
                let is_secret = !value.starts_with(b"-") && name::is_secret(class, value);
                self.mark(is_secret.then_some(range));
            }
            Some(b',') if self.format != TextSyntax::Json => self.value_of(&token, token.end + 1),
            _ if self.format == TextSyntax::Yaml && self.is_item(token.start) => {
                self.block.push(token.start);
            }
            _ => {}
        }
    }

    /// What stands at `start`: something in quotes, or all up to the next space or sign that ends
    /// it.
    fn word_at(&self, start: usize) -> Range<usize> {
        if let Some(quote @ (b'"' | b'\'')) = self.byte(start) {
            let inside = &self.text[start + 1..flow::close_quote(self.text, start + 1, quote)];
            return start + 1..start + 1 + memchr::memchr(b'\n', inside).unwrap_or(inside.len());
        }
        let mut open = 0usize;
        let mut end = start;
        while let Some(&b) = self.text.get(end) {
            let next = self.text.get(end + 1);
            let is_last = next.is_none_or(|b| b.is_ascii_whitespace() || b",]})\"'".contains(b));
            match b {
                b'[' | b'(' | b'{' => open += 1,
                b']' | b')' | b'}' if open > 0 => open -= 1,
                b',' | b']' | b')' | b'}' if is_last => break,
                b'&' | b'"' | b'\'' | b'\\' | b'<' | b'>' | b';' | ..=b' ' => break,
                _ => {}
            }
            end += 1;
        }
        start..end
    }

    fn end_of_line(&self, start: usize) -> usize {
        let line = &self.text[start..];
        let line = &line[..memchr::memchr(b'\n', line).unwrap_or(line.len())];
        start + line.trim_ascii_end().len()
    }

    /// The end of the line or of the string.
    fn end_of_string(&self, start: usize) -> usize {
        run(self.text, start, |b| {
            !matches!(b, b'\n' | b'\r' | b'"' | b'\'' | b'\\')
        })
    }
}

/// Whether what somebody wrote behind a name and a colon is a secret.
fn is_told_secret(class: NameClass, value: &[u8], has_scheme: bool) -> bool {
    if name::is_harmless(value) {
        return false;
    }
    let is_long = !is_word(value) && value.len() >= 16;
    match class {
        NameClass::Password | NameClass::Credential => !is_word(value),
        NameClass::Header => has_scheme || is_long || value.contains(&b'='),
        NameClass::Unsure => is_long && name::is_secret(class, value),
        NameClass::Query => false,
    }
}

/// Whether it is a word of a sentence.
fn is_word(value: &[u8]) -> bool {
    let Some((first, rest)) = value.split_first() else {
        return true;
    };
    if !is_of_word(*first) && !first.is_ascii_uppercase() {
        return false;
    }
    let is_short = value.len() < 5 && value.iter().all(u8::is_ascii_alphabetic);
    is_short || rest.iter().all(|&b| is_of_word(b))
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_lowercase() || b".,:;()-_!".contains(&byte)
}
