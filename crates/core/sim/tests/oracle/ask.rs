//! What filter tests share: a request on the wire, and the same answer in Envoy's words and in
//! ours.

use std::net::IpAddr;

use meshladder_sim::Request;
use meshladder_sim::filters::{FilterBranch, FilterWalk};
use meshladder_sim::request::{Claims, Connection};

use crate::harness::Answer;

/// An answer as the access log has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) status: u16,
    pub(crate) flags: String,
    pub(crate) details: String,
}

impl Said {
    /// What Envoy said.
    pub(crate) fn by_envoy(answer: &Answer) -> Self {
        Self {
            status: answer.status,
            flags: answer.header("x-o-flags").to_owned(),
            details: answer.header("x-o-details").to_owned(),
        }
    }

    /// What the walk says; a request that reaches the router finds no endpoint.
    pub(crate) fn by_walk(walk: &FilterWalk<'_>) -> Result<Self, String> {
        match (&walk.undecided, walk.branches.as_slice()) {
            (Some(fact), _) => Err(format!("undecided: {fact}")),
            (None, [branch]) => Ok(Self::by_branch(branch)),
            (None, branches) => Err(format!("several ways: {branches:?}")),
        }
    }

    /// What we say for one of several ways.
    pub(crate) fn by_branch(branch: &FilterBranch) -> Self {
        let flags = |flags: &[&str]| {
            if flags.is_empty() {
                "-".to_owned()
            } else {
                flags.join(",")
            }
        };
        match &branch.answer {
            Some(answer) => Self {
                status: answer.code,
                flags: flags(&answer.flags),
                details: answer.details.clone(),
            },
            None => Self {
                status: 503,
                flags: flags(&[branch.flags.as_slice(), &["UH"]].concat()),
                details: "no_healthy_upstream".to_owned(),
            },
        }
    }
}

/// A plain-text request from and to these addresses, without headers.
pub(crate) fn request(source: (IpAddr, u16), destination: (IpAddr, u16)) -> Request {
    Request {
        connection: Connection {
            destination,
            source: Some(source),
            tls: None,
            plain_http: Some("http/1.1"),
        },
        method: "GET".to_owned(),
        scheme: "http".to_owned(),
        authority: "a.test".to_owned(),
        path: "/".to_owned(),
        headers: Vec::new(),
        claims: Claims::None,
        unknown_headers: Vec::new(),
    }
}

/// The request on the wire.
pub(crate) fn on_the_wire(request: &Request) -> Vec<u8> {
    let mut text = format!(
        "{} {} HTTP/1.1\r\nhost: {}\r\n",
        request.method, request.path, request.authority
    );
    for (name, value) in &request.headers {
        text.extend([name, ": ", value, "\r\n"]);
    }
    text.push_str("\r\n");
    text.into_bytes()
}
