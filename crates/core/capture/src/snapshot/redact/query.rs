//! The queries of URLs, in which names may be encoded and mean more than elsewhere; and Secrets
//! that do not say so plainly.

use std::ops::Range;

use super::embed::InnerText;
use super::name::{self, NameClass};
use super::token::run;
use super::{SecretFinder, TextSyntax, block, flow};

/// How long a query may be: what is looked at for each must not grow with the text.
const QUERY: usize = 8 << 10;

/// Parameters whose value lets in whoever knows it.
const TICKETS: [&str; 9] = [
    "session",
    "sessionid",
    "sid",
    "otp",
    "samlresponse",
    "samlrequest",
    "code",
    "state",
    "ticket",
];

impl SecretFinder<'_> {
    /// Judges the parameters of every query.
    pub(super) fn queries(&mut self) {
        let mut last = 0;
        for at in memchr::memchr_iter(b'?', self.text) {
            if at < last {
                continue;
            }
            let end = self.text.len().min(at + QUERY);
            let is_of_query = |b: u8| b > b' ' && !b"\"'<>`|".contains(&b);
            last = run(&self.text[..end], at + 1, is_of_query);
            if memchr::memchr(b'=', &self.text[at..last]).is_some() {
                self.query(at + 1..last);
            }
        }
    }

    fn query(&mut self, query: Range<usize>) {
        let mut at = query.start;
        while at < query.end {
            let end = self.parameter_end(at, query.end);
            if let Some(equals) = memchr::memchr(b'=', &self.text[at..end]) {
                let value = at + equals + 1..end;
                let name = decoded(&self.text[at..at + equals]);
                let is_secret = is_ticket(&name, &self.text[value.clone()]);
                self.mark(is_secret.then_some(value));
            }
            at = self.behind_separator(end);
        }
    }

    /// Where a parameter ends: at `&`, at `;`, or at what JSON writes for `&`.
    fn parameter_end(&self, at: usize, end: usize) -> usize {
        run(&self.text[..end], at, |b| !matches!(b, b'&' | b';' | b'\\'))
    }

    fn behind_separator(&self, at: usize) -> usize {
        if self.text[at..].starts_with(b"\\u0026") {
            at + 6
        } else {
            at + 1
        }
    }

    /// Has those objects read that may be Secrets though nothing says so plainly: by an escape, an
    /// alias, a block scalar or other letters.
    pub(super) fn disguised(&mut self) {
        match self.format {
            TextSyntax::Json => self.escaped_kinds(),
            TextSyntax::Yaml => {
                for at in memchr::memmem::find_iter(self.text, b"ind") {
                    if is_odd_kind(&self.text[at + 3..]) {
                        self.block.push(block::key_place(self.text, at));
                    }
                }
                for escape in [&b"\\x"[..], b"\\u00"] {
                    for at in memchr::memmem::find_iter(self.text, escape) {
                        self.block.push(at);
                    }
                }
            }
            TextSyntax::Text => {}
        }
    }

    fn escaped_kinds(&mut self) {
        for at in memchr::memmem::find_iter(self.text, b"\\u00") {
            let is_letter = matches!(self.byte(at + 4), Some(b'4'..=b'7'));
            let Some(quote) = flow::open_quote(self.text, at).filter(|_| is_letter) else {
                continue;
            };
            let inside = quote + 1..flow::close_quote(self.text, quote + 1, b'"');
            if inside.len() > 64 {
                continue;
            }
            let word = InnerText::of(&self.text[inside]).text;
            let tells = ["kind", "data", "stringData", "Secret", "SecretList"];
            if tells
                .iter()
                .any(|tell| word.eq_ignore_ascii_case(tell.as_bytes()))
            {
                self.object_around(quote);
            }
        }
    }
}

/// Whether what follows `kind` is a value that has to be made out first.
fn is_odd_kind(rest: &[u8]) -> bool {
    let rest = rest
        .strip_prefix(b"\"")
        .or(rest.strip_prefix(b"'"))
        .unwrap_or(rest);
    let Some(value) = rest.trim_ascii_start().strip_prefix(b":") else {
        return false;
    };
    let value = value.strip_prefix(b" ").unwrap_or(value);
    match value {
        [
            b'"' | b'\'' | b'*' | b'&' | b'|' | b'>' | b'!' | b'\n' | b'\r',
            ..,
        ] => true,
        _ => value
            .get(..6)
            .is_some_and(|word| word.eq_ignore_ascii_case(b"secret")),
    }
}

/// A parameter's name without percent signs, in lower case.
fn decoded(name: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    let mut at = 0;
    while at < name.len() {
        let hex = name
            .get(at + 1..at + 3)
            .filter(|_| name[at] == b'%')
            .and_then(|hex| u8::from_str_radix(str::from_utf8(hex).ok()?, 16).ok());
        out.push(hex.unwrap_or(name[at]));
        at += if hex.is_some() { 3 } else { 1 };
    }
    out
}

fn is_ticket(name: &[u8], value: &[u8]) -> bool {
    if name::is_harmless(value) {
        return false;
    }
    if TICKETS
        .iter()
        .any(|ticket| name.eq_ignore_ascii_case(ticket.as_bytes()))
    {
        // `state=open` and `code=503` are no tickets.
        let is_plain = value.iter().all(u8::is_ascii_lowercase)
            || (value.len() < 4 && value.iter().all(u8::is_ascii_digit));
        return !is_plain;
    }
    matches!(
        name::class(name),
        Some(NameClass::Password | NameClass::Credential | NameClass::Query)
    )
}
