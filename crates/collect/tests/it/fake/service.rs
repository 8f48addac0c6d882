//! A Service behind the API server: what is asked of it goes to something real.

use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::State;
use super::objects::{Target, status};
use super::serve::json;

/// Passes a request on to the address that [`State::real`] has for `namespace/service:port`.
pub(crate) async fn proxy(
    state: &State,
    target: &Target,
    uri: &Uri,
    headers: &HeaderMap,
) -> Response {
    let name = target.name.as_deref().unwrap_or_default();
    let key = format!("{}/{name}", target.namespace.as_deref().unwrap_or_default());
    let Some(address) = state.real.get(&key) else {
        return json(
            503,
            &status(
                503,
                &format!("no endpoints available for service \"{name}\""),
            ),
        );
    };
    let path = uri.path_and_query().map_or("", |path| path.as_str());
    let path = path.split_once("/proxy").map_or("/", |(_, rest)| rest);
    let own = headers
        .iter()
        .filter(|(name, _)| name.as_str().starts_with("x-"));
    let own: Vec<String> = own
        .map(|(name, value)| format!("{name}: {}\r\n", value.to_str().expect("text")))
        .collect();
    let own = own.concat();
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let request = format!("GET {path} HTTP/1.0\r\nhost: {address}\r\n{own}\r\n");
    stream
        .write_all(request.as_bytes())
        .await
        .expect("it reads");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.expect("it answers");
    let text = String::from_utf8(answer).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").expect("an answer");
    let code = head
        .split(' ')
        .nth(1)
        .and_then(|code| StatusCode::from_bytes(code.as_bytes()).ok());
    (
        code.expect("a status"),
        [(header::CONTENT_TYPE, "application/json")],
        body.to_owned(),
    )
        .into_response()
}
