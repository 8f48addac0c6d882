//! From a request to an answer, or to what goes wrong.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Query, Request};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use serde_json::Value;

use super::objects::{self, Target, status};
use super::{State, TOKEN, Trouble, pod, service};

pub(crate) fn app(state: Arc<State>) -> Router {
    Router::new().fallback(move |request: Request| {
        let state = Arc::clone(&state);
        async move { answer(&state, request).await }
    })
}

async fn answer(state: &Arc<State>, request: Request) -> Response {
    let _busy = state.enter();
    let (mut parts, body) = request.into_parts();
    let user = parts.headers.get("impersonate-user").and_then(|value| value.to_str().ok());
    let user = user.map(|user| format!(" as {user}")).unwrap_or_default();
    let line = format!("{} {}{user}", parts.method, parts.uri);
    state.asked.lock().expect("nobody panicked").push(line.clone());
    if let Some(trouble) = state.trouble(&line) {
        return troubled(trouble).await;
    }
    let token = parts.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if token != format!("Bearer {TOKEN}") {
        return json(401, &status(401, "Unauthorized"));
    }
    let path = parts.uri.path().to_owned();
    if path == "/version" {
        return json(200, &serde_json::json!({"major": "1", "minor": "35", "gitVersion": "v1.35.0"}));
    }
    if path.ends_with("/selfsubjectrulesreviews") {
        let body = axum::body::to_bytes(body, 1 << 20).await.unwrap_or_default();
        return json(201, &objects::review(state, &serde_json::from_slice(&body).unwrap_or_default()));
    }
    let Some(target) = Target::of(&path) else { return json(404, &status(404, "not found")) };
    if target.plural.is_empty() {
        let found = objects::discovery(state, &target);
        return found.map_or_else(|| json(404, &status(404, "not found")), |found| json(200, &found));
    }
    if let Some(refused) = refused(state, &target, &parts.method) {
        return refused;
    }
    if let (Some(namespace), Some(pod), Some(_)) = (&target.namespace, &target.name, &target.sub)
        && state.is_gone(namespace, pod)
    {
        return json(404, &status(404, &format!("pods \"{pod}\" not found")));
    }
    let query: Query<Vec<(String, String)>> = Query::try_from_uri(&parts.uri).unwrap_or_default();
    match target.sub.as_deref() {
        Some("log") => pod::log(state, &target, &query),
        Some("proxy") => service::proxy(state, &target, &parts.uri, &parts.headers).await,
        Some(sub @ ("portforward" | "exec")) => {
            let Ok(upgrade) = WebSocketUpgrade::from_request_parts(&mut parts, &()).await else {
                return json(400, &status(400, "Upgrade request required"));
            };
            pod::open(upgrade, state, &target, sub == "exec", &query)
        }
        _ => {
            let accept = parts.headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
            let (code, value) = match target.name {
                Some(_) => objects::object(state, &target),
                None => objects::list(state, &target, &query, accept),
            };
            json(code, &value)
        }
    }
}

fn refused(state: &State, target: &Target, method: &Method) -> Option<Response> {
    let kind = match &target.sub {
        Some(sub) => format!("{}/{sub}", target.plural),
        None => target.kind(),
    };
    let verb = match (&target.name, method) {
        (_, &Method::POST) => "create",
        (Some(_), _) if matches!(target.sub.as_deref(), Some("portforward" | "exec")) => "create",
        (Some(_), _) => "get",
        (None, _) => "list",
    };
    if state.allows(verb, &kind, target.namespace.as_deref()) {
        return None;
    }
    let place =
        target.namespace.as_deref().map_or("at the cluster scope".to_owned(), |ns| format!("in the namespace {ns}"));
    let message = format!("{kind} is forbidden: User \"tester\" cannot {verb} resource \"{kind}\" {place}");
    Some(json(403, &status(403, &message)))
}

pub(crate) fn json(code: u16, value: &Value) -> Response {
    let code = StatusCode::from_u16(code).expect("a status");
    (code, [(header::CONTENT_TYPE, "application/json")], value.to_string()).into_response()
}

async fn troubled(trouble: Trouble) -> Response {
    match trouble {
        Trouble::Status(code, after) => {
            let mut response = json(code, &status(code, "the fake fails on purpose"));
            if let Some(after) = after {
                response.headers_mut().insert(header::RETRY_AFTER, after.into());
            }
            response
        }
        Trouble::Silence => std::future::pending().await,
        Trouble::Cut | Trouble::Lost => {
            let body = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(b"{\"kind\":\"XList\",\"items\":["))])
                .chain(stream::once(async { Err(std::io::Error::other("cut")) }));
            Response::new(Body::from_stream(body))
        }
        Trouble::Html => ([(header::CONTENT_TYPE, "text/html")], "<html>Sign in</html>").into_response(),
        Trouble::Nonsense => json(200, &serde_json::json!({"kind": "Surprise"})),
        Trouble::Trickle => {
            let body = stream::unfold((), |()| async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                Some((Ok::<_, Infallible>(Bytes::from_static(b" ")), ()))
            });
            Response::new(Body::from_stream(body))
        }
    }
}
