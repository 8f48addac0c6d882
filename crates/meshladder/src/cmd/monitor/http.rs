//! Just enough HTTP/1.1 to be scraped: GET and HEAD, one request a connection, everything bounded.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a client may take to send its request, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest head of a request that is read.
const LONGEST: usize = 8 << 10;
/// Connections that are answered at a time; the next ones are turned away.
const MOST: usize = 16;

/// An answer.
pub(super) struct HttpAnswer {
    status: u16,
    kind: &'static str,
    body: String,
}

impl HttpAnswer {
    pub(super) fn text(status: u16, body: &str) -> Self {
        Self {
            status,
            kind: "text/plain; charset=utf-8",
            body: body.to_owned(),
        }
    }

    pub(super) fn metrics(body: String) -> Self {
        Self {
            status: 200,
            kind: "text/plain; version=0.0.4; charset=utf-8",
            body,
        }
    }
}

/// Answers requests for paths, for ever.
pub(super) fn serve(listener: &TcpListener, answer: &(impl Fn(&str) -> HttpAnswer + Sync)) {
    let busy = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for stream in listener.incoming() {
            // A client that is gone again is no concern of ours.
            let Ok(stream) = stream else { continue };
            if busy.fetch_add(1, Ordering::AcqRel) >= MOST {
                busy.fetch_sub(1, Ordering::AcqRel);
                continue;
            }
            scope.spawn(|| {
                let _ = handle(stream, answer);
                busy.fetch_sub(1, Ordering::AcqRel);
            });
        }
    });
}

fn handle(mut stream: TcpStream, answer: &impl Fn(&str) -> HttpAnswer) -> io::Result<()> {
    stream.set_write_timeout(Some(PATIENCE))?;
    let head = head(&mut stream)?;
    let mut words = head.lines().next().unwrap_or_default().split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let path = target.map(|target| target.split('?').next().unwrap_or(target));
    let given = match (method, path, version) {
        (Some("GET" | "HEAD"), Some(path), Some("HTTP/1.1" | "HTTP/1.0")) => answer(path),
        (Some(_), Some(_), Some("HTTP/1.1" | "HTTP/1.0")) => {
            HttpAnswer::text(405, "GET and HEAD only\n")
        }
        _ => HttpAnswer::text(400, "not HTTP/1.1\n"),
    };
    let HttpAnswer { status, kind, body } = given;
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        405 => "Method Not Allowed",
        _ => "Service Unavailable",
    };
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    if method != Some("HEAD") {
        stream.write_all(body.as_bytes())?;
    }
    stream.flush()
}

/// What a client sends up to the empty line. Each byte more does not give it more time.
fn head(stream: &mut TcpStream) -> io::Result<String> {
    let deadline = Instant::now() + PATIENCE;
    let (mut head, mut some) = (Vec::new(), [0; 1024]);
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || head.len() > LONGEST {
            return Err(io::ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut some)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => head.extend(&some[..count]),
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a server says to one request; its thread ends with the test's process.
    fn said(request: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || serve(&listener, &|path| HttpAnswer::text(200, path)));
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        text
    }

    #[test]
    fn requests_get_an_answer_or_are_told_why_not() {
        for (request, start, end) in [
            (
                "GET /metrics?x=1 HTTP/1.1\r\nhost: a\r\n\r\n",
                "HTTP/1.1 200 OK\r\n",
                "\r\n\r\n/metrics",
            ),
            (
                "HEAD /metrics HTTP/1.0\r\n\r\n",
                "HTTP/1.1 200 OK\r\n",
                "content-length: 8\r\nconnection: close\r\n\r\n",
            ),
            (
                "POST /metrics HTTP/1.1\r\n\r\n",
                "HTTP/1.1 405 Method Not Allowed\r\n",
                "only\n",
            ),
            (
                "hello\r\n\r\n",
                "HTTP/1.1 400 Bad Request\r\n",
                "HTTP/1.1\n",
            ),
        ] {
            let told = said(request);
            assert!(
                told.starts_with(start) && told.ends_with(end),
                "{request}: {told}"
            );
        }
    }

    #[test]
    fn an_endless_request_is_cut_off() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        std::thread::spawn(move || serve(&listener, &|path| HttpAnswer::text(200, path)));
        let mut stream = TcpStream::connect(address).expect("it listens");
        let long = format!("GET / HTTP/1.1\r\nx: {}", "y".repeat(100 << 10));
        let _ = stream.write_all(long.as_bytes());
        let mut text = String::new();
        // Cut off with or without a reset, and without an answer.
        let _ = stream.read_to_string(&mut text);
        assert_eq!(text, "");
    }
}
