//! The way to a port of a pod: forwarded over a WebSocket, or where that is refused, through the
//! agent inside.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use http::{Method, Request};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::{AttachParams, Portforwarder};
use tokio::io::AsyncReadExt;
use tokio::sync::SemaphorePermit;

use super::api::Cluster;
use super::connect::chain;
use super::lack::{Lack, clean};
use super::pods::PodNote;

/// Envoy's admin port, and ztunnel's.
pub(crate) const ADMIN: u16 = 15000;

/// Where an istiod serves ControlZ.
pub(crate) const CONTROLZ: u16 = 9876;

/// istiod's port for `/debug`, `/metrics` and `/version`.
pub(crate) const MONITORING: u16 = 15014;

/// How long the reason for a broken connection may be under way: a busy node takes its time, and
/// without it nobody would ask the agent instead.
const REASON_TIMEOUT: Duration = Duration::from_secs(2);

/// No dump is larger.
const MAX_ANSWER: usize = 1 << 30;

/// A pod's port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Port<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) pod: &'a str,
    pub(crate) number: u16,
    /// The container and the program in it that asks the port from inside.
    pub(crate) agent: (&'a str, &'static str),
}

/// What was refused in a namespace, so that it is not tried for each of a thousand pods.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Mutex<BTreeMap<String, NamespaceRefusals>>);

#[derive(Clone, Copy, Debug, Default)]
struct NamespaceRefusals {
    forward: bool,
    exec: bool,
}

/// An open way; see the module. It counts as one request under way.
pub(crate) struct Door<'c> {
    cluster: &'c Cluster,
    port: Port<'c>,
    way: Way,
    /// An answer did not come: another one on the same connection will not either.
    is_stuck: bool,
    _place: SemaphorePermit<'c>,
}

enum Way {
    Forward {
        sender: SendRequest<Full<Bytes>>,
        forwarder: Portforwarder,
    },
    Exec,
}

impl<'a> Port<'a> {
    /// The admin port of a pod's proxy.
    pub(crate) fn admin(pod: &'a PodNote) -> Self {
        Self {
            namespace: &pod.namespace,
            pod: &pod.name,
            number: ADMIN,
            agent: (&pod.proxy, "pilot-agent"),
        }
    }

    /// The monitoring port of an istiod.
    pub(crate) fn istiod(namespace: &'a str, pod: &'a str, number: u16) -> Self {
        Self {
            namespace,
            pod,
            number,
            agent: ("discovery", "pilot-discovery"),
        }
    }
}

impl<'c> Door<'c> {
    /// Opens a way to a port.
    pub(crate) async fn open(cluster: &'c Cluster, port: Port<'c>) -> Result<Self, Lack> {
        let refused = cluster.refusals.of(port.namespace);
        let place = cluster.pace.place().await?;
        if refused.forward {
            return Self::through_agent(cluster, port, place, refused);
        }
        let turn = cluster.login.turn(&cluster.pace).await?;
        let way = match cluster
            .pace
            .within(forward(turn.client.clone(), port))
            .await?
        {
            Err(Lack::Stranger(_)) if cluster.login.renew(&turn, &cluster.pace).await => {
                let turn = cluster.login.turn(&cluster.pace).await?;
                cluster.pace.within(forward(turn.client, port)).await?
            }
            way => way,
        };
        let way = match way {
            Ok(way) => way,
            Err(Lack::Refused(_)) => {
                let refused = cluster
                    .refusals
                    .note(port.namespace, |refused| refused.forward = true);
                return Self::through_agent(cluster, port, place, refused);
            }
            Err(lack) => return Err(lack),
        };
        Ok(Self {
            cluster,
            port,
            way,
            is_stuck: false,
            _place: place,
        })
    }

    fn through_agent(
        cluster: &'c Cluster,
        port: Port<'c>,
        place: SemaphorePermit<'c>,
        refused: NamespaceRefusals,
    ) -> Result<Self, Lack> {
        if refused.exec {
            return Err(neither(port.namespace));
        }
        Ok(Self {
            cluster,
            port,
            way: Way::Exec,
            is_stuck: false,
            _place: place,
        })
    }

    /// Asks for a path, such as `/clusters?format=json`.
    pub(crate) async fn ask(&mut self, method: &Method, path: &str) -> Result<Vec<u8>, Lack> {
        self.send(method, path, Vec::new()).await
    }

