//! What a text may say.

use std::net::IpAddr;

use super::fault::Flaw;
use super::{header, names};
use meshladder_capture::flags::GRPC_STATUSES;
use meshladder_text::json::escape;
use meshladder_text::regex;

/// What a text may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextRule {
    Free,
    /// Anything but nothing.
    Filled,
    /// At most so many bytes.
    AtMost(usize),
    /// A name of a host, of which the first label may be or start with `*`.
    HostPattern,
    /// A regular expression in RE2's syntax.
    Regex,
    /// An IP address, or nothing.
    AddressOrNone,
    /// An IP address or a range of them.
    Range,
    /// A DNS label: names of ports, subsets and namespaces.
    Label,
    /// A DNS label, or nothing.
    LabelOrNone,
    /// The name of a gateway, with or without its namespace.
    Gateway,
    /// The name of a header.
    Header,
    /// The name of a header, or `*`.
    CorsHeader,
    /// The name of a header, or a claim of a token as `@request.auth.claims.x`.
    HeaderOrClaim,
    /// A header that a request is given.
    HeaderSet,
    /// A header that is taken from a request, or changed in a response.
    HeaderChanged,
    /// The value of such a header, with `%VARIABLES%`.
    HeaderValue,
    /// The name of a protocol, or nothing.
    Protocol,
    /// The name of a protocol.
    NeededProtocol,
    /// An HTTP method, or `*`.
    CorsMethod,
    /// A service account, with or without its namespace.
    Account,
    LabelKey,
    LabelValue,
    /// A port from 0, as text.
    PortNumber,
    /// A port from 1, as text.
    PortKey,
    GrpcStatus,
    /// A hostname of the Gateway API, which may start with `*.`.
    Hostname,
    /// A hostname of the Gateway API without a wildcard.
    PreciseHostname,
}

impl TextRule {
    /// What is wrong with a value, to follow the name of the place.
    pub(super) fn problem(self, value: &str) -> Option<(Flaw, String)> {
        let (flaw, what) = self.complaint(value)?;
        let shown = match value.char_indices().nth(100) {
            Some((at, _)) => format!("{}…", escape(&value[..at])),
            None => escape(value),
        };
        Some((flaw, format!("is {shown}, {what}")))
    }

    fn complaint(self, value: &str) -> Option<(Flaw, String)> {
        let not =
            |holds: bool, what: &str| (!holds).then(|| (Flaw::InvalidValue, format!("not {what}")));
        match self {
            Self::Free => None,
            Self::AddressOrNone | Self::LabelOrNone if value.is_empty() => None,
            Self::Filled => {
                (value.is_empty()).then(|| (Flaw::InvalidValue, "and must not be empty".to_owned()))
            }
            Self::AtMost(most) => (value.len() > most)
                .then(|| (Flaw::InvalidValue, format!("longer than {most} bytes"))),
            Self::HostPattern => names::host_problem(value, true).map(host),
            Self::Hostname => names::hostname_problem(value, true).map(host),
            Self::PreciseHostname => names::hostname_problem(value, false).map(host),
            Self::Regex => pattern(value),
            Self::AddressOrNone => not(value.parse::<IpAddr>().is_ok(), "an IP address"),
            Self::Range => not(
                names::is_range(value),
                "an IP address or a range such as 10.0.0.0/8",
            ),
            Self::Label | Self::LabelOrNone => not(
                names::is_label(value),
                "a name of letters, digits and inner hyphens, at most 63",
            ),
            Self::Gateway => not(
                names::is_gateway(value),
                "a gateway's name, NAMESPACE/NAME or NAME",
            ),
            Self::Header => not(header::is_name(value), "a header's name"),
            Self::CorsHeader => not(value == "*" || header::is_name(value), "a header's name"),
            Self::HeaderOrClaim => not(
                header::is_claim(value) || header::is_name(value),
                "a header's name",
            ),
            Self::HeaderSet => not(header::may_be_set(value), "a header that can be set"),
            Self::HeaderChanged => not(
                header::may_be_changed(value),
                "a header that can be changed",
            ),
            Self::HeaderValue => {
                header::value_problem(value).map(|what| (Flaw::InvalidValue, what.to_owned()))
            }
            Self::Protocol => not(
                value.is_empty() || names::protocol(value).is_some(),
                "a protocol",
            ),
            Self::NeededProtocol => not(names::protocol(value).is_some(), "a protocol"),
            Self::CorsMethod => not(value == "*" || METHODS.contains(&value), "an HTTP method"),
            Self::Account => not(
                names::is_account(value),
                "a service account, NAMESPACE/NAME or NAME",
            ),
            Self::LabelKey => not(names::is_label_key(value), "the name of a label"),
            Self::LabelValue => not(names::is_label_value(value), "the value of a label"),
            Self::PortNumber => not(value.parse::<u16>().is_ok(), "a port, 0 to 65535"),
            Self::PortKey => not(
                value.parse::<u16>().is_ok_and(|port| port > 0),
                "a port, 1 to 65535",
            ),
            Self::GrpcStatus => not(
                GRPC_STATUSES.contains(&value),
                "a gRPC status such as NOT_FOUND",
            ),
        }
    }
}

const METHODS: [&str; 9] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE",
];

fn host(what: String) -> (Flaw, String) {
    (Flaw::InvalidHost, what)
}

/// "regex is too large, max length allowed is 1024"
fn pattern(value: &str) -> Option<(Flaw, String)> {
    let problem = match value.len() {
        0 => "and must not be empty".to_owned(),
        1..=1024 => format!("which RE2 does not take: {}", regex::refusal(value)?),
        _ => "longer than the 1024 bytes that Istio takes".to_owned(),
    };
    Some((Flaw::InvalidRegex, problem))
}
