//! Where tokens are looked for in a request.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::matcher::cookie;
use crate::message;
use crate::{Request, RequestState};
use meshladder_text::json::Raw;

/// The places of one provider, or of all of them.
#[derive(Clone, Debug, Default)]
pub(super) struct TokenLocations {
    /// By header name and prefix, one behind the other: the order in which Envoy looks.
    headers: BTreeMap<String, TokenHeader>,
    params: BTreeMap<Box<str>, Issuers>,
    cookies: BTreeMap<Box<str>, Issuers>,
}

#[derive(Clone, Debug)]
struct TokenHeader {
    name: Box<str>,
    prefix: Box<str>,
    issuers: Issuers,
}

/// The issuers whose tokens may stand in a place. "If a specified issuer is empty, it means to
/// allow all issuers."
#[derive(Clone, Debug, Default)]
pub(super) struct Issuers(BTreeSet<Box<str>>);

impl Issuers {
    pub(super) fn allow(&self, issuer: &str) -> bool {
        self.0.contains("") || self.0.contains(issuer)
    }

    fn insert(&mut self, issuer: &str) {
        self.0.insert(issuer.into());
    }
}

/// A token and where it was.
#[derive(Clone, Debug)]
pub(super) struct TokenSource {
    pub(super) token: String,
    /// None for a token of which only the user told.
    pub(super) issuers: Option<Issuers>,
    place: TokenPlace,
}

#[derive(Clone, Debug)]
enum TokenPlace {
    Header(Box<str>),
    Param(Box<str>),
    Cookie,
    Stated,
}

impl TokenLocations {
    /// Adds the places a `JwtProvider` names.
    pub(super) fn add(&mut self, provider: Raw<'_>, issuer: &str) {
        let mut is_default = true;
        for header in provider.list("from_headers") {
            let name = message::header_name(header, "name");
            self.header(&name, &message::text(header, "value_prefix"), issuer);
            is_default = false;
        }
        for name in message::texts(provider, "from_params") {
            self.params.entry(name.into()).or_default().insert(issuer);
            is_default = false;
        }
        for name in message::texts(provider, "from_cookies") {
            self.cookies.entry(name.into()).or_default().insert(issuer);
            is_default = false;
        }

        // "If not specified, default locations are Authorization: Bearer and the query parameter
        // `access_token`".
        if is_default {
            self.header("authorization", "Bearer ", issuer);
            let param = self.params.entry("access_token".into());
            param.or_default().insert(issuer);
        }
    }

    fn header(&mut self, name: &str, prefix: &str, issuer: &str) {
        let place = self.headers.entry(format!("{name}{prefix}"));
        let header = place.or_insert_with(|| TokenHeader {
            name: name.into(),
            prefix: prefix.into(),
            issuers: Issuers::default(),
        });
        header.issuers.insert(issuer);
    }

    /// Every token in the request: headers first, then query parameters, then cookies.
    pub(super) fn extract(&self, request: &Request) -> Vec<TokenSource> {
        let mut tokens = Vec::new();
        for header in self.headers.values() {
            for value in request.values(&header.name) {
                tokens.extend(header.token(value));
            }
        }
        if !self.params.is_empty() {
            self.extract_parameters(request, &mut tokens);
        }
        for (name, issuers) in &self.cookies {
            if let Some(token) = cookie(request, name) {
                tokens.push(TokenSource {
                    token: token.to_owned(),
                    issuers: Some(issuers.clone()),
                    place: TokenPlace::Cookie,
                });
            }
        }
        tokens
    }

    fn extract_parameters(&self, request: &Request, tokens: &mut Vec<TokenSource>) {
        let parameters = parameters(&request.path);
        for (name, issuers) in &self.params {
            // The first one of that name counts.
            let mut named = parameters.iter().filter(|(key, _)| **key == **name);
            if let Some((_, token)) = named.next() {
                tokens.push(TokenSource {
                    token: token.to_string(),
                    issuers: Some(issuers.clone()),
                    place: TokenPlace::Param(name.clone()),
                });
            }
        }
    }
}

impl TokenHeader {
    fn token(&self, value: &str) -> Option<TokenSource> {
        // "value_prefix not found anywhere in value_str, so skip"
        let at = value.find(&*self.prefix)?;
        let token = if self.prefix.is_empty() {
            value
        } else {
            behind(value, at + self.prefix.len())
        };
        Some(TokenSource {
            token: token.to_owned(),
            issuers: Some(self.issuers.clone()),
            place: TokenPlace::Header(self.name.clone()),
        })
    }
}

/// "skips non-Base64Url-legal (or dot) characters … if it finds no suitable string, it returns
/// `value_str` as-is"
fn behind(value: &str, after: usize) -> &str {
    match value[after..].find(is_token_character) {
        Some(start) => &value[after + start..],
        None => value,
    }
}

fn is_token_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

impl TokenSource {
    /// A token of which only the user told.
    pub(super) fn stated(token: &str) -> Self {
        Self {
            token: token.to_owned(),
            issuers: None,
            place: TokenPlace::Stated,
        }
    }

    /// Takes the token out of the request, as is done unless it is to be forwarded. Cookies stay.
    pub(super) fn remove(&self, state: &mut RequestState<'_>) {
        match &self.place {
            TokenPlace::Header(name) => state.remove_header(name),
            TokenPlace::Param(name) => {
                let path = without_parameter(&state.request.path, name);
                state.request.to_mut().path = path;
            }
            // Envoy leaves cookies in the request.
            TokenPlace::Cookie | TokenPlace::Stated => {}
        }
    }
}

/// The parameters of a path's query, percent-decoded.
fn parameters(path: &str) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
    let Some((_, query)) = path.split_once('?') else {
        return Vec::new();
    };
    let mut parameters = Vec::new();
    for pair in query.split('&') {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        parameters.push((decoded(key), decoded(value)));
    }
    parameters
}

fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        if let Some(escaped) = escaped(rest) {
            bytes.push(escaped);
            rest = &rest[3..];
        } else {
            // A percent sign that begins no escape stays.
            bytes.push(byte);
            rest = behind;
        }
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

/// The byte that `%2F` at the beginning stands for.
fn escaped(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else {
        return None;
    };
    let high = char::from(*high).to_digit(16)?;
    let low = char::from(*low).to_digit(16)?;
    u8::try_from(high * 16 + low).ok()
}

fn without_parameter(path: &str, name: &str) -> String {
    let Some((path, query)) = path.split_once('?') else {
        return path.to_owned();
    };
    let mut kept = Vec::new();
    for pair in query.split('&') {
        let (key, _) = pair.split_once('=').unwrap_or((pair, ""));
        if decoded(key) != name {
            kept.push(pair);
        }
    }
    if kept.is_empty() {
        return path.to_owned();
    }
    format!("{path}?{}", kept.join("&"))
}
