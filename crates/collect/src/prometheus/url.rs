//! A server at a URL.

use std::time::Duration;

use ureq::Agent;
use ureq::http::{HeaderMap, HeaderName, HeaderValue, Uri, header};
use ureq::tls::TlsConfig;

use super::{Access, AskError, tls};

/// How long an answer may take when nobody says.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Answers larger than this are not read: no table has that many rows.
pub(super) const MOST_BYTES: u64 = 64 << 20;

#[derive(Debug)]
pub(super) struct Server {
    base: String,
    headers: HeaderMap,
    agent: Agent,
    timeout: Duration,
}

impl Server {
    pub(super) fn new(url: &str, access: &Access) -> Result<Self, AskError> {
        let base = base(url)?;
        let has_files = [&access.cacert, &access.cert, &access.key]
            .iter()
            .any(|file| file.is_some());
        if has_files && !base.starts_with("https:") {
            return Err(AskError::Url {
                url: base,
                why: "certificates are for https://".to_owned(),
            });
        }
        let timeout = access.timeout.unwrap_or(TIMEOUT);
        let config = Agent::config_builder()
            .tls_config(if base.starts_with("https:") {
                tls::config(access)?
            } else {
                TlsConfig::default()
            })
            .timeout_global(Some(timeout))
            .http_status_as_error(false)
            // What lets us in is for this server only.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("meshladder/", env!("CARGO_PKG_VERSION")));
        Ok(Self {
            base,
            headers: headers(access)?,
            agent: config.build().new_agent(),
            timeout,
        })
    }

    /// As messages name it.
    pub(super) fn shown(&self) -> &str {
        &self.base
    }

    /// The body of a good answer, or of one that says in Prometheus' own words why it is none.
    pub(super) fn get(&self, path: &str, parameters: &[(&str, &str)]) -> Result<String, AskError> {
        let mut request = self.agent.get(format!("{}{path}", self.base));
        for (name, value) in parameters {
            request = request.query(name, value);
        }
        if let Some(headers) = request.headers_mut() {
            headers.extend(self.headers.clone());
        }
        let mut response = request.call().map_err(|why| self.failed(&why))?;
        let status = response.status().as_u16();
        let to = response
            .headers()
            .get(header::LOCATION)
            .and_then(|to| to.to_str().ok())
            .map(str::to_owned);
        let body = response
            .body_mut()
            .with_config()
            .limit(MOST_BYTES)
            .lossy_utf8(true)
            .read_to_string();
        let body = body.map_err(|why| self.failed(&why))?;
        judge(&self.base, status, body, to.as_deref())
    }

    fn failed(&self, error: &ureq::Error) -> AskError {
        let url = self.base.clone();
        match error {
            ureq::Error::Timeout(_) => AskError::TimedOut {
                url,
                seconds: self.timeout.as_secs(),
            },
            ureq::Error::Io(why) if why.kind() == std::io::ErrorKind::TimedOut => {
                AskError::TimedOut {
                    url,
                    seconds: self.timeout.as_secs(),
                }
            }
            ureq::Error::Io(why) => AskError::Unreachable {
                url,
                why: crate::error::plain(why),
            },
            ureq::Error::HostNotFound => AskError::Unreachable {
                url,
                why: "the name does not resolve".to_owned(),
            },
            other => AskError::Unreachable {
                url,
                why: other.to_string(),
            },
        }
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

pub(super) fn headers(access: &Access) -> Result<HeaderMap, AskError> {
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
