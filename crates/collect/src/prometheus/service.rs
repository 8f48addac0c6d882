//! A Service of a cluster, through the API server: no way to it from outside is needed.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue};
use meshladder_judge::prometheus::place::PrometheusService;
use serde_json::Value;

use super::url::{self, MOST_BYTES};
use super::{AskError, Credentials};
use crate::live::Session;
use crate::live::lack::Lack;
use crate::live::list::escaped;

#[derive(Debug)]
pub(super) struct ServiceServer {
    session: Session,
    shown: String,
    namespace: String,
    /// The path at the API server.
    base: String,
    headers: HeaderMap,
    timeout: Duration,
}

impl ServiceServer {
    pub(super) fn new(
        session: Session,
        place: &PrometheusService,
        access: &Credentials,
    ) -> Result<Self, AskError> {
        let shown = place.to_string();
        let is_for_urls = [&access.token, &access.cacert, &access.cert, &access.key]
            .iter()
            .any(|file| file.is_some());
        if is_for_urls {
            let why =
                "the API server's own credentials lead to it, certificates and tokens are for URLs";
            return Err(AskError::Url {
                url: shown,
                why: why.to_owned(),
            });
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &url::headers(access)? {
            let wrong = || AskError::Header {
                header: name.to_string(),
            };
            // The header would replace the one that opens the API server.
            if name == "authorization" {
                return Err(wrong());
            }
            let name: HeaderName = name.as_str().parse().map_err(|_| wrong())?;
            headers.append(
                name,
                HeaderValue::from_bytes(value.as_bytes()).map_err(|_| wrong())?,
            );
        }
        let scheme = if place.is_https { "https:" } else { "" };
        let PrometheusService {
            namespace,
            name,
            port,
            path,
            ..
        } = place;
        let base =
            format!("/api/v1/namespaces/{namespace}/services/{scheme}{name}:{port}/proxy{path}");
        let timeout = access.timeout.unwrap_or_default();
        Ok(Self {
            session,
            shown,
            namespace: place.namespace.clone(),
            base,
            headers,
            timeout,
        })
    }

    /// As messages name it.
    pub(super) fn shown(&self) -> &str {
        &self.shown
    }

    pub(super) fn get(&self, path: &str, parameters: &[(&str, &str)]) -> Result<String, AskError> {
        let pairs: Vec<String> = parameters
            .iter()
            .map(|(name, value)| format!("{name}={}", escaped(value)))
            .collect();
        let path = format!("{}{path}?{}", self.base, pairs.join("&"));
        let (status, body) = self
            .session
            .fetch(&path, &self.headers)
            .map_err(|lack| self.failed(&lack))?;
        if body.len() > MOST_BYTES {
            return Err(AskError::Answer {
                url: self.shown.clone(),
                why: "the answer is too large".to_owned(),
            });
        }
        let body = String::from_utf8_lossy(&body).into_owned();
        match (status, said_by_api_server(&body)) {
            (403, Some(_)) => Err(AskError::Refused {
                namespace: self.namespace.clone(),
            }),
            (_, Some(why)) => Err(self.failed(&Lack::failed(why))),
            (_, None) => url::judge(&self.shown, status, body, None),
        }
    }

    fn failed(&self, lack: &Lack) -> AskError {
        let url = self.shown.clone();
        match lack {
            Lack::OutOfTime | Lack::Late(_) => AskError::TimedOut {
                url,
                seconds: self.timeout.as_secs(),
            },
            lack => AskError::Unreachable {
                url,
                why: lack.why(),
            },
        }
    }
}

/// The API server answers with a `Status` when it cannot let us through; what Prometheus says has
/// another shape.
fn said_by_api_server(body: &str) -> Option<String> {
    let value: Value = serde_json::from_str(body).ok()?;
    let is_status = value["kind"] == "Status" && value["apiVersion"] == "v1";
    is_status.then(|| {
        value["message"]
            .as_str()
            .unwrap_or("the API server does not say why")
            .to_owned()
    })
}
