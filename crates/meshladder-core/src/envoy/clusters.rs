//! `/clusters`: the endpoints Envoy really has, and their health. JSON or the text form.

use std::borrow::Cow;
use std::fmt;

use crate::doc::json::Fault;

pub(crate) mod json;
mod text;

/// What `/clusters` says.
#[derive(Debug, Default)]
pub struct Clusters<'a> {
    /// Every host of every cluster, in the document's order.
    pub hosts: Vec<Host<'a>>,
    /// The names of clusters that have no host at all.
    pub empty: Vec<Cow<'a, str>>,
    /// Where reading ended early; what lies before it is here.
    pub fault: Option<Fault>,
}

/// One host of one cluster (`envoy.admin.v3.HostStatus`).
#[derive(Clone, Debug, Default)]
pub struct Host<'a> {
    /// The cluster.
    pub cluster: Cow<'a, str>,
    /// Where it is.
    pub address: Address<'a>,
    /// EDS's word; `HEALTHY` when it says nothing else.
    pub eds_health: Cow<'a, str>,
    /// The failures that are set, in Envoy's words: `failed_outlier_check`.
    pub flags: Vec<Cow<'a, str>>,
    /// Load-balancing weight.
    pub weight: Option<u64>,
    /// Priority; 0 is the first.
    pub priority: u64,
    /// `region/zone/sub_zone`, as far as known.
    pub locality: String,
    /// The name behind the address, for DNS clusters.
    pub hostname: Cow<'a, str>,
    /// Requests that succeeded and failed, connections that failed.
    pub rq_success: u64,
    /// Requests that failed.
    pub rq_error: u64,
    /// Connections that could not be made.
    pub cx_connect_fail: u64,
}

/// The address of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address<'a> {
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

impl<'a> Clusters<'a> {
    /// Reads either form of the answer.
    ///
    /// # Errors
    /// When the document is neither.
    pub fn read(doc: &'a str) -> Result<Self, Fault> {
        if doc.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']) {
            json::read(doc)
        } else {
            text::read(doc)
        }
    }
}

impl Host<'_> {
    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|f| f == flag)
    }

    /// Whether outlier detection has put the host aside.
    pub fn ejected(&self) -> bool {
        self.has("failed_outlier_check")
    }

    /// One word for the host's health, and why. The order is the order in which Envoy lets them decide:
    /// a host that is put aside gets no request, whatever else is true of it.
    pub fn health(&self) -> (&str, &'static str) {
        const WORDS: [(&str, &str, &str); 8] = [
            ("failed_outlier_check", "EJECTED", "outlier detection"),
            (
                "excluded_via_immediate_hc_fail",
                "UNHEALTHY",
                "the host asked to be left out (immediate health-check fail)",
            ),
            ("active_hc_timeout", "UNHEALTHY", "active health check timed out"),
            ("failed_active_health_check", "UNHEALTHY", "active health check failed"),
            ("pending_active_hc", "PENDING", "waits for its first active health check"),
            ("pending_dynamic_removal", "DRAINING", "gone from EDS, kept until its health check fails"),
            ("failed_active_degraded_check", "DEGRADED", "active health check says degraded"),
            ("failed_degraded_outlier_detection", "DEGRADED", "outlier detection"),
        ];
        if let Some((_, word, why)) = WORDS.iter().find(|(flag, ..)| self.has(flag)) {
            return (word, why);
        }
        match &*self.eds_health {
            "" | "HEALTHY" | "UNKNOWN" => ("HEALTHY", ""),
            other => (other, "istiod says so (EDS)"),
        }
    }
}

impl Address<'_> {
    /// The address without its port, as istioctl's `--address` compares it.
    pub fn host(&self) -> String {
        match self {
            Self::Socket(address, _) => address.to_string(),
            other => other.to_string(),
        }
    }

    /// The port; 0 where there is none.
    pub fn port(&self) -> u64 {
        if let Self::Socket(_, port) = self { *port } else { 0 }
    }
}

impl fmt::Display for Address<'_> {
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

/// Joins a locality's parts, stopping at the first empty one as istioctl does.
pub fn locality(region: &str, zone: &str, sub_zone: &str) -> String {
    let parts: Vec<_> = [region, zone, sub_zone].into_iter().take_while(|part| !part.is_empty()).collect();
    parts.join("/")
}

#[cfg(test)]
mod tests;
