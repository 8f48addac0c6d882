//! Asks Prometheus, and those that speak its HTTP API: Thanos, Mimir, VictoriaMetrics.

use std::path::PathBuf;
use std::time::Duration;

use meshladder_judge::prometheus::answer::PrometheusAnswer;
use meshladder_judge::prometheus::place::PrometheusService;

use crate::live::Session;

mod error;
mod query;
mod service;
mod tls;
mod url;

pub use error::AskError;

/// How to be let in.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// Headers, as `name: value`.
    pub headers: Vec<String>,
    /// A file that holds a bearer token.
    pub token: Option<PathBuf>,
    /// The tenant of Mimir, Cortex or Thanos: the header `X-Scope-OrgID`.
    pub tenant: Option<String>,
    /// Certificates to trust in the place of the system's, PEM.
    pub cacert: Option<PathBuf>,
    /// Our certificate, PEM.
    pub cert: Option<PathBuf>,
    /// Its key, PEM.
    pub key: Option<PathBuf>,
    /// How long an answer may take.
    pub timeout: Option<Duration>,
}

/// A server to ask.
#[derive(Debug)]
pub struct Client {
    transport: Transport,
}

/// How the server is reached.
#[derive(Debug)]
enum Transport {
    Url(Box<url::UrlServer>),
    Service(Box<service::ServiceServer>),
}

impl Client {
    /// The server at a base URL such as `http://prometheus:9090`, or
    /// `https://mimir.example.com/prometheus`.
    ///
    /// # Errors
    /// When the URL, or a file that `access` names, cannot be used. Nothing is sent yet.
    pub fn at(url: &str, access: &Credentials) -> Result<Self, AskError> {
        Ok(Self {
            transport: Transport::Url(Box::new(url::UrlServer::new(url, access)?)),
        })
    }

    /// A Service of the cluster that a session is connected to, through the API server's proxy.
    ///
    /// # Errors
    /// When `access` has something that is for URLs only. Nothing is sent yet.
    pub fn through(
        session: Session,
        place: &PrometheusService,
        access: &Credentials,
    ) -> Result<Self, AskError> {
        Ok(Self {
            transport: Transport::Service(Box::new(service::ServiceServer::new(
                session, place, access,
            )?)),
        })
    }

    /// Asks for the value of an expression now. Brackets and quotes are looked at first, so that
    /// the usual slip is told by its place and costs the server nothing; the rest of the grammar
    /// is the server's, which may be newer than we are.
    ///
    /// # Errors
    /// When the query is none, the server cannot be reached or refuses, or what it says is no
    /// answer.
    pub fn query(&self, query: &str) -> Result<PrometheusAnswer, AskError> {
        let mistaken = |why: String| AskError::Query {
            query: query.to_owned(),
            why,
        };
        query::check(query).map_err(mistaken)?;
        let (path, parameters) = ("/api/v1/query", [("query", query)]);
        let (body, url) = match &self.transport {
            Transport::Url(server) => (server.get(path, &parameters)?, server.shown()),
            Transport::Service(server) => (server.get(path, &parameters)?, server.shown()),
        };
        PrometheusAnswer::read(&body).map_err(|why| match query::parse_error(&why) {
            Some(why) => mistaken(why.to_owned()),
            None => AskError::Answer {
                url: url.to_owned(),
                why,
            },
        })
    }
}
