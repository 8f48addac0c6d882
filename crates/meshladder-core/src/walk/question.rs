//! What the user asks: who calls what, and how.

use std::net::IpAddr;

use crate::doc::json::escape;
use crate::sim::request::Claims;

/// One request, as a person describes it.
#[derive(Clone, Debug)]
pub struct Question {
    /// Who calls.
    pub from: Caller,
    /// The URL.
    pub to: Url,
    /// The method.
    pub method: String,
    /// Headers in order; `host` stands in [`Url::host`]'s place as the authority.
    pub headers: Vec<(String, String)>,
    /// `1.0`, `1.1` or `2`.
    pub http: String,
    /// The server name a TLS client sends: none for none, and when nobody said it is the URL's host.
    pub sni: Option<Option<String>>,
    /// The client's address, when said.
    pub source_ip: Option<IpAddr>,
    /// What is known of tokens.
    pub claims: Claims,
}

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// A client beyond the ingress gateway.
    Outside,
    /// A pod.
    Pod {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
    /// Somebody who is not described: only the server's side is looked at.
    Somebody,
}

/// A URL, as far as a proxy sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// `http`, `https` or `tcp`.
    pub scheme: Scheme,
    /// Host, without port.
    pub host: String,
    /// Port; the scheme's when the URL has none.
    pub port: u16,
    /// Whether the URL says the port.
    pub has_port: bool,
    /// Path and query.
    pub path: String,
}

/// What is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// HTTP in plain text.
    Http,
    /// HTTP over TLS that the client itself starts.
    Https,
    /// Anything else.
    Tcp,
}

impl Url {
    /// Reads `http://host:port/path`; without a scheme it is HTTP.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (scheme, rest) = match text.split_once("://") {
            None => (Scheme::Http, text),
            Some(("http", rest)) => (Scheme::Http, rest),
            Some(("https", rest)) => (Scheme::Https, rest),
            Some(("tcp", rest)) => (Scheme::Tcp, rest),
            Some((other, _)) => return Err(format!("`{other}` is not known: try http, https or tcp")),
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (host, port) = split_port(authority)?;
        if host.is_empty() {
            return Err(format!("`{text}` names no host"));
        }
        let default = match scheme {
            Scheme::Http => Some(80),
            Scheme::Https => Some(443),
            Scheme::Tcp => None,
        };
        let number = port.or(default).ok_or_else(|| format!("`{text}` names no port"))?;
        let path = match path.chars().next() {
            None => "/".to_owned(),
            Some('/') => path.to_owned(),
            Some(_) => format!("/{path}"),
        };
        Ok(Self { scheme, host: host.to_owned(), port: number, has_port: port.is_some(), path })
    }

    /// What a client puts into `Host`: the port only when it is not the scheme's own.
    pub fn authority(&self) -> String {
        let own = matches!((self.scheme, self.port), (Scheme::Http, 80) | (Scheme::Https, 443));
        if own { self.host.clone() } else { format!("{}:{}", self.host, self.port) }
    }
}

impl Scheme {
    /// As URLs write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
            Self::Tcp => "tcp",
        }
    }
}

fn split_port(authority: &str) -> Result<(&str, Option<u16>), String> {
    // An IPv6 address stands in brackets.
    let after_host = authority.rfind(']').map_or(0, |bracket| bracket + 1);
    match authority[after_host..].find(':') {
        None => Ok((authority, None)),
        Some(colon) => {
            let (host, port) = authority.split_at(after_host + colon);
            let port = &port[1..];
            port.parse().map(|port| (host, Some(port))).map_err(|_| format!("`{port}` is no port"))
        }
    }
}

impl Question {
    /// In words: `GET http://catalog.shop:8080/ from tools/curl`.
    pub fn in_words(&self) -> String {
        let from = match &self.from {
            Caller::Outside => " from outside".to_owned(),
            Caller::Pod { namespace, name } => format!(" from {namespace}/{name}"),
            Caller::Somebody => String::new(),
        };
        let Url { scheme, host, port, path, .. } = &self.to;
        let path = if *scheme == Scheme::Tcp { "" } else { path.as_str() };
        format!("{} {}://{host}:{port}{path}{from}", self.method, scheme.word()).trim_start().to_owned()
    }

    /// The question as JSON v1 repeats it.
    pub fn to_json(&self) -> String {
        let from = match &self.from {
            Caller::Outside => "outside".to_owned(),
            Caller::Pod { namespace, name } => format!("{namespace}/{name}"),
            Caller::Somebody => String::new(),
        };
        let Url { scheme, host, port, path, .. } = &self.to;
        let to = format!("{}://{host}:{port}{path}", scheme.word());
        let headers: Vec<_> = self.headers.iter().map(|(k, v)| format!("{}:{}", escape(k), escape(v))).collect();
        format!(
            "{{\"from\":{},\"to\":{},\"method\":{},\"headers\":{{{}}}}}",
            escape(&from),
            escape(&to),
            escape(&self.method),
            headers.join(",")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_as_a_client_reads_them() {
        for (text, scheme, host, port, path, authority) in [
            ("http://a.shop:8080/x?y=1", Scheme::Http, "a.shop", 8080, "/x?y=1", "a.shop:8080"),
            ("https://shop.example.com", Scheme::Https, "shop.example.com", 443, "/", "shop.example.com"),
            ("http://a:80", Scheme::Http, "a", 80, "/", "a"),
            ("a.shop:8080", Scheme::Http, "a.shop", 8080, "/", "a.shop:8080"),
            ("tcp://db.shop:3306", Scheme::Tcp, "db.shop", 3306, "/", "db.shop:3306"),
            ("http://[2001:db8::1]:80/x", Scheme::Http, "[2001:db8::1]", 80, "/x", "[2001:db8::1]"),
            ("http://a?x", Scheme::Http, "a", 80, "/?x", "a"),
        ] {
            let url = Url::parse(text).expect(text);
            assert_eq!((url.scheme, url.host.as_str(), url.port, url.path.as_str()), (scheme, host, port, path));
            assert_eq!(url.authority(), authority);
        }
        for wrong in ["ftp://a", "http://", "tcp://a", "http://a:x", "http://a:99999", "http:///x"] {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }
}
