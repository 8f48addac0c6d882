//! HTTP/1.1 to be scraped by: GET and HEAD, one request a connection, each phase within its time.
//!
//! A connection that has not said what it wants holds nobody up: when there are too many, the one
//! that has waited longest is closed for the next.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::{CONTENT_TYPE, HOST};
use http::{Method, Request, Response, StatusCode, Version};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

/// How long a client may take to send its request.
const ASKING: Duration = Duration::from_secs(5);
/// How long it may take until it has its answer, all in all.
const ALL: Duration = Duration::from_secs(20);
/// The longest head of a request that is read: the least that hyper allows.
const LONGEST: usize = 8 << 10;
/// Connections that may be open without having asked.
const MOST_SILENT: usize = 64;
/// Answers that are made at a time; the next ones wait.
const MOST_ANSWERS: usize = 8;

/// An answer.
pub(super) struct HttpAnswer {
    status: StatusCode,
    kind: &'static str,
    body: String,
}

impl HttpAnswer {
    pub(super) fn text(status: u16, body: &str) -> Self {
        Self {
            status: StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            kind: "text/plain; charset=utf-8",
            body: body.to_owned(),
        }
    }

    pub(super) fn metrics(body: String) -> Self {
        Self {
            status: StatusCode::OK,
            kind: "text/plain; version=0.0.4; charset=utf-8",
            body,
        }
    }
}

/// Answers requests for paths, for ever. `names` are hosts by which it may be called beside those
/// that only somebody inside can use.
///
/// # Errors
/// When the operating system has no more threads or sockets.
pub(super) fn serve(
    listener: TcpListener,
    names: &[String],
    answer: impl Fn(&str) -> HttpAnswer + Send + Sync + 'static,
) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let server = Arc::new(Server {
        answer: Box::new(answer),
        names: names.to_vec(),
        silent: Mutex::default(),
        answers: Semaphore::new(MOST_ANSWERS),
    });
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        for number in 0_u64.. {
            match listener.accept().await {
                Ok((stream, _)) => server.take(number, stream),
                // A client that is gone again is no concern of ours; for want of files others
                // have to be closed first.
                Err(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
        Ok(())
    })
}

struct Server {
    answer: Box<dyn Fn(&str) -> HttpAnswer + Send + Sync>,
    names: Vec<String>,
    /// The connections that have not asked yet, the oldest first.
    silent: Mutex<BTreeMap<u64, AbortHandle>>,
    answers: Semaphore,
}

impl Server {
    fn take(self: &Arc<Self>, number: u64, stream: TcpStream) {
        let server = Arc::clone(self);
        // It cannot ask before it is among the silent ones.
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        let task = tokio::spawn(async move {
            let _ = tokio::time::timeout(ALL, server.connection(number, stream)).await;
            server.speaks(number);
        });
        silent.insert(number, task.abort_handle());
        if silent.len() > MOST_SILENT
            && let Some((_, oldest)) = silent.pop_first()
        {
            oldest.abort();
        }
    }

    /// Notes that a connection is no longer one that waits to be told something.
    fn speaks(&self, number: u64) {
        let mut silent = self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        silent.remove(&number);
    }

    async fn connection(self: &Arc<Self>, number: u64, stream: TcpStream) {
        let service = service_fn(|request: Request<Incoming>| async move {
            self.speaks(number);
            Ok::<_, Infallible>(self.respond(&request).await)
        });
        // Whoever breaks off does not wait for an answer.
        let _ = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(ASKING)
            .max_buf_size(LONGEST)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), service)
            .await;
    }

    async fn respond(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let HttpAnswer { status, kind, body } = if let Some(refusal) = self.refusal(request) {
            refusal
        } else {
            let _turn = self.answers.acquire().await;
            (self.answer)(request.uri().path())
        };
        let mut response = Response::new(Full::new(Bytes::from(body)));
        *response.status_mut() = status;
        let kind = http::HeaderValue::from_static(kind);
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response
    }

    fn refusal(&self, request: &Request<Incoming>) -> Option<HttpAnswer> {
        let host = request.headers().get(HOST);
        if request.headers().get_all(HOST).iter().count() > 1
            || host.is_none() && request.version() == Version::HTTP_11
        {
            return Some(HttpAnswer::text(
                400,
                "one host header belongs to a request\n",
            ));
        }
        if let Some(host) = host
            && !host.to_str().is_ok_and(|host| is_ours(host, &self.names))
        {
            // A page of a foreign site that has its name lead here must not read what it gets.
            return Some(HttpAnswer::text(
                421,
                "not called by a name of its own; see --host\n",
            ));
        }
        match *request.method() {
            Method::GET | Method::HEAD => None,
            _ => Some(HttpAnswer::text(405, "GET and HEAD only\n")),
        }
    }
}

