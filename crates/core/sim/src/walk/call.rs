//! What the user asks: who calls what, and how.

use std::borrow::Cow;
use std::net::IpAddr;

use crate::request::{Claims, Connection, Request, Tls};

/// One request, as a person describes it.
#[derive(Clone, Debug)]
pub struct Call {
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
    /// The server name a TLS client sends: none for none, and when nobody said it is the URL's
    /// host.
    pub sni: Option<Option<String>>,
    /// The client's address, when said.
    pub source_ip: Option<IpAddr>,
    /// The caller's SPIFFE identity, when said: it stands in the place of the one that the first
    /// hop would present.
    pub principal: Option<Principal>,
    /// What is known of tokens.
    pub claims: Claims,
}

/// A SPIFFE identity: `spiffe://cluster.local/ns/shop/sa/cart`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal(String);

impl Principal {
    /// Reads an identity, with or without `spiffe://`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let name = text.strip_prefix("spiffe://").unwrap_or(text);
        let is_whole = name.split('/').count() > 1 && name.split('/').all(|part| !part.is_empty());
        if !is_whole || name.contains(['*', ' ']) {
            return Err(format!(
                "`{text}` is no identity: try `cluster.local/ns/shop/sa/cart`"
            ));
        }
        Ok(Self(format!("spiffe://{name}")))
    }

    /// The identity of a service account.
    pub fn of(trust_domain: &str, namespace: &str, service_account: &str) -> Self {
        Self(format!(
            "spiffe://{trust_domain}/ns/{namespace}/sa/{service_account}"
        ))
    }

    /// The URI, as certificates have it.
    pub fn uri(&self) -> &str {
        &self.0
    }
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
            Some((other, _)) => {
                return Err(format!("`{other}` is not known: try http, https or tcp"));
            }
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
        let number = port
            .or(default)
            .ok_or_else(|| format!("`{text}` names no port"))?;
        let path = match path.chars().next() {
            None => "/".to_owned(),
            Some('/') => path.to_owned(),
            Some(_) => format!("/{path}"),
        };
        Ok(Self {
            scheme,
            host: host.to_owned(),
            port: number,
            has_port: port.is_some(),
            path,
        })
    }

    /// What a client puts into `Host`: the port only when it is not the scheme's own.
    pub fn authority(&self) -> String {
        let own = matches!(
            (self.scheme, self.port),
            (Scheme::Http, 80) | (Scheme::Https, 443)
        );
        if own {
            self.host.clone()
        } else {
            format!("{}:{}", self.host, self.port)
        }
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
            port.parse()
                .map(|port| (host, Some(port)))
                .map_err(|_| format!("`{port}` is no port"))
        }
    }
}

impl Call {
    /// In words: `GET http://catalog.shop:8080/ from tools/curl`.
    pub fn in_words(&self) -> String {
        let from = match &self.from {
            Caller::Outside => " from outside".to_owned(),
            Caller::Pod { namespace, name } => format!(" from {namespace}/{name}"),
            Caller::Somebody => String::new(),
        };
        let Url {
            scheme,
            host,
            port,
            path,
            ..
        } = &self.to;
        let path = if *scheme == Scheme::Tcp {
            ""
        } else {
            path.as_str()
        };
        format!(
            "{} {}://{host}:{port}{path}{from}",
            self.method,
            scheme.word()
        )
        .trim_start()
        .to_owned()
    }

