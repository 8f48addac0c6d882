//! Regular expressions as Envoy reads them: RE2's syntax and meaning, on the `regex` crate.
//!
//! The two differ in syntax (`\Q…\E`, octal escapes, literal braces, `&&` in classes, repeats of
//! repeats) and in meaning (`\d`, `\w`, `\s` and `\b` are ASCII in RE2), so a pattern is translated
//! first. And Envoy has RE2 take patterns and texts for Latin-1: `.` is one byte, and `é` in UTF-8
//! is two of them. So each byte beyond ASCII becomes a character of its own before the `regex`
//! crate sees it.

use std::borrow::Cow;

use regex::bytes::Captures;

use crate::tri::Tri;

mod class;
mod escape;
mod repeat;
mod translate;

/// A compiled pattern. One that RE2 would refuse, or that cannot be translated, answers unknown.
#[derive(Clone, Debug)]
pub struct Regex {
    pattern: Box<str>,
    /// What every match starts with, as far as that is plain to see.
    prefix: Box<str>,
    full: Result<regex::bytes::Regex, Box<str>>,
}

/// The nesting that RE2 accepts.
const DEEPEST: u32 = 1000;

impl Regex {
    /// Compiles a pattern for matching whole texts: "The entire path (without the query string)
    /// must match the regex".
    pub fn full(pattern: &str) -> Self {
        // A pattern may end in a flag group such as `(?i)`; the inner group keeps it from reaching
        // the anchor.
        let full = translate::translate(&latin_1(pattern))
            .and_then(|rust| build(&format!(r"\A(?:{rust})\z")));
        Self {
            pattern: pattern.into(),
            prefix: literal_prefix(pattern).into(),
            full,
        }
    }

    /// The pattern as the configuration has it.
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// Why the pattern cannot be evaluated.
    pub fn problem(&self) -> Option<&str> {
        self.full.as_ref().err().map(|problem| &**problem)
    }

    /// Whether the whole text matches.
    pub fn matches(&self, text: &str) -> Tri {
        match &self.full {
            // Most paths fail here, and a large table's expressions are seldom at hand in the
            // processor's caches.
            Ok(_) if !text.starts_with(&*self.prefix) => Tri::No,
            Ok(regex) => regex.is_match(latin_1(text).as_bytes()).into(),
            Err(problem) => self.unknown(problem),
        }
    }

    fn unknown(&self, problem: &str) -> Tri {
        Tri::unknown(format!(
            "what the regular expression `{}` means: {problem}",
            self.pattern
        ))
    }
}

/// What RE2 says against a pattern, told without compiling it.
pub fn refusal(pattern: &str) -> Option<Box<str>> {
    let problem = translate::translate(&latin_1(pattern)).err()?;
    // What only we cannot express is no refusal of RE2's.
    if problem.ends_with("is not supported") {
        return None;
    }
    Some(problem)
}

/// The letters, digits and slashes that a pattern starts with, without one that a repeat may make
/// optional.
fn literal_prefix(pattern: &str) -> &str {
    // `/a|/b` starts with either.
    if pattern.contains('|') {
        return "";
    }
    let end = pattern.find(may_have_meaning).unwrap_or(pattern.len());
    let is_repeated = pattern[end..].starts_with(['*', '?', '+', '{']);
    if is_repeated {
        &pattern[..end.saturating_sub(1)]
    } else {
        &pattern[..end]
    }
}

fn may_have_meaning(c: char) -> bool {
    !c.is_ascii_alphanumeric() && !matches!(c, '/' | '-' | '_')
}

/// A pattern whose matches are replaced (`type.matcher.v3.RegexMatchAndSubstitute`).
#[derive(Clone, Debug)]
pub struct Rewrite {
    pattern: Box<str>,
    search: Result<regex::bytes::Regex, Box<str>>,
    substitution: Box<str>,
}

impl Rewrite {
    /// Compiles a pattern and what its matches become. "Capture groups in the pattern can be
    /// referenced in the substitution string … by number: \1, \2".
    pub fn compile(pattern: &str, substitution: &str) -> Self {
        let search = translate::translate(&latin_1(pattern)).and_then(|rust| build(&rust));
        Self {
            pattern: pattern.into(),
            search,
            substitution: substitution.into(),
        }
    }

    /// The text with every match replaced; none when the pattern cannot be evaluated.
    pub fn apply<'t>(&self, text: &'t str) -> Option<Cow<'t, str>> {
        let search = self.search.as_ref().ok()?;
        let substitution = latin_1(&self.substitution);
        let replace = |groups: &Captures<'_>| replacement(&substitution, groups);
        match search.replace_all(latin_1(text).as_bytes(), replace) {
            Cow::Borrowed(_) => Some(Cow::Borrowed(text)),
            Cow::Owned(replaced) => from_latin_1(replaced).map(Cow::Owned),
        }
    }

    /// The pattern and the substitution as the configuration has them.
    pub fn source(&self) -> (&str, &str) {
        (&self.pattern, &self.substitution)
    }
}

fn replacement(substitution: &str, groups: &Captures<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = substitution.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match rest.next() {
            Some(digit @ b'0'..=b'9') => {
                // A group that took no part in the match stands for nothing.
                if let Some(group) = groups.get(usize::from(digit - b'0')) {
                    out.extend(group.as_bytes());
                }
            }
            Some(other) => out.push(other),
            None => out.push(byte),
        }
    }
    out
}

/// The bytes of a text as characters.
fn latin_1(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.bytes().map(char::from).collect())
    }
}

/// The way back: each character is a byte again. None when the bytes are no text.
fn from_latin_1(characters: Vec<u8>) -> Option<String> {
    let characters = String::from_utf8(characters).ok()?;
    let mut bytes = Vec::with_capacity(characters.len());
    for c in characters.chars() {
        bytes.push(u8::try_from(c).ok()?);
    }
    String::from_utf8(bytes).ok()
}

fn build(rust: &str) -> Result<regex::bytes::Regex, Box<str>> {
    let built = regex::bytes::RegexBuilder::new(rust)
        .nest_limit(DEEPEST)
        .build();
    built.map_err(|error| in_words(&error))
}

fn in_words(error: &regex::Error) -> Box<str> {
    if matches!(error, regex::Error::CompiledTooBig(_)) {
        return "it is too large".into();
    }
    let message = error.to_string();
    format!("it cannot be translated ({})", last_line(&message)).into()
}

/// The crate's messages draw the pattern first and say what is wrong last.
fn last_line(message: &str) -> &str {
    message
        .lines()
        .last()
        .unwrap_or_default()
        .trim_start_matches("error: ")
}

#[cfg(test)]
mod tests;
