//! One cluster's API server: asked politely, again where that helps, and never past the deadline.

use std::sync::Arc;
use std::time::Duration;

use http::response::Parts;
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::{BodyExt, Limited};
use kube::client::Body;
use serde_json::Value;

use super::clock::Clock;
use super::connect::{CONNECT_TIMEOUT, Connection, chain};
use super::door::Refusals;
use super::lack::{Lack, clean};
use super::login::Login;
use super::nodes::Nodes;
use super::pace::Pace;
use super::rights::Reviews;

/// No page of a list and no log is larger; what is, is no answer to what was asked.
const MAX_ANSWER: usize = 1 << 30;

/// How often something is tried that may succeed the next time.
const TRIES: u32 = 4;

/// How often what did not answer in time is tried: each try may take a good part of all there is.
const LATE_TRIES: u32 = 2;

/// The first wait between two tries.
const FIRST_WAIT: Duration = Duration::from_millis(200);

pub(crate) const JSON: &str = "application/json";

/// See the module.
pub(crate) struct Cluster {
    /// The name of its source in the Snapshot; empty when it is the only one.
    pub(crate) source: String,
    pub(crate) context: String,
    pub(crate) server: String,
    /// The namespace of the context.
    pub(crate) namespace: String,
    pub(crate) login: Arc<Login>,
    pub(crate) pace: Arc<Pace>,
    pub(crate) reviews: Reviews,
    pub(crate) refusals: Refusals,
    pub(crate) nodes: Nodes,
    pub(crate) clock: Clock,
}

enum Reply {
    Body(Vec<u8>),
    /// Another try may succeed, after this time if the server says one.
    Again(Lack, Option<Duration>),
}

impl Cluster {
    pub(crate) fn new(connection: Connection, source: String, pace: Arc<Pace>) -> Self {
        let Connection {
            context,
            server,
            namespace,
            login,
        } = connection;
        Self {
            source,
            context,
            server,
            namespace,
            login,
            pace,
            reviews: Reviews::default(),
            refusals: Refusals::default(),
            nodes: Nodes::default(),
            clock: Clock::default(),
        }
    }

    /// This cluster at another pace; what was refused may be tried again.
    pub(crate) fn paced(&self, pace: Arc<Pace>) -> Self {
        let Self {
            source,
            context,
            server,
            namespace,
            login,
            ..
        } = self;
        let connection = Connection {
            context: context.clone(),
            server: server.clone(),
            namespace: namespace.clone(),
            login: Arc::clone(login),
        };
        Self::new(connection, source.clone(), pace)
    }

    /// The body of an answer.
    pub(crate) async fn get(&self, path: &str, accept: &str) -> Result<Vec<u8>, Lack> {
        self.ask(&Method::GET, path, accept, &[]).await
    }

    /// The body of an answer, as a tree.
    pub(crate) async fn get_json(&self, path: &str, accept: &str) -> Result<Value, Lack> {
        let body = self.get(path, accept).await?;
        serde_json::from_slice(&body).map_err(|_| not_json(&body))
    }

    pub(crate) async fn post_json(&self, path: &str, body: &Value) -> Result<Value, Lack> {
        let answer = self
            .ask(&Method::POST, path, JSON, body.to_string().as_bytes())
            .await?;
        serde_json::from_slice(&answer).map_err(|_| not_json(&answer))
    }

    async fn ask(
        &self,
        method: &Method,
        path: &str,
        accept: &str,
        body: &[u8],
    ) -> Result<Vec<u8>, Lack> {
        let mut wait = FIRST_WAIT;
        let mut is_renewed = false;
        for attempt in 1.. {
            let turn = self.login.turn(&self.pace).await?;
            let answer = {
                let _place = self.pace.place().await?;
                match self
                    .pace
                    .within(self.once(&turn.client, method, path, accept, body))
                    .await
                {
                    Ok(Err(Lack::Stranger(_)))
                        if !is_renewed && self.login.renew(&turn, &self.pace).await =>
                    {
                        is_renewed = true;
                        continue;
                    }
                    Ok(answer) => answer?,
                    Err(late @ Lack::Late(_)) => Reply::Again(late, None),
                    Err(lack) => return Err(lack),
                }
            };
            match answer {
                Reply::Body(body) => {
                    if is_renewed {
                        self.login.accepted().await;
                    }
                    self.pace.tally.read(body.len());
                    return Ok(body);
                }
                Reply::Again(late @ Lack::Late(_), _) if attempt >= LATE_TRIES => {
                    return Err(late);
                }
                Reply::Again(lack, _) if attempt >= TRIES => return Err(lack),
                // "Retry-After": the server knows best when to come back.
                Reply::Again(_, told) => self.pace.wait(told.unwrap_or(wait)).await?,
            }
            wait *= 2;
        }
        unreachable!("the last try returns")
    }

