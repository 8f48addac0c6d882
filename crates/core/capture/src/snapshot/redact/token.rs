//! Secrets that show by their shape, whatever document they are in and however deep in strings.

use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::name;

/// What follows a prefix that makes it a token.
#[derive(Debug)]
pub(super) struct Prefix {
    /// How many bytes follow that say something else.
    skip: usize,
    at_least: usize,
    at_most: usize,
    part: fn(u8) -> bool,
    /// The prefix itself says what kind of thing it was and may stay.
    keep: bool,
}

impl Prefix {
    /// `ghp_` and its like, and npm's.
    pub(super) const GITHUB: Self = Self {
        skip: 0,
        at_least: 30,
        at_most: usize::MAX,
        part: |b| b.is_ascii_alphanumeric(),
        keep: false,
    };
    pub(super) const LONG: Self = Self {
        skip: 0,
        at_least: 16,
        at_most: usize::MAX,
        part: is_base64url,
        keep: false,
    };
    /// An access key id: 16 more characters.
    pub(super) const AWS: Self = Self {
        skip: 0,
        at_least: 16,
        at_most: 16,
        part: |b| b.is_ascii_uppercase() || b.is_ascii_digit(),
        keep: false,
    };
    /// An API key: 35 more characters.
    pub(super) const GOOGLE: Self = Self {
        skip: 0,
        at_least: 35,
        at_most: 35,
        part: is_base64url,
        keep: false,
    };
    /// A password of an htpasswd file, as Envoy's basic auth filter reads it.
    pub(super) const SHA: Self = Self {
        skip: 0,
        at_least: 24,
        at_most: 28,
        part: is_base64,
        keep: true,
    };
    /// Another one, with a cost before it: `$2y$10$…`.
    pub(super) const BCRYPT: Self = Self {
        skip: 3,
        at_least: 53,
        at_most: 53,
        part: |b| b.is_ascii_alphanumeric() || b"./".contains(&b),
        keep: true,
    };
    /// `SG.` and two parts.
    pub(super) const SENDGRID: Self = Self {
        skip: 0,
        at_least: 40,
        at_most: usize::MAX,
        part: |b| is_base64url(b) || b == b'.',
        keep: false,
    };
    pub(super) const GZIP: Self = Self {
        skip: 0,
        at_least: 60,
        at_most: usize::MAX,
        part: is_base64,
        keep: false,
    };
}

/// A token with a well-known prefix.
pub(super) fn prefixed(text: &[u8], at: Range<usize>, prefix: &Prefix) -> Option<Range<usize>> {
    let near = at.start.saturating_sub(8);
    let is_start = word_start(&text[near..], at.start - near, is_base64url) == at.start - near;
    if !prefix.keep && !is_start {
        return None;
    }
    let start = text.len().min(at.end + prefix.skip);
    let rest = &text[..text
        .len()
        .min(start.saturating_add(prefix.at_most).saturating_add(1))];
    let end = run(rest, start, prefix.part);
    let fits = (prefix.at_least..=prefix.at_most).contains(&(end - start));
    fits.then_some(if prefix.keep { start } else { at.start }..end)
}

/// A JSON Web Token whose first part is given: parts in base64url with dots between. The signature
/// may be missing, as after a cut.
pub(super) fn jwt(text: &[u8], header: Range<usize>) -> Option<Range<usize>> {
    if header.len() < 12 || !text[header.clone()].starts_with(b"ey") {
        return None;
    }
    // `{"auths":`, the logins of registries.
    if text[header.start..].starts_with(b"eyJhdXRocyI6") {
        return Some(header.start..run(text, header.end, is_base64));
    }
    let mut end = header.end;
    let mut parts = 1;
    while text.get(end) == Some(&b'.') && parts < 5 {
        end = run(text, end + 1, is_base64url);
        parts += 1;
    }
    let claims = text.get(header.end + 1..).unwrap_or_default();
    // Five parts are an encrypted token, of which some may be empty; the signature of three may be.
    let is_token = match parts {
        1 => false,
        2 => claims.starts_with(b"eyJ"),
        5 => true,
        _ => claims.first().is_some_and(|&b| is_base64url(b)),
    };
    is_token.then_some(header.start..end)
}

