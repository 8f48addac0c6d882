//! `/clusters`: the endpoints Envoy really has, and their health.

use std::borrow::Cow;
use std::fmt;

use meshladder_text::json::{Cursor, Raw, TextFault};

mod json;
mod text;

/// What `/clusters` says.
#[derive(Debug, Default)]
pub struct ClusterStatuses<'a> {
    /// Every host of every cluster, in the document's order.
    pub hosts: Vec<HostStatus<'a>>,
    /// The names of clusters that have no host at all.
    pub empty: Vec<Cow<'a, str>>,
    /// The `ClusterStatus` of every cluster that has a host, as it stands in the document.
    pub statuses: Vec<Raw<'a>>,
    /// Their names.
    names: Vec<Cow<'a, str>>,
    /// Where reading ended early; what lies before it is here.
    pub fault: Option<TextFault>,
}

/// One host of one cluster (`envoy.admin.v3.HostStatus`): what most questions need, and the rest on
/// demand.
#[derive(Clone, Debug)]
pub struct HostStatus<'a> {
    /// The cluster's place in [`ClusterStatuses::statuses`].
    pub status: usize,
    /// Where it is.
    pub address: HostAddress<'a>,
    /// Where its `health_status` starts. It stands behind a kilobyte of counters, and every row
    /// asks for it.
    health: Option<usize>,
    raw: Raw<'a>,
}

/// The address of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostAddress<'a> {
    /// An IP address (or name) and a port.
    Socket(Cow<'a, str>, u64),
    /// A Unix domain socket.
    Pipe(Cow<'a, str>),
    /// A listener of the same Envoy, and the endpoint's id there.
    Internal(Cow<'a, str>, Cow<'a, str>),
    /// Something else.
    #[default]
    Unknown,
}

/// The answer in its JSON form: as it is, or made from the text form.
///
/// # Errors
/// When the document is neither.
pub fn as_json(doc: &str) -> Result<Cow<'_, str>, TextFault> {
    let start = doc.trim_start_matches('\u{feff}').trim_start();
    if start.starts_with(['{', '[']) {
        return Ok(Cow::Borrowed(doc));
    }
    text::to_json(doc).map(Cow::Owned)
}

impl<'a> ClusterStatuses<'a> {
    /// The cluster of a host.
    pub fn name(&self, host: &HostStatus<'_>) -> &Cow<'a, str> {
        const NONE: &Cow<'static, str> = &Cow::Borrowed("");
        self.names.get(host.status).unwrap_or(NONE)
    }

    /// Reads the JSON form.
    ///
    /// # Errors
    /// When the document is no answer of `/clusters`.
    pub fn read(doc: &'a str) -> Result<Self, TextFault> {
        json::read(doc)
    }
}

impl<'a> HostStatus<'a> {
    /// Load-balancing weight.
    pub fn weight(&self) -> Option<u64> {
        self.raw.get("weight").and_then(Raw::number)
    }

    /// Priority; 0 is the first.
    pub fn priority(&self) -> u64 {
        self.raw.get("priority").and_then(Raw::number).unwrap_or(0)
    }

    /// `region/zone/sub_zone`, as far as known.
    pub fn locality(&self) -> String {
        match self.raw.get("locality") {
            Some(locality) => read_locality(locality),
            None => String::new(),
        }
    }

    /// A counter such as `rq_error`; 0 when the host has none of that name.
    pub fn counter(&self, name: &str) -> u64 {
        for stat in self.raw.list("stats") {
            if stat.string_at("name").as_deref() == Some(name) {
                // Proto3 JSON leaves a zero out.
                return stat.get("value").and_then(Raw::number).unwrap_or(0);
            }
        }
        0
    }

    fn health_status(&self) -> Option<Raw<'a>> {
        self.health.map(|offset| self.raw.inside(offset))
    }