    /// The request as the server's proxy sees it: with the identity that was said, where one is
    /// presented at all.
    pub(super) fn presented<'r>(&self, request: &'r Request) -> Cow<'r, Request> {
        let mut request = Cow::Borrowed(request);
        let (Some(principal), false) = (&self.principal, self.from == Caller::Outside) else {
            return request;
        };
        if request
            .connection
            .tls
            .as_ref()
            .is_some_and(|tls| tls.peer.is_some())
            && let Some(tls) = &mut request.to_mut().connection.tls
        {
            tls.peer = Some(vec![principal.uri().to_owned()]);
        }
        request
    }

    /// The certificate of a client that starts TLS itself, outside the mesh.
    pub(super) fn own_certificate(&self) -> Option<Vec<String>> {
        let principal = self
            .principal
            .as_ref()
            .filter(|_| self.from == Caller::Outside)?;
        Some(vec![principal.uri().to_owned()])
    }

    /// The connection of a caller without a proxy of its own that we could look at: with an
    /// identity it comes by mutual TLS, as a sidecar would send it.
    pub(super) fn to_server(&self, connection: &Connection) -> Connection {
        let Some(principal) = self
            .principal
            .as_ref()
            .filter(|_| self.to.scheme != Scheme::Https)
        else {
            return connection.clone();
        };
        let alpn: &[&str] = if self.to.scheme == Scheme::Http {
            &[
                if self.http == "2" {
                    "istio-h2"
                } else {
                    "istio-http/1.1"
                },
                "istio",
                "http/1.1",
            ]
        } else {
            &["istio-peer-exchange", "istio"]
        };
        let Url { host, port, .. } = &self.to;
        let tls = Tls {
            sni: self
                .sni
                .clone()
                .unwrap_or_else(|| Some(format!("outbound_.{port}_._.{host}"))),
            alpn: alpn.iter().map(|&protocol| protocol.to_owned()).collect(),
            peer: Some(vec![principal.uri().to_owned()]),
        };
        Connection {
            tls: Some(tls),
            plain_http: None,
            ..connection.clone()
        }
    }

    /// The request in a line: `GET http://catalog.shop:8080/`.
    pub fn line(&self) -> String {
        let Url {
            scheme,
            host,
            port,
            path,
            ..
        } = &self.to;
        format!("{} {}://{host}:{port}{path}", self.method, scheme.word())
            .trim_start()
            .to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identities_are_read_with_and_without_their_scheme() {
        for text in [
            "cluster.local/ns/shop/sa/cart",
            "spiffe://cluster.local/ns/shop/sa/cart",
        ] {
            let principal = Principal::parse(text).expect(text);
            assert_eq!(principal, Principal::of("cluster.local", "shop", "cart"));
        }
        for wrong in [
            "",
            "cart",
            "spiffe://",
            "cluster.local/",
            "*/ns/shop/sa/cart",
            "cluster.local/ns//sa/x",
        ] {
            assert!(Principal::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn urls_are_read_as_a_client_reads_them() {
        for (text, scheme, host, port, path, authority) in [
            (
                "http://a.shop:8080/x?y=1",
                Scheme::Http,
                "a.shop",
                8080,
                "/x?y=1",
                "a.shop:8080",
            ),
            (
                "https://shop.example.com",
                Scheme::Https,
                "shop.example.com",
                443,
                "/",
                "shop.example.com",
            ),
            ("http://a:80", Scheme::Http, "a", 80, "/", "a"),
            (
                "a.shop:8080",
                Scheme::Http,
                "a.shop",
                8080,
                "/",
                "a.shop:8080",
            ),
            (
                "tcp://db.shop:3306",
                Scheme::Tcp,
                "db.shop",
                3306,
                "/",
                "db.shop:3306",
            ),
            (
                "http://[2001:db8::1]:80/x",
                Scheme::Http,
                "[2001:db8::1]",
                80,
                "/x",
                "[2001:db8::1]",
            ),
            ("http://a?x", Scheme::Http, "a", 80, "/?x", "a"),
        ] {
            let url = Url::parse(text).expect(text);
            assert_eq!(
                (url.scheme, url.host.as_str(), url.port, url.path.as_str()),
                (scheme, host, port, path)
            );
            assert_eq!(url.authority(), authority);
        }
        for wrong in [
            "ftp://a",
            "http://",
            "tcp://a",
            "http://a:x",
            "http://a:99999",
            "http:///x",
        ] {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }
}
