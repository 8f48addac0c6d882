//! A server at a URL.

use std::env;
use std::error::Error;
use std::io;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Uri, header};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use kube::client::Body;
use kube::config::Config;
use tokio::time::timeout;

use super::{AskError, Credentials, tls};
use crate::error::plain;
use crate::live::connect::chain;
use crate::live::list::escaped;
use crate::live::{proxy, runtime};

/// How long an answer may take when nobody says.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Answers larger than this are not read: no table has that many rows.
pub(super) const MOST_BYTES: usize = 64 << 20;

/// A server at a URL. The client for clusters asks it: it knows proxies, certificates and packed
/// answers.
pub(super) struct UrlServer {
    base: String,
    headers: HeaderMap,
    client: kube::Client,
    timeout: Duration,
}

impl UrlServer {
    pub(super) fn new(url: &str, access: &Credentials) -> Result<Self, AskError> {
        let base = base(url)?;
        let is_https = base.starts_with("https:");
        let has_files = [&access.cacert, &access.cert, &access.key]
            .iter()
            .any(|file| file.is_some());
        if has_files && !is_https {
            return Err(cannot_ask(&base, "certificates are for https://"));
        }
        let uri: Uri = base
            .parse()
            .map_err(|_| cannot_ask(&base, "it is no URL"))?;
        let mut config = Config::new(uri);
        tls::configure(&mut config, access)?;
        config.proxy_url = proxy_to(&config.cluster_url).map_err(|why| cannot_ask(&base, &why))?;
        // One time counts for all of it, and who asks again is the user.
        config.connect_timeout = None;
        config.default_retry = false;
        let client = runtime::wait(async { kube::Client::try_from(config) });
        Ok(Self {
            client: client.map_err(|error| cannot_ask(&base, &chain(&error)))?,
            base,
            headers: headers(access)?,
            timeout: access.timeout.unwrap_or(TIMEOUT),
        })
    }

    /// As messages name it.
    pub(super) fn shown(&self) -> &str {
        &self.base
    }

    /// The body of a good answer, or of one that says in Prometheus' own words why it is none.
    pub(super) fn get(&self, path: &str, parameters: &[(&str, &str)]) -> Result<String, AskError> {
        let mut target = path.to_owned();
        for (number, (name, value)) in parameters.iter().enumerate() {
            let mark = if number == 0 { '?' } else { '&' };
            target.push(mark);
            target.push_str(name);
            target.push('=');
            target.push_str(&escaped(value));
        }
        // A timer belongs to the runtime, so it is made inside.
        match runtime::wait(async { timeout(self.timeout, self.exchange(&target)).await }) {
            Ok(answer) => answer,
            Err(_) => Err(self.late()),
        }
    }

    async fn exchange(&self, target: &str) -> Result<String, AskError> {
        let mut request = Request::get(target)
            .header(header::ACCEPT, "*/*")
            .header(header::USER_AGENT, USER_AGENT);
        if let Some(headers) = request.headers_mut() {
            headers.extend(self.headers.clone());
        }
        let request = request
            .body(Body::empty())
            .map_err(|why| cannot_ask(&self.base, &why.to_string()))?;
        let response = self.client.send(request).await;
        let response = response.map_err(|why| self.failed(&why))?;
        let status = response.status().as_u16();
        // What lets us in is for this server only, so where a redirect leads is told, not asked.
        let to = location(&response);
        let body = Limited::new(response.into_body(), MOST_BYTES)
            .collect()
            .await;
        let body = body.map_err(|why| self.failed(&*why))?.to_bytes();
        let body = String::from_utf8_lossy(&body).into_owned();
        judge(&self.base, status, body, to.as_deref())
    }

    fn late(&self) -> AskError {
        AskError::TimedOut {
            url: self.base.clone(),
            seconds: self.timeout.as_secs(),
        }
    }

    /// What went wrong, in the words of the system where it was the system.
    fn failed(&self, error: &(dyn Error + 'static)) -> AskError {
        let url = self.base.clone();
        if find::<LengthLimitError>(error).is_some() {
            let why = "the answer is too large".to_owned();
            return AskError::Answer { url, why };
        }
        let why = match find::<io::Error>(error) {
            Some(why) if why.kind() == io::ErrorKind::TimedOut => return self.late(),
            Some(why) if why.raw_os_error().is_some() => plain(why),
            _ => chain(error),
        };
        let why = if why.contains("dns error") {
            "the name does not resolve".to_owned()
        } else {
            why
        };
        AskError::Unreachable { url, why }
    }
}

impl std::fmt::Debug for UrlServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

const USER_AGENT: &str = concat!("meshladder/", env!("CARGO_PKG_VERSION"));

/// The first error of a type among an error and its causes.
fn find<'e, E: Error + 'static>(error: &'e (dyn Error + 'static)) -> Option<&'e E> {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        next = error.source();
    }
    None
}

