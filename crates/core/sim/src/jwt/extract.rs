//! Where tokens are looked for in a request.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::matcher::cookie;
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
    /// Adds the places a `JwtProvider` names: "If not specified, default locations are
    /// Authorization: Bearer and the query parameter `access_token`".
    pub(super) fn add(&mut self, provider: Raw<'_>, issuer: &str) {
        let mut default = true;
        for header in provider.list("from_headers") {
            let (name, prefix) = (header.string_at("name"), header.string_at("value_prefix"));
            self.header(
                &name.unwrap_or_default().to_ascii_lowercase(),
                &prefix.unwrap_or_default(),
                issuer,
            );
            default = false;
        }
        for (key, map) in [
            ("from_params", &mut self.params),
            ("from_cookies", &mut self.cookies),
        ] {
            for name in provider.list(key).filter_map(Raw::string) {
                map.entry(name.into()).or_default().0.insert(issuer.into());
                default = false;
            }
        }
        if default {
            self.header("authorization", "Bearer ", issuer);
            self.params
                .entry("access_token".into())
                .or_default()
                .0
                .insert(issuer.into());
        }
    }

    fn header(&mut self, name: &str, prefix: &str, issuer: &str) {
        let header = || TokenHeader {
            name: name.into(),
            prefix: prefix.into(),
            issuers: Issuers::default(),
        };
        self.headers
            .entry(format!("{name}{prefix}"))
            .or_insert_with(header)
            .issuers
            .0
            .insert(issuer.into());
    }

    /// Every token in the request: headers first, then query parameters, then cookies.
    pub(super) fn extract(&self, request: &Request) -> Vec<TokenSource> {
        let mut found = Vec::new();
        for header in self.headers.values() {
            found.extend(
                request
                    .values(&header.name)
                    .filter_map(|value| header.token(value)),
            );
        }
        let parameters = if self.params.is_empty() {
            Vec::new()
        } else {
            parameters(&request.path)
        };
        for (name, issuers) in &self.params {
            let value = parameters
                .iter()
                .find(|(key, _)| **key == **name)
                .map(|(_, value)| value);
            found.extend(value.map(|value| TokenSource {
                token: value.to_string(),
                issuers: Some(issuers.clone()),
                place: TokenPlace::Param(name.clone()),
            }));
        }
        for (name, issuers) in &self.cookies {
            found.extend(cookie(request, name).map(|value| TokenSource {
                token: value.to_owned(),
                issuers: Some(issuers.clone()),
                place: TokenPlace::Cookie,
            }));
        }
        found
    }
}

impl TokenHeader {
    fn token(&self, value: &str) -> Option<TokenSource> {
        let token = match value.find(&*self.prefix) {
            // "value_prefix not found anywhere in value_str, so skip"
            None => return None,
            Some(_) if self.prefix.is_empty() => value,
            Some(at) => behind(value, at + self.prefix.len()),
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
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    value[after..]
        .find(legal)
        .map_or(value, |start| &value[after + start..])
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
            TokenPlace::Cookie | TokenPlace::Stated => {}
        }
    }
}

/// The parameters of a path's query, percent-decoded.
fn parameters(path: &str) -> Vec<(Cow<'_, str>, Cow<'_, str>)> {
    let Some((_, query)) = path.split_once('?') else {
        return Vec::new();
    };
    let pairs = query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs
        .map(|(key, value)| (decoded(key), decoded(value)))
        .collect()
}

fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let escape = (byte == b'%').then(|| text_of(behind.get(..2)?)).flatten();
        bytes.push(escape.unwrap_or(byte));
        rest = if escape.is_some() {
            &behind[2..]
        } else {
            behind
        };
    }
    Cow::Owned(String::from_utf8_lossy(&bytes).into_owned())
}

fn text_of(digits: &[u8]) -> Option<u8> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    u8::try_from(digit(digits[0])? * 16 + digit(digits[1])?).ok()
}

fn without_parameter(path: &str, name: &str) -> String {
    let Some((path, query)) = path.split_once('?') else {
        return path.to_owned();
    };
    let keeps = |pair: &&str| decoded(pair.split_once('=').map_or(pair, |(key, _)| key)) != name;
    let kept: Vec<_> = query.split('&').filter(keeps).collect();
    if kept.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", kept.join("&"))
    }
}
