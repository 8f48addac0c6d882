//! One request as it arrives at a proxy, and the connection it comes on. What nobody said stays
//! unknown.

use std::net::IpAddr;

/// A request on a connection.
#[derive(Clone, Debug)]
pub struct Request {
    /// The connection.
    pub connection: Connection,
    /// `:method`
    pub method: String,
    /// `:scheme`, also what `x-forwarded-proto` says.
    pub scheme: String,
    /// `:authority`
    pub authority: String,
    /// `:path`, query included, before any normalization; empty for CONNECT.
    pub path: String,
    /// All other headers in order, names in lower case; a name may come several times.
    pub headers: Vec<(String, String)>,
    /// What verified tokens say.
    pub claims: Claims,
    /// Headers that a proxy on the way sets to what cannot be told, each with the fact that is
    /// missing.
    pub unknown_headers: Vec<(Box<str>, Box<str>)>,
}

/// A connection as a listener sees it.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Where the client wanted to go: the address before any redirection.
    pub destination: (IpAddr, u16),
    /// Where it comes from; none when nobody said.
    pub source: Option<(IpAddr, u16)>,
    /// TLS, when the client speaks it.
    pub tls: Option<Tls>,
    /// Application protocol in plain text: `http/1.0`, `http/1.1`, `h2c`; none for anything that is
    /// not HTTP.
    pub plain_http: Option<&'static str>,
}

/// The TLS side of a connection.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// Server name; none when the client sends none.
    pub sni: Option<String>,
    /// What the client offers, in its order.
    pub alpn: Vec<String>,
    /// The URI SANs of the client's certificate; none when it presents none.
    pub peer: Option<Vec<String>>,
}

/// What verified JWTs say of the caller.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Claims {
    /// Nobody said whether there is a token.
    #[default]
    Unknown,
    /// There is none.
    None,
    /// One with these claims: dotted path and value; a claim may have several values.
    Given(Vec<(String, String)>),
    /// The raw token, to be verified against the proxy's keys.
    Token(String),
}

impl Request {
    /// The values of a header, in order. Pseudo headers are headers too.
    pub fn header<'r>(&'r self, name: &str) -> Vec<&'r str> {
        self.values(name).collect()
    }

    /// The values of a header, one after the other.
    pub fn values<'r>(&'r self, name: &str) -> impl Iterator<Item = &'r str> {
        let pseudo = self.pseudo_header(name);
        // What is a field here is in no list of headers.
        let rest = if pseudo.is_some() {
            &[][..]
        } else {
            &self.headers
        };
        let named = rest
            .iter()
            .filter(move |(other, _)| other.eq_ignore_ascii_case(name));
        pseudo.into_iter().chain(named.map(|(_, value)| &**value))
    }

    /// The value of a header that is a field of its own here.
    fn pseudo_header(&self, name: &str) -> Option<&str> {
        match name {
            ":method" => Some(&self.method),
            ":scheme" => Some(&self.scheme),
            ":authority" | "host" => Some(&self.authority),
            // CONNECT has none.
            ":path" if self.path.is_empty() => None,
            ":path" => Some(&self.path),
            // Envoy adds it when nobody has.
            "x-forwarded-proto" if !self.states(name) => Some(&self.scheme),
            _ => None,
        }
    }

    fn states(&self, name: &str) -> bool {
        self.headers.iter().any(|(other, _)| other == name)
    }

    /// The fact that is missing to tell whether a header that was not stated is there; none when it
    /// is absent.
    pub fn missing(&self, name: &str) -> Option<Box<str>> {
        for (unknown, fact) in &self.unknown_headers {
            if **unknown == *name {
                return Some(fact.clone());
            }
        }
        if Self::may_be_added(name) {
            return Some(format!("the header {name}").into());
        }
        None
    }

    /// Whether a header that was not stated may still be there: clients and proxies add these on
    /// their own.
    fn may_be_added(name: &str) -> bool {
        matches!(
            name,
            "user-agent"
                | "accept"
                | "accept-encoding"
                | "accept-language"
                | "content-length"
                | "content-type"
                | "traceparent"
                | "tracestate"
        ) || name.starts_with("x-forwarded-") && name != "x-forwarded-proto"
            || name.starts_with("x-b3-")
            || name.starts_with("x-envoy-")
            || name == "x-request-id"
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A plain `GET` from nobody in particular.
    pub(crate) fn get(authority: &str, path: &str) -> Request {
        let destination = ([10, 0, 0, 1].into(), 8080);
        Request {
            connection: Connection {
                destination,
                source: None,
                tls: None,
                plain_http: Some("http/1.1"),
            },
            method: "GET".to_owned(),
            scheme: "http".to_owned(),
            authority: authority.to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            claims: Claims::None,
            unknown_headers: Vec::new(),
        }
    }

    #[test]
    fn a_header_that_a_proxy_sets_to_something_unknown_is_neither_there_nor_absent() {
        let mut request = get("a.test", "/");
        assert_eq!(request.missing("x-user"), None);
        assert_eq!(
            request.missing("x-request-id").as_deref(),
            Some("the header x-request-id")
        );
        request
            .unknown_headers
            .push(("x-user".into(), "the value of x-user".into()));
        assert_eq!(
            request.missing("x-user").as_deref(),
            Some("the value of x-user")
        );
    }
}