/// The token behind `Bearer`.
pub(super) fn bearer(text: &[u8], at: Range<usize>) -> Option<Range<usize>> {
    let start = at.end + space_length(&text[at.end..])?;
    let start = run(text, start, |b| b == b' ');
    let end = run(text, start, |b| is_base64url(b) || b".~+/=%".contains(&b));
    let token = &text[start..end];
    // "Bearer token", "Bearer realm=": words about tokens are not tokens.
    let is_word = token.len() < 20 && !token.iter().any(u8::is_ascii_digit);
    (!is_word && !name::is_harmless(token)).then_some(start..end)
}

/// A blank, as text or as it is written in a URL.
fn space_length(text: &[u8]) -> Option<usize> {
    for space in ["%20", "+", " "] {
        if text.starts_with(space.as_bytes()) {
            return Some(space.len());
        }
    }
    None
}

/// The user and password behind `Basic `.
pub(super) fn basic(text: &[u8], start: usize) -> Option<Range<usize>> {
    let end = run(text, start, is_base64);
    let code = text[start..end].trim_ascii_end();
    let code = code
        .strip_suffix(b"==")
        .or(code.strip_suffix(b"="))
        .unwrap_or(code);
    let login = STANDARD_NO_PAD.decode(code).ok()?;
    login.contains(&b':').then_some(start..end)
}

/// The password of `scheme://user:password@host`; `at` is where `://` stands.
pub(super) fn url_password(text: &[u8], at: usize) -> Option<Range<usize>> {
    let start = at + 3;
    let end = run(text, start, |b| b > b' ' && !b"/?#\"'\\<>`|".contains(&b));
    let at_sign = start + memchr::memrchr(b'@', &text[start..end])?;
    // `docker://image:tag@sha256:…` names an image.
    if text[at_sign..end].starts_with(b"@sha256:") {
        return None;
    }
    let Some(colon) = memchr::memchr(b':', &text[start..at_sign]) else {
        return is_token(&text[start..at_sign]).then_some(start..at_sign);
    };
    let password = start + colon + 1;
    (!name::is_placeholder(&text[password..at_sign])).then_some(password..at_sign)
}

/// Whether a token stands in place of a user, as some hosts of repositories and error trackers want
/// it.
fn is_token(user: &[u8]) -> bool {
    user.len() >= 20 && user.iter().any(u8::is_ascii_digit) && user.iter().all(|&b| is_base64url(b))
}

/// The password of `user:password@tcp(host)/database`; `at` is where `@` stands.
pub(super) fn dsn_password(text: &[u8], at: usize) -> Option<Range<usize>> {
    // How far back a user may start: what is looked at for each must not grow with the text.
    let floor = at.saturating_sub(512);
    let mut start = at;
    while start > floor && text[start - 1] > b' ' && !b"\"'\\=".contains(&text[start - 1]) {
        start -= 1;
    }
    let password = start + memchr::memchr(b':', &text[start..at])? + 1;
    (!name::is_placeholder(&text[password..at])).then_some(password..at)
}

/// The end of a run of such bytes.
pub(super) fn run(text: &[u8], at: usize, part: impl Fn(u8) -> bool) -> usize {
    text[at..]
        .iter()
        .position(|&b| !part(b))
        .map_or(text.len(), |length| at + length)
}

/// Where the run of such bytes that holds `at` starts. The letters of an escape before it are no
/// part of it.
pub(super) fn word_start(text: &[u8], at: usize, part: impl Fn(u8) -> bool) -> usize {
    let start = at - text[..at].iter().rev().take_while(|&&b| part(b)).count();
    let before = text[..start].iter().rev();
    let backslashes = before.take_while(|&&b| b == b'\\').count();
    // Two of them are a backslash, not an escape.
    if backslashes % 2 == 0 {
        return start;
    }
    let hex_digits = match text.get(start) {
        Some(b'u') => 4,
        Some(b'x') => 2,
        _ => 0,
    };
    (start + 1 + hex_digits).min(at)
}

pub(super) fn is_base64(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=')
}

pub(super) fn is_base64url(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')
}
