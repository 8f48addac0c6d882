//! `proxy-config endpoint`: the endpoints Envoy really has, from `/clusters`.

use std::borrow::Cow;
use std::fmt;
use std::iter::once;

use super::{eds::EndpointFilter, table::draw};
use meshladder_capture::envoy::clusters::{ClusterStatuses, HostAddress, HostStatus};

/// The hosts the filter accepts, sorted by address, port and cluster.
pub fn select<'d, 'a>(
    clusters: &'d ClusterStatuses<'a>,
    filter: &EndpointFilter,
) -> Vec<&'d HostStatus<'a>> {
    let wanted = |h: &&HostStatus<'_>| {
        filter.is_empty()
            || filter.accepts(
                &h.address.host(),
                h.address.port(),
                clusters.name(h),
                &h.eds_health(),
            )
    };
    let mut keyed: Vec<_> = clusters
        .hosts
        .iter()
        .filter(wanted)
        .map(|host| (start(&host.address), host))
        .collect();
    let rest = |h: &'d HostStatus<'a>| (h.address.host(), h.address.port(), clusters.name(h));
    keyed.sort_by(|a, b| a.0.cmp(&b.0).then_with(|| rest(a.1).cmp(&rest(b.1))));
    keyed.into_iter().map(|(_, host)| host).collect()
}

/// The start of an address, which is most often all of it. Sorted beside the hosts it saves a look
/// into the document, which is far away, at nearly every comparison.
fn start(address: &HostAddress<'_>) -> [u8; 16] {
    let mut start = [0; 16];
    let host = address.host();
    let bytes = &host.as_bytes()[..host.len().min(16)];
    start[..bytes.len()].copy_from_slice(bytes);
    start
}

/// The table. `wide` shows what decides about the next request, which EDS's word does not: EJECTED
/// and why.
pub fn table<'t, 'a>(
    clusters: &'t ClusterStatuses<'a>,
    hosts: &'t [&'t HostStatus<'a>],
    wide: bool,
) -> Endpoints<'t, 'a> {
    Endpoints {
        clusters,
        hosts,
        wide,
    }
}

/// See [`table`].
#[derive(Clone, Copy, Debug)]
pub struct Endpoints<'t, 'a> {
    clusters: &'t ClusterStatuses<'a>,
    hosts: &'t [&'t HostStatus<'a>],
    wide: bool,
}

impl fmt::Display for Endpoints<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.wide {
            let header = WIDE.map(Cow::Borrowed);
            return draw(f, 3, WIDE.len(), || {
                once(header.clone()).chain(self.hosts.iter().map(|host| self.wide_row(host)))
            });
        }
        let header = SHORT.map(Cow::Borrowed);
        draw(f, 5, SHORT.len(), || {
            once(header.clone()).chain(self.hosts.iter().map(|host| self.row(host)))
        })
    }
}

const SHORT: [&str; 4] = ["ENDPOINT", "STATUS", "OUTLIER CHECK", "CLUSTER"];
const WIDE: [&str; 11] = [
    "ENDPOINT",
    "HEALTH",
    "WHY",
    "STATUS",
    "OUTLIER CHECK",
    "WEIGHT",
    "PRIORITY",
    "LOCALITY",
    "REQUESTS OK/FAILED",
    "CONNECT FAILED",
    "CLUSTER",
];

impl<'a> Endpoints<'_, 'a> {
    fn row(&self, host: &HostStatus<'a>) -> [Cow<'a, str>; 4] {
        [
            host.address.to_string().into(),
            host.eds_health(),
            outlier(host),
            self.clusters.name(host).clone(),
        ]
    }

    fn wide_row(&self, host: &HostStatus<'a>) -> [Cow<'a, str>; 11] {
        let (health, why) = host.health();
        [
            host.address.to_string().into(),
            health,
            why.into(),
            host.eds_health(),
            outlier(host),
            host.weight()
                .map(|w| w.to_string())
                .unwrap_or_default()
                .into(),
            host.priority().to_string().into(),
            host.locality().into(),
            format!(
                "{}/{}",
                host.counter("rq_success"),
                host.counter("rq_error")
            )
            .into(),
            host.counter("cx_connect_fail").to_string().into(),
            self.clusters.name(host).clone(),
        ]
    }
}

fn outlier<'a>(host: &HostStatus<'_>) -> Cow<'a, str> {
    if host.ejected() {
        "FAILED".into()
    } else {
        "OK".into()
    }
}
