//! The way to a port of something real, with what may go wrong on it.

use std::net::SocketAddr;

use axum::extract::ws::{Message, WebSocket};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::pod::begin;
use super::{State, Trouble};

/// Passes bytes on in both directions. With a state a request is told as `PORT namespace/pod/path`,
/// and may meet trouble.
pub(crate) async fn forward(
    mut socket: WebSocket,
    port: u16,
    mut stream: impl AsyncReadExt + AsyncWriteExt + Unpin,
    watched: Option<(&State, &str)>,
) {
    begin(&mut socket, port).await;
    let mut buffer = vec![0; 1 << 15];
    loop {
        tokio::select! {
            read = stream.read(&mut buffer) => match read {
                Ok(read) if read > 0 => {
                    if socket.send(Message::Binary([&[0], &buffer[..read]].concat().into())).await.is_err() {
                        return;
                    }
                }
                _ => break,
            },
            message = socket.recv() => match message {
                Some(Ok(Message::Binary(bytes))) if bytes.first() == Some(&0) => {
                    match watched.and_then(|(state, pod)| met(state, pod, &bytes[1..])) {
                        None if stream.write_all(&bytes[1..]).await.is_ok() => {}
                        Some(Trouble::Status(code, _)) => {
                            let text = format!("HTTP/1.1 {code} X\r\ncontent-length: 0\r\n\r\n");
                            let _ = socket.send(Message::Binary([&[0], text.as_bytes()].concat().into())).await;
                        }
                        Some(Trouble::Lost) => {
                            let _ = stream.write_all(&bytes[1..]).await;
                            // It is done once it is answered.
                            let _ = stream.read(&mut buffer).await;
                            break;
                        }
                        Some(Trouble::Silence | Trouble::Trickle) => {}
                        _ => break,
                    }
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => {}
            },
        }
    }
    let _ = socket.send(Message::Close(None)).await;
}

/// What goes wrong with a request, if anything does.
fn met(state: &State, pod: &str, bytes: &[u8]) -> Option<Trouble> {
    let head = String::from_utf8_lossy(bytes);
    let line = format!("PORT {pod}{}", head.split(' ').nth(1)?);
    state
        .asked
        .lock()
        .expect("nobody panicked")
        .push(line.clone());
    state.trouble(&line)
}

/// One request, as the agent in the pod makes it; nothing when the answer is not 200.
pub(crate) async fn ask(
    state: &State,
    address: SocketAddr,
    method: &str,
    path: &str,
    pod: &str,
) -> Option<Vec<u8>> {
    let line = format!("EXEC {pod}/{path}");
    state
        .asked
        .lock()
        .expect("nobody panicked")
        .push(line.clone());
    let trouble = state.trouble(&line);
    if trouble
        .as_ref()
        .is_some_and(|trouble| *trouble != Trouble::Lost)
    {
        return None;
    }
    let mut stream = TcpStream::connect(address).await.ok()?;
    let head = format!(
        "{method} /{path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.ok()?;
    let text = String::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    (head.starts_with("HTTP/1.1 200") && trouble.is_none()).then(|| unchunked(body).into_bytes())
}

/// The pieces of a chunked body together.
fn unchunked(mut body: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = body.split_once("\r\n") {
        let Some((piece, next)) = usize::from_str_radix(size, 16)
            .ok()
            .filter(|size| *size > 0)
            .and_then(|size| rest.split_at_checked(size))
        else {
            break;
        };
        whole.push_str(piece);
        body = next.trim_start_matches("\r\n");
    }
    whole
}
