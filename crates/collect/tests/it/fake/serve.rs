//! From a request to an answer, or to what goes wrong.

use std::convert::Infallible;
use std::io::Write;
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
        async move {
            let mut response = answer(&state, request).await;
            if let Some(time) = state.time {
                let date = httpdate::fmt_http_date(time).parse().expect("a header");
                response.headers_mut().insert(header::DATE, date);
            }
            response
        }
    })
}

/// What answers a review of rights.
type Review = fn(&State, &Value) -> Value;

fn review(path: &str) -> Option<Review> {
    match path.rsplit('/').next()? {
        "selfsubjectrulesreviews" => Some(objects::rules_review),
        "selfsubjectaccessreviews" => Some(objects::access_review),
        _ => None,
    }
}

async fn answer(state: &Arc<State>, request: Request) -> Response {
    let _busy = state.enter();
    let (mut parts, body) = request.into_parts();
    let header = |name: &str| {
        parts
            .headers
            .get(name)
            .and_then(|value| value.to_str().ok())
    };
    let user = header("impersonate-user")
        .map(|user| format!(" as {user}"))
        .unwrap_or_default();
    let id = header("impersonate-uid")
        .map(|id| format!(" with id {id}"))
        .unwrap_or_default();
    let agent = header("user-agent").unwrap_or_default().to_owned();
    state.agents.lock().expect("nobody panicked").insert(agent);
    let line = format!("{} {}{user}{id}", parts.method, parts.uri);
    state
        .asked
        .lock()
        .expect("nobody panicked")
        .push(line.clone());
    if let Some(trouble) = state.trouble(&line) {
        return troubled(trouble).await;
    }
    let token = header("authorization")
        .and_then(|value| value.strip_prefix("Bearer "))
        .unwrap_or_default();
    let expected = state.token.lock().expect("nobody panicked").clone();
    if token.is_empty() && !state.is_open && state.allows("come", "anonymous", None) {
        return match parts.uri.path() {
            "/version" => json(200, &serde_json::json!({"gitVersion": "v1.35.0"})),
            _ => json(
                403,
                &status(
                    403,
                    "pods is forbidden: User \"system:anonymous\" cannot list resource \"pods\"",
                ),
            ),
        };
    }
    if !state.is_open && token != expected.as_deref().unwrap_or(TOKEN) {
        return json(401, &status(401, "Unauthorized"));
    }
    if !user.is_empty() && !state.allows("impersonate", "users", None) {
        return json(
            403,
            &status(
                403,
                "users \"oncall\" is forbidden: User \"tester\" cannot impersonate resource \"users\"",
            ),
        );
    }
    let path = parts.uri.path().to_owned();
    if path == "/version" {
        return json(
            200,
            &serde_json::json!({"major": "1", "minor": "35", "gitVersion": "v1.35.0"}),
        );
    }
    if let Some(review) = review(&path) {
        let body = axum::body::to_bytes(body, 1 << 20)
            .await
            .unwrap_or_default();
        let asked = serde_json::from_slice(&body).unwrap_or_default();
        return json(201, &review(state, &asked));
    }
    let Some(target) = Target::of(&path) else {
        return json(404, &status(404, "not found"));
    };
    if target.plural.is_empty() {
        let found = objects::discovery(state, &target);
        return found.map_or_else(
            || json(404, &status(404, "not found")),
            |found| json(200, &found),
        );
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
            let header = |name: &str| {
                parts
                    .headers
                    .get(name)
                    .and_then(|value| value.to_str().ok())
            };
            let accept = header("accept").unwrap_or_default();
            if query
                .iter()
                .any(|(name, value)| name == "watch" && value != "false" && value != "0")
            {
                return watched(objects::events(state, &target, &query));
            }
            let (code, value) = match target.name {
                Some(_) => objects::object(state, &target),
                None => objects::list(state, &target, &query, accept),
            };
            let may_pack = header("accept-encoding").is_some_and(|value| value.contains("gzip"));
            if may_pack {
                packed(code, &value)
            } else {
                json(code, &value)
            }
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
    let place = target
        .namespace
        .as_deref()
        .map_or("at the cluster scope".to_owned(), |ns| {
            format!("in the namespace {ns}")
        });
    let message =
        format!("{kind} is forbidden: User \"tester\" cannot {verb} resource \"{kind}\" {place}");
    Some(json(403, &status(403, &message)))
}

pub(crate) fn json(code: u16, value: &Value) -> Response {
    let code = StatusCode::from_u16(code).expect("a status");
    (
        code,
        [(header::CONTENT_TYPE, "application/json")],
        value.to_string(),
    )
        .into_response()
}

/// Events, one a line, on a connection that stays open as a watch does.
fn watched(events: Vec<Value>) -> Response {
    let lines = events
        .into_iter()
        .map(|event| Ok::<_, Infallible>(Bytes::from(format!("{event}\n"))));
    let body = stream::iter(lines).chain(stream::pending());
    (
        [(header::CONTENT_TYPE, "application/json")],
        Body::from_stream(body),
    )
        .into_response()
}

/// As a server answers who takes compressed answers, with a warning that clients may show.
fn packed(code: u16, value: &Value) -> Response {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer
        .write_all(value.to_string().as_bytes())
        .expect("memory");
    let body = packer.finish().expect("memory");
    let code = StatusCode::from_u16(code).expect("a status");
    let warning = (header::WARNING, "299 - \"this version is deprecated\"");
    (
        code,
        [
            (header::CONTENT_TYPE, "application/json"),
            (header::CONTENT_ENCODING, "gzip"),
            warning,
        ],
        body,
    )
        .into_response()
}

async fn troubled(trouble: Trouble) -> Response {
    match trouble {
        Trouble::Status(code, after) => {
            let mut response = json(code, &status(code, "the fake fails on purpose"));
            if let Some(after) = after {
                response
                    .headers_mut()
                    .insert(header::RETRY_AFTER, after.into());
            }
            response
        }
        Trouble::Silence => std::future::pending().await,
        Trouble::Cut | Trouble::Lost => {
            let body = stream::iter([Ok::<_, std::io::Error>(Bytes::from_static(
                b"{\"kind\":\"XList\",\"items\":[",
            ))])
            .chain(stream::once(async { Err(std::io::Error::other("cut")) }));
            Response::new(Body::from_stream(body))
        }
        Trouble::Html => (
            [(header::CONTENT_TYPE, "text/html")],
            "<html>Sign in</html>",
        )
            .into_response(),
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