    /// Sends a body to a path. The agent inside cannot pass one on.
    pub(crate) async fn send(
        &mut self,
        method: &Method,
        path: &str,
        body: Vec<u8>,
    ) -> Result<Vec<u8>, Lack> {
        let pace = &self.cluster.pace;
        let answer = match &mut self.way {
            Way::Forward { sender, forwarder } => {
                pace.within(request(
                    sender,
                    forwarder,
                    self.port.number,
                    (method, path, body),
                ))
                .await
            }
            Way::Exec if !body.is_empty() => return Err(neither(self.port.namespace)),
            Way::Exec => {
                let turn = self.cluster.login.turn(pace).await?;
                pace.within(exec(turn.client, self.port, method, path))
                    .await
            }
        };
        self.is_stuck |= answer.is_err();
        match answer? {
            // Nodes of old need a program for it that not all have. The agent inside needs none.
            Err(Lack::Failed(why))
                if why.contains("unable to do port forwarding") && self.turns_to_agent() =>
            {
                Box::pin(self.ask(method, path)).await
            }
            // The reason may be lost on its way: what ends the connection ends its channel too.
            Err(cut @ Lack::Cut(_)) if *method == Method::GET && self.turns_to_agent() => {
                Box::pin(self.ask(method, path)).await.map_err(|_| cut)
            }
            Err(Lack::Refused(_)) => {
                self.cluster
                    .refusals
                    .note(self.port.namespace, |refused| refused.exec = true);
                Err(neither(self.port.namespace))
            }
            Ok(body) => {
                self.cluster.pace.tally.read(body.len());
                Ok(body)
            }
            lack => lack,
        }
    }
}

impl Door<'_> {
    /// Whether the agent is to be asked from now on.
    fn turns_to_agent(&mut self) -> bool {
        let Way::Forward { forwarder, .. } = &self.way else {
            return false;
        };
        forwarder.abort();
        self.way = Way::Exec;
        !self.cluster.refusals.of(self.port.namespace).exec
    }

    /// Whether asking for something else makes sense after a failure.
    pub(crate) fn is_open(&self) -> bool {
        match &self.way {
            Way::Forward { sender, .. } => !self.is_stuck && !sender.is_closed(),
            Way::Exec => !self.cluster.refusals.of(self.port.namespace).exec && !self.is_stuck,
        }
    }
}

/// A forwarder that is only dropped goes on in the background.
impl Drop for Door<'_> {
    fn drop(&mut self) {
        if let Way::Forward { forwarder, .. } = &self.way {
            forwarder.abort();
        }
    }
}

impl Refusals {
    fn of(&self, namespace: &str) -> NamespaceRefusals {
        self.note(namespace, |_| {})
    }

    fn note(
        &self,
        namespace: &str,
        change: impl FnOnce(&mut NamespaceRefusals),
    ) -> NamespaceRefusals {
        let Ok(mut all) = self.0.lock() else {
            return NamespaceRefusals::default();
        };
        let refused = all.entry(namespace.to_owned()).or_default();
        change(refused);
        *refused
    }
}

fn neither(namespace: &str) -> Lack {
    Lack::Refused(format!(
        "no right to open ports of pods in namespace {namespace}: a WebSocket takes `get` and `create` of pods/portforward or of pods/exec"
    ))
}

async fn forward(client: kube::Client, port: Port<'_>) -> Result<Way, Lack> {
    let pods: Api<Pod> = Api::namespaced(client, port.namespace);
    let mut forwarder = pods
        .portforward(port.pod, &[port.number])
        .await
        .map_err(|error| refusal(&error))?;
    let stream = forwarder
        .take_stream(port.number)
        .ok_or_else(|| Lack::failed("the port was not forwarded"))?;
    let (sender, connection) = handshake(TokioIo::new(stream))
        .await
        .map_err(|error| Lack::failed(chain(&error)))?;
    // It ends with the stream, which ends with the forwarder.
    tokio::spawn(async move { connection.await.is_ok() });
    Ok(Way::Forward { sender, forwarder })
}

