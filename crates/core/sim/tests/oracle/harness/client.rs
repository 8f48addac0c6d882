//! A blocking HTTP/1.1 client, as small as the answers it reads: local replies with
//! `content-length`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

/// A keep-alive connection to a port on loopback that is made anew whenever Envoy closes it.
pub(crate) struct Client {
    port: u16,
    preamble: Vec<u8>,
    stream: Option<BufReader<TcpStream>>,
}

/// An answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    /// The status code; 0 when the connection was closed without an answer.
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Client {
    pub(crate) fn new(port: u16) -> Self {
        Self::with_preamble(port, b"")
    }

    /// A client whose connections start with these bytes, for instance a PROXY protocol header.
    pub(crate) fn with_preamble(port: u16, preamble: &[u8]) -> Self {
        Self {
            port,
            preamble: preamble.to_vec(),
            stream: None,
        }
    }

    /// Sends one request, head and body as they are, and reads its answer.
    pub(crate) fn send(&mut self, request: &[u8]) -> Answer {
        // An idle connection may have been closed in the meantime; a fresh one is the second and
        // last chance.
        for _ in 0..2 {
            let is_fresh = self.stream.is_none();
            let Some(stream) = self.connect() else {
                return Answer::default();
            };
            if stream.get_mut().write_all(request).is_ok()
                && let Some((answer, keep)) = read(stream, request.starts_with(b"HEAD "))
            {
                if !keep {
                    self.stream = None;
                }
                return answer;
            }
            self.stream = None;
            if is_fresh {
                break;
            }
        }
        Answer::default()
    }

    fn connect(&mut self) -> Option<&mut BufReader<TcpStream>> {
        if self.stream.is_none() {
            let mut stream = connect(self.port)?;
            stream.write_all(&self.preamble).ok()?;
            self.stream = Some(BufReader::new(stream));
        }
        self.stream.as_mut()
    }
}

impl Answer {
    /// The first value of a header; empty when there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers
            .iter()
            .find(|(n, _)| n == name)
            .map_or("", |(_, value)| value)
    }
}

fn connect(port: u16) -> Option<TcpStream> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
    stream.set_nodelay(true).ok()?;
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .ok()?;
    Some(stream)
}

/// One answer, and whether the connection can be used again.
fn read(stream: &mut BufReader<TcpStream>, is_head: bool) -> Option<(Answer, bool)> {
    let mut line = String::new();
    stream.read_line(&mut line).ok().filter(|&read| read > 0)?;
    let status = line.split(' ').nth(1)?.parse().ok()?;
    let mut answer = Answer {
        status,
        ..Answer::default()
    };
    loop {
        line.clear();
        stream.read_line(&mut line).ok().filter(|&read| read > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        answer
            .headers
            .push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut body = Vec::new();
    if is_head || matches!(status, 204 | 304) {
        // No body, whatever the headers say.
    } else if answer.header("transfer-encoding") == "chunked" {
        chunks(stream, &mut body)?;
    } else {
        body.resize(answer.header("content-length").parse().unwrap_or(0), 0);
        stream.read_exact(&mut body).ok()?;
    }
    answer.body = String::from_utf8_lossy(&body).into_owned();
    let keep = !answer.header("connection").eq_ignore_ascii_case("close");
    Some((answer, keep))
}

fn chunks(stream: &mut BufReader<TcpStream>, body: &mut Vec<u8>) -> Option<()> {
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let size = usize::from_str_radix(line.trim(), 16).ok()?;
        let start = body.len();
        // Each chunk, and the last one that has none, ends in a line break.
        body.resize(start + size + 2, 0);
        stream.read_exact(&mut body[start..]).ok()?;
        body.truncate(start + size);
        if size == 0 {
            return Some(());
        }
    }
}