/// Whether a host is one that no foreign site can have: an address, a name without a dot, one of
/// the cluster, or one that was allowed.
fn is_ours(host: &str, names: &[String]) -> bool {
    let host = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or(host),
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let is_of_cluster = |end: &str| host.ends_with(end);
    !host.is_empty()
        && (host.parse::<IpAddr>().is_ok()
            || !host.contains('.')
            || host.contains(".svc.")
            || [".svc", ".localhost", ".cluster.local"]
                .into_iter()
                .any(is_of_cluster)
            || names.iter().any(|name| name.eq_ignore_ascii_case(&host)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpStream};

    /// A server; its threads end with the test's process.
    fn server() -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let names = vec!["metrics.shop.example".to_owned()];
        std::thread::spawn(move || serve(listener, &names, |path| HttpAnswer::text(200, path)));
        address
    }

    fn said(address: SocketAddr, request: &str) -> String {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        text
    }

    #[test]
    fn requests_get_an_answer_or_are_told_why_not() {
        let address = server();
        for (request, start, end) in [
            (
                "GET /metrics?x=1 HTTP/1.1\r\nhost: a\r\n\r\n",
                "HTTP/1.1 200 OK\r\n",
                "\r\n\r\n/metrics",
            ),
            (
                "HEAD /metrics HTTP/1.0\r\n\r\n",
                "HTTP/1.0 200 OK\r\n",
                "\r\n\r\n",
            ),
            (
                "POST /metrics HTTP/1.1\r\nhost: a\r\n\r\n",
                "HTTP/1.1 405 Method Not Allowed\r\n",
                "only\n",
            ),
            (
                "GET /metrics HTTP/1.1\r\n\r\n",
                "HTTP/1.1 400 Bad Request\r\n",
                "request\n",
            ),
            (
                "GET /metrics HTTP/1.1\r\nhost: evil.example\r\n\r\n",
                "HTTP/1.1 421 Misdirected Request\r\n",
                "--host\n",
            ),
            ("hello\r\n\r\n", "HTTP/1.1 400 Bad Request\r\n", "\r\n\r\n"),
        ] {
            let told = said(address, request);
            assert!(
                told.starts_with(start) && told.ends_with(end),
                "{request}: {told}"
            );
        }
    }

    #[test]
    fn a_name_that_a_foreign_site_could_have_is_refused() {
        let names = ["metrics.shop.example".to_owned()];
        for host in [
            "10.0.0.1:9815",
            "[::1]:9815",
            "localhost",
            "meshladder-monitor",
            "meshladder-monitor.monitoring.svc:9815",
            "m.monitoring.svc.cluster.local.",
            "Metrics.shop.example",
        ] {
            assert!(is_ours(host, &names), "{host}");
        }
        for host in [
            "evil.example",
            "svc.evil.example",
            "127.0.0.1.evil.example",
            "",
        ] {
            assert!(!is_ours(host, &names), "{host}");
        }
    }

    #[test]
    fn whoever_does_not_ask_holds_nobody_up() {
        let address = server();
        let connect = |_| TcpStream::connect(address).expect("it listens");
        let silent: Vec<TcpStream> = (0..300).map(connect).collect();
        for mut stream in &silent {
            let _ = stream.write_all(b"GET /metrics HT");
        }
        let told = said(address, "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n");
        assert!(told.ends_with("/healthz"), "{told}");
    }

    #[test]
    fn an_endless_request_is_cut_off() {
        let mut stream = TcpStream::connect(server()).expect("it listens");
        let long = format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(100 << 10));
        let _ = stream.write_all(long.as_bytes());
        let mut text = String::new();
        // Cut off with or without a reset, and without an answer to what was asked.
        let _ = stream.read_to_string(&mut text);
        assert!(!text.contains(" 200 "), "{text}");
    }
}
