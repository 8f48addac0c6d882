//! Backslashes, outside and inside of classes.

use std::fmt::Write;

use super::repeat::PatternProblem;

/// What an escape stands for.
pub(super) enum Escape {
    Char(char),
    /// A class or what stands for one, in the `regex` crate's syntax.
    Class(String),
    /// `\b` or `\B`
    Boundary(char),
    /// `\A` or `\z`
    Anchor(char),
}

/// Writes a character that stands for itself.
pub(super) fn push_literal(out: &mut String, c: char) {
    if c.is_ascii() && !c.is_ascii_alphanumeric() {
        write!(out, "\\x{{{:X}}}", u32::from(c)).expect("a String takes all text");
    } else {
        out.push(c);
    }
}

/// The escape at the start of `text`, which is a backslash, and what follows it.
pub(super) fn parse(text: &str) -> Result<(Escape, &str), PatternProblem> {
    if let Some((class, rest)) = class(text)? {
        return Ok((Escape::Class(class), rest));
    }
    let mut chars = text[1..].chars();
    let escape = match chars.next() {
        Some(c @ ('b' | 'B')) => Escape::Boundary(c),
        Some(c @ ('A' | 'z')) => Escape::Anchor(c),
        // Any byte, which is any character in Latin-1.
        Some('C') => Escape::Class("(?s:.)".to_owned()),
        _ => return character(text).map(|(c, rest)| (Escape::Char(c), rest)),
    };
    Ok((escape, chars.as_str()))
}

/// `\d`, `\p{Greek}` and the like at the start of `text`; none when it starts with something else.
pub(super) fn class(text: &str) -> Result<Option<(String, &str)>, PatternProblem> {
    let mut chars = text.strip_prefix('\\').unwrap_or_default().chars();
    let class = match chars.next() {
        // "\d digits (≡ [0-9])", "\s whitespace (≡ [\t\n\f\r ])", "\w word characters (≡
        // [0-9A-Za-z_])"
        Some('d') => "[0-9]",
        Some('D') => "[^0-9]",
        Some('s') => r"[\t\n\f\r\x20]",
        Some('S') => r"[^\t\n\f\r\x20]",
        Some('w') => "[0-9A-Za-z_]",
        Some('W') => "[^0-9A-Za-z_]",
        Some(p @ ('p' | 'P')) => return unicode(p == 'P', chars.as_str()).map(Some),
        _ => return Ok(None),
    };
    Ok(Some((class.to_owned(), chars.as_str())))
}

/// The name behind `\p`: one letter, or several in braces; `^` turns it round once more.
fn unicode(negated: bool, text: &str) -> Result<(String, &str), PatternProblem> {
    let (name, rest) = match text.strip_prefix('{') {
        Some(braced) => braced.split_once('}').ok_or(r"a `\p{` is not closed")?,
        None => text.split_at(text.chars().next().map_or(0, char::len_utf8)),
    };
    let (negated, name) = match name.strip_prefix('^') {
        Some(name) => (!negated, name),
        None => (negated, name),
    };
    let sign = if negated { "^" } else { "" };
    let inside = match name {
        "Any" => r"\x{0}-\x{10FFFF}".to_owned(),
        // RE2 leaves unassigned code points out; of surrogates there are none in Latin-1.
        "C" => r"\p{Cc}\p{Cf}\p{Co}".to_owned(),
        _ if CATEGORIES.contains(&name) => format!(r"\p{{{name}}}"),
        // "Unicode character class names … scripts": each starts with a capital and has at least
        // four letters… or `Yi`.
        _ if is_script(name) => format!(r"\p{{sc={name}}}"),
        _ => return Err(format!(r"`\p{{{name}}}` names no class of characters").into()),
    };
    Ok((format!("[{sign}{inside}]"), rest))
}

const CATEGORIES: &[&str] = &[
    "Cc", "Cf", "Co", "L", "Ll", "Lm", "Lo", "Lt", "Lu", "M", "Mc", "Me", "Mn", "N", "Nd", "Nl",
    "No", "P", "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S", "Sc", "Sk", "Sm", "So", "Z", "Zl",
    "Zp", "Zs",
];

/// RE2 knows the long names of scripts, in their own spelling: `Greek`, `Old_Italic`,
/// `SignWriting`, `Nko`.
fn is_script(name: &str) -> bool {
    if name.len() <= 2 && name != "Yi" {
        return false;
    }
    for word in name.split('_') {
        let is_capitalized = word.as_bytes().first().is_some_and(u8::is_ascii_uppercase);
        if !is_capitalized || !word.bytes().all(|b| b.is_ascii_alphabetic()) {
            return false;
        }
    }
    true
}

/// The one character that the escape at the start of `text` stands for, and what follows it.
pub(super) fn character(text: &str) -> Result<(char, &str), PatternProblem> {
    let mut chars = text[1..].chars();
    let Some(c) = chars.next() else {
        return Err("a backslash at the end".into());
    };
    let simple = match c {
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'a' => '\x07',
        'f' => '\x0c',
        'v' => '\x0b',
        '0'..='7' => return octal(&text[1..]).ok_or_else(|| not_an_escape(c)),
        'x' => return hexadecimal(chars.as_str()).ok_or_else(|| not_an_escape(c)),
        // RE2 lets any punctuation be escaped, and no other letter: those are kept for later.
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => c,
        _ => return Err(not_an_escape(c)),
    };
    Ok((simple, chars.as_str()))
}

fn not_an_escape(c: char) -> PatternProblem {
    format!(r"`\{c}` is not RE2 syntax").into()
}

/// Up to three digits. "Single non-zero digit is a backreference; not supported".
fn octal(text: &str) -> Option<(char, &str)> {
    let digits = text
        .bytes()
        .take(3)
        .take_while(|b| (b'0'..=b'7').contains(b))
        .count();
    let is_backreference = digits == 1 && !text.starts_with('0');
    if is_backreference {
        return None;
    }
    let code = u32::from_str_radix(&text[..digits], 8).ok()?;
    Some((latin_1(code)?, &text[digits..]))
}

/// Two digits, or any number of them in braces.
fn hexadecimal(text: &str) -> Option<(char, &str)> {
    let (digits, rest) = match text.strip_prefix('{') {
        Some(braced) => braced.split_once('}')?,
        None => (text.get(..2)?, &text[2..]),
    };
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let code = match digits.trim_start_matches('0') {
        "" => 0,
        digits => u32::from_str_radix(digits, 16).ok()?,
    };
    Some((latin_1(code)?, rest))
}

/// A code beyond the largest character is an error, and that is 255.
fn latin_1(code: u32) -> Option<char> {
    u8::try_from(code).ok().map(char::from)
}
