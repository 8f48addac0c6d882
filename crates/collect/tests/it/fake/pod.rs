//! Inside a pod: logs, forwarded ports and commands.

use std::sync::Arc;

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::response::{IntoResponse, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::net::TcpStream;

use super::objects::{Target, status};
use super::serve::json;
use super::{State, growing, real};

/// A bundle's file for what Envoy's admin port or istiod's monitoring port is asked.
fn document(state: &State, namespace: &str, pod: &str, path: &str) -> Option<Vec<u8>> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let path = path.trim_matches('/');
    let proxy = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("proxyID="));
    let file = match path {
        "debug/config_dump" => format!(
            "istiod/{pod}/debug/config_dump/{}.json",
            proxy.unwrap_or_default()
        ),
        "config_dump" | "clusters" | "server_info" | "certs" | "listeners" => {
            format!("proxies/{namespace}/{pod}/{path}.json")
        }
        "stats" | "logging" => format!("proxies/{namespace}/{pod}/{path}.txt"),
        "metrics" => format!("istiod/{pod}/metrics.txt"),
        "version" => format!("istiod/{pod}/version.json"),
        debug => format!("istiod/{pod}/{debug}.json"),
    };
    let made_up = || {
        let len = state.made_up?;
        if !file.starts_with("proxies/") {
            return path.ends_with("syncz").then(|| b"[]".to_vec());
        }
        let noise = "x".repeat(if path == "config_dump" { len } else { 10 });
        Some(format!(r#"{{"configs":[{{"@type":"b","bootstrap":{{"node":{{"id":"sidecar~1.2.3.4~{pod}.{namespace}~x"}},"noise":"{noise}"}}}}]}}"#).into_bytes())
    };
    let found = std::fs::read(state.root.join(&file))
        .ok()
        .or_else(made_up)?;
    // An istiod answers this with a line of text.
    if path == "version"
        && let Ok(document) = serde_json::from_slice::<serde_json::Value>(&found)
    {
        return Some(document["version"].as_str()?.as_bytes().to_vec());
    }
    Some(found)
}

pub(crate) fn log(state: &Arc<State>, target: &Target, query: &[(String, String)]) -> Response {
    let get = |key: &str| {
        query
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value.as_str())
    };
    let (namespace, pod) = names(target);
    let container = get("container").unwrap_or("app");
    if let Some(file) = state.growing.get(&format!("{namespace}/{pod}")) {
        return growing::log(state, file, query);
    }
    let path = state
        .root
        .join(format!("logs/{namespace}/{pod}/{container}.log"));
    let made_up = || {
        state
            .made_up
            .map(|_| "2026-11-15T06:30:45.652528Z\tinfo\tready\n".to_owned())
    };
    let Some(text) = std::fs::read_to_string(path).ok().or_else(made_up) else {
        return json(404, &status(404, "no such log"));
    };
    let tail = get("tailLines")
        .and_then(|n| n.parse().ok())
        .unwrap_or(usize::MAX);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines[lines.len().saturating_sub(tail)..]
        .concat()
        .into_response()
}

fn names(target: &Target) -> (String, String) {
    (
        target.namespace.clone().unwrap_or_default(),
        target.name.clone().unwrap_or_default(),
    )
}

/// Answers a WebSocket: a forwarded port, or a command.
pub(crate) fn open(
    upgrade: WebSocketUpgrade,
    state: &Arc<State>,
    target: &Target,
    is_exec: bool,
    query: &[(String, String)],
) -> Response {
    let (state, (namespace, pod)) = (Arc::clone(state), names(target));
    // A kubelet that forwards a port over a WebSocket knows the older protocol only, whatever is
    // offered; servers of old know no other for commands either.
    let newest = if is_exec && state.versions.is_empty() {
        "v5.channel.k8s.io"
    } else {
        "v4.channel.k8s.io"
    };
    let upgrade = upgrade.protocols([newest, "v4.channel.k8s.io"]);
    let all = |key: &str| {
        query
            .iter()
            .filter(|(name, _)| name == key)
            .map(|(_, value)| value.clone())
            .collect::<Vec<_>>()
    };
    if is_exec {
        let command = all("command");
        return upgrade.on_upgrade(move |socket| async move {
            exec(socket, &state, &namespace, &pod, &command).await;
        });
    }
    let port = all("ports")
        .first()
        .and_then(|port| port.parse().ok())
        .unwrap_or(0);
    upgrade.on_upgrade(move |socket| async move {
        let _busy = state.enter();
        if state
            .trouble(&format!("FORWARD {namespace}/{pod}"))
            .is_some()
        {
            return refuse(
                socket,
                port,
                "unable to do port forwarding: socat not found",
            )
            .await;
        }
        let real = state
            .real
            .get(&format!("{namespace}/{pod}:{port}"))
            .copied();
        let Some(address) = real else {
            let (ours, theirs) = tokio::io::duplex(1 << 16);
            let inside = Arc::clone(&state);
            let answering =
                tokio::spawn(async move { respond(theirs, &inside, &namespace, &pod).await });
            real::forward(socket, port, ours, None).await;
            return answering.abort();
        };
        match TcpStream::connect(address).await {
            Ok(stream) => {
                real::forward(
                    socket,
                    port,
                    stream,
                    Some((&state, &format!("{namespace}/{pod}"))),
                )
                .await;
            }
            Err(error) => refuse(socket, port, &error.to_string()).await,
        }
    })
}