async fn request(
    sender: &mut SendRequest<Full<Bytes>>,
    forwarder: &mut Portforwarder,
    port: u16,
    (method, path, body): (&Method, &str, Vec<u8>),
) -> Result<Vec<u8>, Lack> {
    // Envoy answers 426 to HTTP/1.0, and wants a Host.
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("Host", "localhost");
    let request = request
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| Lack::failed(error.to_string()))?;
    let broken = match answer(sender, request).await {
        Ok((200 | 202, body)) => return Ok(body),
        Ok((404 | 405, _)) => return Err(Lack::Absent),
        Ok((status, _)) => return Err(Lack::failed(format!("{path} answered {status}"))),
        Err(BrokenAnswer::Short(why)) => return Err(Lack::failed(why)),
        Err(BrokenAnswer::None(why)) => why,
    };
    // The reason comes on a channel of its own, if at all.
    let told = match forwarder.take_error(port) {
        Some(told) => tokio::time::timeout(REASON_TIMEOUT, told)
            .await
            .ok()
            .flatten(),
        None => None,
    };
    Err(match told {
        Some(told) => Lack::failed(told),
        None => Lack::Cut(clean(broken)),
    })
}

/// How a connection ended before its answer did.
enum BrokenAnswer {
    /// Before the answer began.
    None(String),
    /// Within it.
    Short(String),
}

async fn answer(
    sender: &mut SendRequest<Full<Bytes>>,
    request: Request<Full<Bytes>>,
) -> Result<(u16, Vec<u8>), BrokenAnswer> {
    let none = |error: hyper::Error| BrokenAnswer::None(chain(&error));
    sender.ready().await.map_err(none)?;
    let response = sender.send_request(request).await.map_err(none)?;
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), MAX_ANSWER)
        .collect()
        .await;
    match body {
        Ok(body) => Ok((status, body.to_bytes().into())),
        Err(error) => Err(BrokenAnswer::Short(format!(
            "the answer was cut short: {}",
            chain(error.as_ref())
        ))),
    }
}

/// The agent asks the port from inside and prints the answer.
async fn exec(
    client: kube::Client,
    port: Port<'_>,
    method: &Method,
    path: &str,
) -> Result<Vec<u8>, Lack> {
    let pods: Api<Pod> = Api::namespaced(client, port.namespace);
    let (container, program) = port.agent;
    let command = [
        program,
        "request",
        method.as_str(),
        path.trim_start_matches('/'),
    ];
    let params = AttachParams::default()
        .container(container)
        .stdin(false)
        .stdout(true)
        .stderr(true);
    let mut process = pods
        .exec(port.pod, command, &params)
        .await
        .map_err(|error| refusal(&error))?;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let (stdout, stderr) = (process.stdout(), process.stderr());
    let status = process.take_status();
    let read = async {
        if let Some(mut stdout) = stdout {
            let _ = stdout.read_to_end(&mut out).await;
        }
    };
    let read_errors = async {
        if let Some(mut stderr) = stderr {
            let _ = stderr.read_to_end(&mut err).await;
        }
    };
    tokio::join!(read, read_errors);
    let status = match status {
        Some(status) => status.await,
        None => None,
    };
    match status {
        Some(status) if status.status.as_deref() == Some("Success") => {
            // The agent ends what it prints with a line end of its own.
            out.pop_if(|last| *last == b'\n');
            if is_no_page(&out) {
                Err(Lack::Absent)
            } else {
                Ok(out)
            }
        }
        Some(status) => {
            let (message, err) = (
                status.message.unwrap_or_default(),
                String::from_utf8_lossy(&err),
            );
            Err(Lack::failed(format!(
                "{program} in the pod failed: {message} {err}"
            )))
        }
        None => Err(Lack::failed(format!("{program} in the pod was cut short"))),
    }
}

/// Of what is not there the agent prints the page that says so, and succeeds: only Envoy's, Go's
/// and ztunnel's own words tell it from an answer.
fn is_no_page(answer: &[u8]) -> bool {
    let pages: [&[u8]; 3] = [
        b"invalid path. admin commands are:",
        b"404 page not found",
        b"Not Found",
    ];
    pages.iter().any(|page| answer.starts_with(page))
}

fn refusal(error: &kube::Error) -> Lack {
    match error {
        kube::Error::Api(status) if status.code == 401 => Lack::Stranger(clean(&*status.message)),
        kube::Error::Api(status) if status.code == 403 => Lack::Refused(clean(&*status.message)),
        kube::Error::Api(status) if status.code == 404 => Lack::Gone(clean(&*status.message)),
        error => Lack::failed(chain(error)),
    }
}