    async fn once(
        &self,
        client: &kube::Client,
        method: &Method,
        path: &str,
        accept: &str,
        body: &[u8],
    ) -> Result<Reply, Lack> {
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("Accept", accept);
        if !body.is_empty() {
            request = request.header("Content-Type", JSON);
        }
        let request = request
            .body(Body::from(body.to_vec()))
            .map_err(|error| Lack::failed(error.to_string()))?;
        match exchange(client, request).await {
            Ok((head, body)) => {
                self.clock.note(&head.headers);
                judge(head.status, &head.headers, body)
            }
            Err(lack @ Lack::Failed(_)) => Ok(Reply::Again(lack, None)),
            Err(lack) => Err(lack),
        }
    }

    /// What something behind the API server answers, whatever its status; asked once.
    pub(crate) async fn fetch(
        &self,
        path: &str,
        headers: &HeaderMap,
    ) -> Result<(u16, Vec<u8>), Lack> {
        let mut request = Request::builder()
            .method(Method::GET)
            .uri(path)
            .header("Accept", JSON);
        if let Some(all) = request.headers_mut() {
            all.extend(headers.clone());
        }
        let request = request
            .body(Body::empty())
            .map_err(|error| Lack::failed(error.to_string()))?;
        let turn = self.login.turn(&self.pace).await?;
        let _place = self.pace.place().await?;
        let (head, body) = self.pace.within(exchange(&turn.client, request)).await??;
        self.pace.tally.read(body.len());
        Ok((head.status.as_u16(), body))
    }
}

async fn exchange(client: &kube::Client, request: Request<Body>) -> Result<(Parts, Vec<u8>), Lack> {
    let response = client
        .send(request)
        .await
        .map_err(|error| match of_credentials(&error) {
            Some(own) => Lack::Keyless(chain(own).replacen("failed OIDC: ", "OIDC: ", 1)),
            None if is_connect_timeout(&error) => Lack::Unreachable(format!(
                "no connection within {} s: a firewall drops it, a VPN is down, or the cluster is gone",
                CONNECT_TIMEOUT.as_secs()
            )),
            None => unsent(chain(&error)),
        })?;
    let (head, body) = response.into_parts();
    let body = Limited::new(body, MAX_ANSWER).collect().await;
    Ok((
        head,
        body.map_err(|error| Lack::failed(cut(error.as_ref())))?
            .to_bytes()
            .into(),
    ))
}

/// What is wrong with our credentials, where that is what kept a request from being sent.
fn of_credentials(error: &kube::Error) -> Option<&kube::client::AuthError> {
    causes(error).find_map(|error| error.downcast_ref())
}

/// Whether nobody answered the attempt to connect; a refusal comes at once.
fn is_connect_timeout(error: &kube::Error) -> bool {
    causes(error)
        .filter_map(|error| error.downcast_ref::<std::io::Error>())
        .any(|error| error.kind() == std::io::ErrorKind::TimedOut)
}

fn causes<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'e (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

/// With TLS 1.3 a client learns only after the handshake, and not with every try, that its
/// certificate is missing or no good: a connection that is closed before the request is on its way
/// says nothing of the alert.
fn unsent(why: String) -> Lack {
    let of_certificates = ["Certificate", "UnknownCA", "AccessDenied"];
    match why.split_once("received fatal alert: ") {
        Some((_, alert)) if of_certificates.iter().any(|word| alert.contains(word)) => {
            Lack::Stranger(clean(why))
        }
        _ => Lack::failed(why),
    }
}

fn judge(status: StatusCode, headers: &HeaderMap, body: Vec<u8>) -> Result<Reply, Lack> {
    let told = || {
        let message = serde_json::from_slice::<Value>(&body)
            .ok()
            .and_then(|v| Some(v["message"].as_str()?.to_owned()));
        clean(message.unwrap_or_else(|| format!("the API server answered {status}")))
    };
    match status.as_u16() {
        200..=299 => Ok(Reply::Body(body)),
        401 => Err(Lack::Stranger(told())),
        // Who brings no credentials is not turned away at the door where everybody may ask for the
        // version.
        403 if told().contains("system:anonymous") => Err(Lack::Stranger(told())),
        403 => Err(Lack::Refused(told())),
        404 | 405 => Err(Lack::Absent),
        410 => Err(Lack::Expired),
        429 | 500 | 502..=504 => {
            let after = headers
                .get("Retry-After")
                .and_then(|value| value.to_str().ok()?.trim().parse().ok());
            Ok(Reply::Again(
                Lack::Failed(told()),
                after.map(Duration::from_secs),
            ))
        }
        _ => Err(Lack::Failed(told())),
    }
}

fn cut(error: &(dyn std::error::Error + 'static)) -> String {
    format!("the answer was cut short: {}", chain(error))
}

fn not_json(body: &[u8]) -> Lack {
    let start: String = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
    Lack::failed(format!(
        "the API server answered something that is not JSON: {start}"
    ))
}
