//! The words, signs and literals of an expression.

use std::fmt;

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// A name, or `in`.
    Word(&'t str),
    /// A number, a string, `true`, `false` or `null`.
    Literal(&'t str),
    /// An operator or a bracket.
    Sign(&'t str),
}

impl fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Word(text) | Self::Literal(text) | Self::Sign(text)) = self;
        write!(f, "`{text}`")
    }
}

/// The longer first.
const SIGNS: [&str; 24] = [
    "||", "&&", "<=", ">=", "==", "!=", "<", ">", "!", "+", "-", "*", "/", "%", "?", ":", ".", ",",
    "(", ")", "[", "]", "{", "}",
];

/// Takes a text apart, or tells what it holds that is none of these.
pub(super) fn all<'t>(text: &'t str) -> Result<Vec<Token<'t>>, String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0c']);
        if let Some(comment) = rest.strip_prefix("//") {
            rest = comment.find('\n').map_or("", |end| &comment[end..]);
            continue;
        }
        let Some(first) = rest.chars().next() else {
            return Ok(tokens);
        };
        let (length, kind): (usize, fn(&'t str) -> Token<'t>) = if let Some(length) = string(rest)?
        {
            (length, Token::Literal)
        } else if first == '`' {
            let length = rest[1..].find('`').ok_or("a ` is not closed")? + 2;
            (length, Token::Word)
        } else if let Some(length) = number(rest) {
            (length, Token::Literal)
        } else if is_letter(first) {
            let length = rest
                .find(|c| !is_letter(c) && !c.is_ascii_digit())
                .unwrap_or(rest.len());
            let is_literal = ["true", "false", "null"].contains(&&rest[..length]);
            (
                length,
                if is_literal {
                    Token::Literal
                } else {
                    Token::Word
                },
            )
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            (
                sign.ok_or_else(|| format!("`{first}` means nothing"))?
                    .len(),
                Token::Sign,
            )
        };
        tokens.push(kind(&rest[..length]));
        rest = &rest[length..];
    }
}

fn is_letter(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// The length of the number that the text starts with: `1`, `0xff`, `1u`, `1.5e3`, `.5`.
fn number(text: &str) -> Option<usize> {
    let digits =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let length = hex.len()
            - hex
                .trim_start_matches(|c: char| c.is_ascii_hexdigit())
                .len();
        return (length > 0)
            .then(|| 2 + length + usize::from(hex[length..].starts_with(['u', 'U'])));
    }
    let whole = digits(text);
    let part = text[whole..].strip_prefix('.').map_or(0, digits);
    if whole + part == 0 {
        return None;
    }
    let mut length = whole + if part > 0 { part + 1 } else { 0 };
    if let Some(power) = text[length..].strip_prefix(['e', 'E']) {
        let sign = usize::from(power.starts_with(['+', '-']));
        let digits = digits(&power[sign..]);
        length += if digits > 0 { 1 + sign + digits } else { 0 };
    }
    Some(length + usize::from(part == 0 && text[length..].starts_with(['u', 'U'])))
}

/// The length of the string that the text starts with, with its prefixes.
fn string(text: &str) -> Result<Option<usize>, String> {
    let prefix = text.len() - text.trim_start_matches(['r', 'R', 'b', 'B']).len();
    let body = &text[prefix..];
    if prefix > 2 || !body.starts_with(['"', '\'']) {
        return Ok(None);
    }
    let is_raw = text[..prefix].contains(['r', 'R']);
    let quote = if body.starts_with("\"\"\"") || body.starts_with("'''") {
        &body[..3]
    } else {
        &body[..1]
    };
    let mut at = quote.len();
    loop {
        let rest = &body[at..];
        match rest.chars().next() {
            None => return Err(format!("a string is not closed: {text}")),
            Some('\n' | '\r') if quote.len() == 1 => {
                return Err(format!("a string is not closed: {text}"));
            }
            _ if rest.starts_with(quote) => return Ok(Some(prefix + at + quote.len())),
            Some('\\') if !is_raw => at += escape(rest)?,
            Some(c) => at += c.len_utf8(),
        }
    }
}

/// The length of the escape that the text starts with, as far as its letter tells.
fn escape(text: &str) -> Result<usize, String> {
    match text.chars().nth(1) {
        Some(c) if "abfnrtv\"'\\?`xXuU0123".contains(c) => Ok(1 + c.len_utf8()),
        Some(c) => Err(format!(
            "`\\{c}` is no escape; a string with an r before its quotes has none"
        )),
        None => Err("a string is not closed".to_owned()),
    }
}
