//! What Istio takes the traffic of a port for.

/// A port's protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// `http`
    Http,
    /// `http2`
    Http2,
    /// `grpc`
    Grpc,
    /// `grpc-web`
    GrpcWeb,
    /// `http_proxy`
    HttpProxy,
    /// `https`: TLS that is passed through, told apart by SNI.
    Https,
    /// `tls`
    Tls,
    /// `tcp`, and the databases that Istio treats as TCP unless it is built otherwise: `mongo`,
    /// `mysql`, `redis`.
    Tcp,
    /// UDP, which no proxy captures.
    Udp,
    /// Nothing says it: the proxy looks at the first bytes.
    Sniffed,
}

/// "Make TCP as default protocol for well know ports if protocol is not specified": SMTP, DNS,
/// MySQL, MongoDB.
const WELL_KNOWN_TCP: [u16; 4] = [25, 53, 3306, 27017];

impl Protocol {
    /// What Istio makes of a Service's port: `appProtocol` goes before the name.
    pub fn of_port(number: u16, name: &str, app_protocol: Option<&str>, transport: &str) -> Self {
        if transport == "UDP" {
            return Self::Udp;
        }
        match app_protocol {
            Some("kubernetes.io/h2c") => return Self::Http2,
            Some("kubernetes.io/ws") => return Self::Http,
            Some("kubernetes.io/wss") => return Self::Https,
            _ => {}
        }
        let name = app_protocol.unwrap_or(name).to_ascii_lowercase();
        let prefix = if name.starts_with("grpc-web") {
            "grpc-web"
        } else {
            name.split('-').next().unwrap_or_default()
        };
        match Self::of_name(prefix) {
            Self::Sniffed if WELL_KNOWN_TCP.contains(&number) => Self::Tcp,
            protocol => protocol,
        }
    }

    /// As people write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::Http2 => "HTTP/2",
            Self::Grpc => "gRPC",
            Self::GrpcWeb => "gRPC-Web",
            Self::HttpProxy => "HTTP proxy",
            Self::Https => "HTTPS",
            Self::Tls => "TLS",
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Sniffed => "HTTP or TCP",
        }
    }

    /// What a protocol's name, as in a ServiceEntry or a Gateway, means.
    pub fn of_name(name: &str) -> Self {
        const NAMES: [(&str, Protocol); 12] = [
            ("http", Protocol::Http),
            ("http2", Protocol::Http2),
            ("grpc", Protocol::Grpc),
            ("grpc-web", Protocol::GrpcWeb),
            ("http_proxy", Protocol::HttpProxy),
            ("https", Protocol::Https),
            ("tls", Protocol::Tls),
            ("tcp", Protocol::Tcp),
            ("mongo", Protocol::Tcp),
            ("mysql", Protocol::Tcp),
            ("redis", Protocol::Tcp),
            ("udp", Protocol::Udp),
        ];
        let known = NAMES
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map_or(Self::Sniffed, |(_, protocol)| *protocol)
    }

    /// Whether requests can be seen, so that HTTP routes and rules apply.
    pub fn is_http(self) -> bool {
        matches!(
            self,
            Self::Http | Self::Http2 | Self::Grpc | Self::GrpcWeb | Self::HttpProxy
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn app_protocol_goes_before_the_name_and_the_name_s_prefix_counts() {
        for (number, name, app_protocol, transport, expected) in [
            (80, "http", None, "TCP", Protocol::Http),
            (80, "http-web", None, "TCP", Protocol::Http),
            (80, "HTTP-web", None, "TCP", Protocol::Http),
            (80, "web-http", None, "TCP", Protocol::Sniffed),
            (80, "httpweb", None, "TCP", Protocol::Sniffed),
            (80, "", None, "TCP", Protocol::Sniffed),
            (80, "grpc-web-a", None, "TCP", Protocol::GrpcWeb),
            (80, "grpc-a", None, "TCP", Protocol::Grpc),
            (80, "tcp-http", Some("http"), "TCP", Protocol::Http),
            (
                80,
                "http",
                Some("kubernetes.io/h2c"),
                "TCP",
                Protocol::Http2,
            ),
            (
                80,
                "http",
                Some("example.com/own"),
                "TCP",
                Protocol::Sniffed,
            ),
            (3306, "db", None, "TCP", Protocol::Tcp),
            (3306, "http", None, "TCP", Protocol::Http),
            (53, "dns", None, "UDP", Protocol::Udp),
            (6379, "redis", None, "TCP", Protocol::Tcp),
        ] {
            let found = Protocol::of_port(number, name, app_protocol, transport);
            assert_eq!(
                found, expected,
                "{number} {name} {app_protocol:?} {transport}"
            );
        }
    }
}
