//! A container's log as it is written.

use std::time::Duration;

use futures_util::StreamExt;
use http::Request;
use http_body_util::{BodyDataStream, BodyExt};
use kube::client::Body;
use meshladder_capture::snapshot::{DocId, redact};
use meshladder_text::time::Time;

use super::api::Cluster;
use super::connect::chain;
use super::lack::Lack;
use super::list::escaped;

/// How often in a row a log that ended is opened again.
const TRIES: u32 = 3;

/// The first wait between two tries.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// A line that is longer is taken in pieces.
const MAX_LINE: usize = 1 << 20;

/// Where to begin.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start {
    /// So many lines before the end.
    Tail(u32),
    /// What is younger, and at most so many lines.
    Since(Duration, u32),
}

/// See the module.
pub(crate) struct Follow<'c> {
    cluster: &'c Cluster,
    path: String,
    id: DocId,
    body: BodyDataStream<Body>,
    /// What came of a line whose end did not come yet.
    rest: Vec<u8>,
    /// The kubelet's time of the last line: where to go on after a cut.
    last: Option<Time>,
    /// After a cut: up to here it was read before.
    seen: Option<Time>,
    failures: u32,
}

impl<'c> Follow<'c> {
    /// Opens a log.
    pub(crate) async fn open(
        cluster: &'c Cluster,
        (namespace, pod, container): (&str, &str, &str),
        start: Start,
    ) -> Result<Self, Lack> {
        let escaped = escaped(container);
        let path = format!(
            "/api/v1/namespaces/{namespace}/pods/{pod}/log?container={escaped}&follow=true&timestamps=true"
        );
        let from = match start {
            Start::Tail(lines) => format!("{path}&tailLines={lines}"),
            Start::Since(time, lines) => format!(
                "{path}&tailLines={lines}&sinceSeconds={}",
                time.as_secs().max(1)
            ),
        };
        let body = opened(cluster, &from).await.map_err(|lack| match lack {
            Lack::Refused(_) => {
                Lack::Refused(format!("no right to get pods/log in namespace {namespace}"))
            }
            lack => lack,
        })?;
        let id = DocId::new(format!("logs/{namespace}/{pod}/{container}.log"));
        Ok(Self {
            cluster,
            path,
            id,
            body,
            rest: Vec::new(),
            last: None,
            seen: None,
            failures: 0,
        })
    }

    /// The next lines, each with its end, without secrets. A log that was cut is opened again where
    /// it ended.
    pub(crate) async fn next(&mut self) -> Result<Vec<String>, Lack> {
        loop {
            match self.body.next().await {
                Some(Ok(piece)) => {
                    self.rest.extend_from_slice(&piece);
                    let lines = self.take_lines();
                    if !lines.is_empty() {
                        self.failures = 0;
                        return Ok(lines);
                    }
                }
                Some(Err(error)) => {
                    self.reopen(Lack::failed(format!("its log was cut: {}", chain(&error))))
                        .await?;
                }
                None => self.reopen(Lack::failed("its log ended")).await?,
            }
        }
    }

    async fn reopen(&mut self, mut why: Lack) -> Result<(), Lack> {
        self.rest.clear();
        loop {
            self.failures += 1;
            if self.failures > TRIES
                || matches!(why, Lack::Absent | Lack::Stopped | Lack::OutOfTime)
            {
                return Err(why);
            }
            self.cluster
                .pace
                .wait(FIRST_WAIT * (1 << self.failures))
                .await?;
            // "sinceTime: an RFC3339 timestamp", to the second: what was read of that second is
            // skipped by its own time.
            let since = self.last.map_or("tailLines=0".to_owned(), |last| {
                format!(
                    "sinceTime={}",
                    escaped(&Time::from_seconds(last.seconds).to_string())
                )
            });
            match opened(self.cluster, &format!("{}&{since}", self.path)).await {
                Ok(body) => {
                    (self.body, self.seen) = (body, self.last);
                    return Ok(());
                }
                Err(lack) => why = lack,
            }
        }
    }

    fn take_lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let end = memchr::memrchr(b'\n', &self.rest).map(|at| at + 1);
        let Some(end) = end.or((self.rest.len() > MAX_LINE).then_some(self.rest.len())) else {
            return lines;
        };
        let whole: Vec<u8> = self.rest.drain(..end).collect();
        for line in String::from_utf8_lossy(&whole).split_inclusive('\n') {
            let (time, text) = line.split_once(' ').map_or((None, line), |(stamp, text)| {
                match Time::parse(stamp) {
                    Some(time) => (Some(time), text),
                    None => (None, line),
                }
            });
            if time.is_some_and(|time| self.seen.is_some_and(|seen| time <= seen)) {
                continue;
            }
            self.seen = None;
            self.last = time.or(self.last);
            let mut text = text.as_bytes().to_vec();
            redact(&self.id, &mut text);
            lines.push(String::from_utf8_lossy(&text).into_owned());
        }
        lines
    }
}

async fn opened(cluster: &Cluster, path: &str) -> Result<BodyDataStream<Body>, Lack> {
    let turn = cluster.login.turn(&cluster.pace).await?;
    match stream(cluster, &turn.client, path).await {
        Err(Lack::Stranger(_)) if cluster.login.renew(&turn, &cluster.pace).await => {
            let turn = cluster.login.turn(&cluster.pace).await?;
            stream(cluster, &turn.client, path).await
        }
        opened => opened,
    }
}

async fn stream(
    cluster: &Cluster,
    client: &kube::Client,
    path: &str,
) -> Result<BodyDataStream<Body>, Lack> {
    let request = Request::builder()
        .uri(path)
        .header("Accept", "*/*")
        .body(Body::empty());
    let request = request.map_err(|error| Lack::failed(error.to_string()))?;
    let _place = cluster.pace.place().await?;
    let answer = cluster.pace.within(client.send(request)).await?;
    let response = answer.map_err(|error| Lack::failed(chain(&error)))?;
    match response.status().as_u16() {
        200 => Ok(response.into_body().into_data_stream()),
        401 => Err(Lack::Stranger(
            "the API server does not accept the credentials".to_owned(),
        )),
        403 => Err(Lack::Refused("no right to get pods/log".to_owned())),
        404 => Err(Lack::Absent),
        status => Err(Lack::failed(format!(
            "the API server answered {status} for its log"
        ))),
    }
}