/// `pilot-agent request GET path`
async fn exec(
    mut socket: WebSocket,
    state: &State,
    namespace: &str,
    pod: &str,
    command: &[String],
) {
    let _busy = state.enter();
    let real = state
        .real
        .iter()
        .find(|(place, _)| place.starts_with(&format!("{namespace}/{pod}:")));
    let body = match (real, command.get(2).zip(command.get(3))) {
        (Some((_, address)), Some((method, path))) => {
            real::ask(state, *address, method, path, &format!("{namespace}/{pod}")).await
        }
        _ => command
            .get(3)
            .and_then(|path| document(state, namespace, pod, path)),
    };
    // The agent prints what it was answered and a line end, also when that is a page that says
    // there is none.
    let body = [
        body.unwrap_or_else(|| b"404 page not found\n".to_vec()),
        b"\n".to_vec(),
    ]
    .concat();
    let end = serde_json::json!({"status": "Success", "metadata": {}});
    for chunk in body.chunks(1 << 15) {
        if socket
            .send(Message::Binary([&[1], chunk].concat().into()))
            .await
            .is_err()
        {
            return;
        }
    }
    let _ = socket
        .send(Message::Binary(
            [&[3], end.to_string().as_bytes()].concat().into(),
        ))
        .await;
    let _ = socket.send(Message::Close(None)).await;
}

async fn refuse(mut socket: WebSocket, port: u16, why: &str) {
    begin(&mut socket, port).await;
    let _ = socket
        .send(Message::Binary([&[1], why.as_bytes()].concat().into()))
        .await;
    let _ = socket.send(Message::Close(None)).await;
}

/// Each channel starts with the port it is for.
pub(crate) async fn begin(socket: &mut WebSocket, port: u16) {
    for channel in [0u8, 1] {
        let _ = socket
            .send(Message::Binary(
                [&[channel], &port.to_le_bytes()[..]].concat().into(),
            ))
            .await;
    }
}

/// A canned HTTP/1.1 server over the documents of a pod.
async fn respond(mut stream: DuplexStream, state: &State, namespace: &str, pod: &str) {
    let mut pending = Vec::new();
    let mut buffer = vec![0; 4096];
    loop {
        while let Some(end) = pending.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&pending[..end]).into_owned();
            pending.drain(..end + 4);
            let path = head.split(' ').nth(1).unwrap_or("/").to_owned();
            let line = format!("PORT {namespace}/{pod}{path}");
            state
                .asked
                .lock()
                .expect("nobody panicked")
                .push(line.clone());
            let trouble = state.trouble(&line);
            if !reply(&mut stream, trouble, document(state, namespace, pod, &path)).await {
                return;
            }
        }
        match stream.read(&mut buffer).await {
            Ok(read) if read > 0 => pending.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    }
}

/// Whether the connection goes on.
async fn reply(
    stream: &mut DuplexStream,
    trouble: Option<super::Trouble>,
    body: Option<Vec<u8>>,
) -> bool {
    let (code, body, told) = match (trouble, body) {
        (Some(super::Trouble::Silence | super::Trouble::Trickle), _) => {
            std::future::pending().await
        }
        (Some(super::Trouble::Status(code, _)), _) => (code, Vec::new(), 0),
        (Some(super::Trouble::Cut | super::Trouble::Lost), body) => (
            200,
            b"{".to_vec(),
            body.map_or(100, |body| body.len() + 100),
        ),
        (Some(_), _) => (200, b"<html>".to_vec(), 6),
        (None, Some(body)) => {
            let len = body.len();
            (200, body, len)
        }
        (None, None) => (404, Vec::new(), 0),
    };
    let head = format!("HTTP/1.1 {code} X\r\ncontent-length: {told}\r\n\r\n");
    let sent =
        stream.write_all(head.as_bytes()).await.is_ok() && stream.write_all(&body).await.is_ok();
    sent && told == body.len()
}