fn location(response: &Response<Body>) -> Option<String> {
    let to = response.headers().get(header::LOCATION)?;
    Some(to.to_str().ok()?.to_owned())
}

/// The proxy that leads to a server: the one for its scheme, else the one for all.
fn proxy_to(server: &Uri) -> Result<Option<Uri>, String> {
    let variable = |name: &str| env::var(name).ok();
    let proxy = proxy::choose(None, server, variable)?;
    if proxy.is_some() {
        return Ok(proxy);
    }
    proxy::choose(None, server, |name| match name {
        "NO_PROXY" | "no_proxy" => variable(name),
        _ if name.starts_with('H') => variable("ALL_PROXY"),
        _ => variable("all_proxy"),
    })
}

fn cannot_ask(url: &str, why: &str) -> AskError {
    AskError::Url {
        url: url.to_owned(),
        why: why.to_owned(),
    }
}

/// The body of a good answer; `to` is where a redirect leads.
pub(super) fn judge(
    url: &str,
    status: u16,
    body: String,
    to: Option<&str>,
) -> Result<String, AskError> {
    let url = url.to_owned();
    match status {
        200..=299 => Ok(body),
        // "bad_data", "execution" and "timeout" come with these statuses and a body of the usual
        // shape.
        400 | 422 | 503 if body.trim_start().starts_with("{\"status\":\"error\"") => Ok(body),
        401 | 403 => Err(AskError::Denied {
            url,
            status,
            why: words(&body),
        }),
        _ => {
            let why = to.map_or_else(|| words(&body), |to| format!(": it leads to {to}"));
            Err(AskError::Status { url, status, why })
        }
    }
}

/// The URL without what we append ourselves.
fn base(url: &str) -> Result<String, AskError> {
    let wrong = |why: &str| AskError::Url {
        url: url.split('@').next_back().unwrap_or(url).to_owned(),
        why: why.to_owned(),
    };
    let uri: Uri = url.parse().map_err(|_| wrong("it is no URL"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err(wrong(
            "it starts with neither http://, https:// nor service/",
        ));
    }
    if uri
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'))
    {
        return Err(wrong(
            "a password in a URL is seen by others: use --header or --bearer-token-file",
        ));
    }
    if uri.query().is_some() {
        return Err(wrong("it has parameters"));
    }
    let url = url.trim_end_matches('/');
    Ok(url
        .strip_suffix("/api/v1/query")
        .or_else(|| url.strip_suffix("/api/v1"))
        .unwrap_or(url)
        .to_owned())
}

pub(super) fn headers(access: &Credentials) -> Result<HeaderMap, AskError> {
    let mut headers = HeaderMap::new();
    let mut add = |name: &str, value: &str| {
        let wrong = || AskError::Header {
            header: name.to_owned(),
        };
        let key: HeaderName = name.trim().parse().map_err(|_| wrong())?;
        let mut value: HeaderValue = value.trim().parse().map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.append(key, value);
        Ok(())
    };
    for line in &access.headers {
        let (name, value) = line.split_once(':').ok_or_else(|| AskError::Header {
            header: first_word(line),
        })?;
        add(name, value)?;
    }
    if let Some(tenant) = &access.tenant {
        add("X-Scope-OrgID", tenant)?;
    }
    if let Some(path) = &access.token {
        let token = tls::read(path)?;
        let token = token.trim();
        if token.is_empty() {
            return Err(tls::wrong(path, "it is empty"));
        }
        add("Authorization", &format!("Bearer {token}"))
            .map_err(|_: AskError| tls::wrong(path, "it holds no token"))?;
    }
    Ok(headers)
}

/// What follows may be a secret.
fn first_word(line: &str) -> String {
    line.split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// The first line of what a server says with an error, if it is short enough to be one.
fn words(body: &str) -> String {
    let line = body
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default();
    if line.is_empty() || line.starts_with('<') {
        String::new()
    } else {
        format!(": {}", line.chars().take(200).collect::<String>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_what_stands_before_the_api() {
        for (url, expected) in [
            ("http://127.0.0.1:9090", "http://127.0.0.1:9090"),
            ("http://127.0.0.1:9090/", "http://127.0.0.1:9090"),
            (
                "https://mimir.test/prometheus/api/v1/query",
                "https://mimir.test/prometheus",
            ),
            (
                "https://mimir.test/prometheus/api/v1/",
                "https://mimir.test/prometheus",
            ),
        ] {
            assert_eq!(base(url).expect(url), expected);
        }
    }

    #[test]
    fn what_cannot_be_asked_is_told_without_its_password() {
        for url in [
            "prometheus:9090",
            "ftp://a",
            "http://me:secret@a.test",
            "http://a?b=c",
            "http://",
        ] {
            let told = base(url).expect_err(url).to_string();
            assert!(!told.contains("secret"), "{told}");
        }
    }
}