    /// EDS's word; `HEALTHY` when it says nothing else.
    pub fn eds_health(&self) -> Cow<'a, str> {
        self.health_status()
            .and_then(|health| health.string_at("eds_health_status"))
            .unwrap_or(Cow::Borrowed("UNKNOWN"))
    }

    /// Whether a failure is set, in Envoy's words: `failed_outlier_check`.
    pub fn has(&self, flag: &str) -> bool {
        self.health_status()
            .and_then(|health| health.get(flag)?.bool())
            == Some(true)
    }

    /// Whether outlier detection has put the host aside.
    pub fn ejected(&self) -> bool {
        self.has("failed_outlier_check")
    }

    /// One word for the host's health, and why. The order is the order in which Envoy lets them
    /// decide: a host that is put aside gets no request, whatever else is true of it.
    pub fn health(&self) -> (Cow<'a, str>, &'static str) {
        const WORDS: [(&str, &str, &str); 8] = [
            ("failed_outlier_check", "EJECTED", "outlier detection"),
            (
                "excluded_via_immediate_hc_fail",
                "UNHEALTHY",
                "the host asked to be left out (immediate health-check fail)",
            ),
            (
                "active_hc_timeout",
                "UNHEALTHY",
                "active health check timed out",
            ),
            (
                "failed_active_health_check",
                "UNHEALTHY",
                "active health check failed",
            ),
            (
                "pending_active_hc",
                "PENDING",
                "waits for its first active health check",
            ),
            (
                "pending_dynamic_removal",
                "DRAINING",
                "gone from EDS, kept until its health check fails",
            ),
            (
                "failed_active_degraded_check",
                "DEGRADED",
                "active health check says degraded",
            ),
            (
                "failed_degraded_outlier_detection",
                "DEGRADED",
                "outlier detection",
            ),
        ];
        for (flag, word, why) in WORDS {
            if self.has(flag) {
                return (Cow::Borrowed(word), why);
            }
        }
        let word = self.eds_health();
        // EDS that says nothing of a host takes it for healthy.
        if matches!(&*word, "HEALTHY" | "UNKNOWN") {
            return (Cow::Borrowed("HEALTHY"), "");
        }
        (word, "istiod says so (EDS)")
    }
}

impl<'a> HostAddress<'a> {
    /// The address without its port, as istioctl's `--address` compares it.
    pub fn host(&self) -> Cow<'_, str> {
        match self {
            Self::Socket(address, _) => Cow::Borrowed(address),
            other => Cow::Owned(other.to_string()),
        }
    }

    /// Reads an `envoy.config.core.v3.Address`.
    pub fn read(cursor: &mut Cursor<'a>) -> Self {
        let mut read = Self::Unknown;
        cursor.members(|kind, value| {
            let (mut name, mut id, mut port) = (Cow::default(), Cow::default(), 0);
            value.members(|key, value| match key {
                "address" | "path" | "server_listener_name" => {
                    name = value.string().unwrap_or_default();
                }
                "endpoint_id" => id = value.string().unwrap_or_default(),
                "port_value" => port = value.raw().and_then(Raw::number).unwrap_or(0),
                _ => {}
            });
            match kind {
                "socket_address" => read = Self::Socket(name, port),
                "pipe" => read = Self::Pipe(name),
                "envoy_internal_address" => read = Self::Internal(name, id),
                _ => {}
            }
        });
        read
    }

    /// The port; 0 where there is none.
    pub fn port(&self) -> u64 {
        if let Self::Socket(_, port) = self {
            *port
        } else {
            0
        }
    }
}

impl fmt::Display for HostAddress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Socket(address, 0) => f.write_str(address),
            Self::Socket(address, port) => write!(f, "{address}:{port}"),
            Self::Pipe(path) => write!(f, "unix://{path}"),
            Self::Internal(listener, id) => write!(f, "envoy://{listener}/{id}"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}

/// The parts of an `envoy.config.core.v3.Locality`, up to the first empty one as istioctl shows
/// them.
pub fn read_locality(locality: Raw<'_>) -> String {
    let mut text = String::new();
    for key in ["region", "zone", "sub_zone"] {
        let part = locality.string_at(key).unwrap_or_default();
        if part.is_empty() {
            break;
        }
        if !text.is_empty() {
            text.push('/');
        }
        text.push_str(&part);
    }
    text
}

#[cfg(test)]
mod tests;
