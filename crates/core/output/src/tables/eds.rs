//! `proxy-config eds`: the endpoints Envoy was given, from the dump's `EndpointsConfigDump`.

use std::borrow::Cow;

use super::{Table, cluster};
use meshladder_capture::envoy::clusters::{HostAddress, read_locality};
use meshladder_capture::envoy::dump::{Dump, Resource, Section};
use meshladder_text::json::{Cursor, Raw};

/// istioctl's filters. Address and port are compared with the text of the whole address, as
/// `ip:port`.
#[derive(Clone, Debug, Default)]
pub struct EndpointFilter {
    /// `--address`
    pub address: Option<String>,
    /// `--port`
    pub port: Option<u64>,
    /// `--cluster`
    pub cluster: Option<String>,
    /// `--status`
    pub status: Option<String>,
}

impl EndpointFilter {
    /// Whether everything is wanted.
    pub fn is_empty(&self) -> bool {
        self.address.is_none()
            && self.port.is_none()
            && self.cluster.is_none()
            && self.status.is_none()
    }

    /// Whether an endpoint is wanted; words are compared without regard to case.
    pub fn accepts(&self, address: &str, port: u64, cluster: &str, status: &str) -> bool {
        let same = |wanted: &Option<String>, is: &str| {
            wanted.as_ref().is_none_or(|w| w.eq_ignore_ascii_case(is))
        };
        same(&self.address, address)
            && same(&self.cluster, cluster)
            && same(&self.status, status)
            && self.port.is_none_or(|wanted| wanted == port)
    }
}

/// One endpoint of an assignment.
#[derive(Clone, Debug)]
struct AssignedEndpoint<'a> {
    addresses: String,
    port: u64,
    status: Cow<'a, str>,
    weight: u64,
}

/// The assignments that have an endpoint the filter accepts, sorted as clusters are.
pub fn select<'d, 'a>(dump: &'d Dump<'a>, filter: &EndpointFilter) -> Vec<&'d Resource<'a>> {
    cluster::sorted(
        dump.of(Section::Endpoints)
            .filter(|r| has_endpoint(r, filter)),
    )
}

/// The short table; `named` prefixes each name as `proxy-config all` does.
pub fn table<'a>(
    assignments: &[&Resource<'a>],
    filter: &EndpointFilter,
    named: bool,
    wide: bool,
) -> Table<'a> {
    const HEADER: [&str; 6] = [
        "NAME", "STATUS", "LOCALITY", "CLUSTER", "WEIGHT", "PRIORITY",
    ];
    let columns = if wide { HEADER.len() } else { 4 };
    let mut table = Table::new(5, &HEADER[..columns]);
    for assignment in assignments {
        each_group(assignment, |locality, priority, endpoints| {
            for e in endpoints
                .into_iter()
                .filter(|e| e.accepted(filter, assignment))
            {
                let name = if named {
                    format!("endpoint/{}", e.addresses)
                } else {
                    e.addresses
                };
                let numbers = [e.weight.to_string(), priority.to_string()].map(Cow::from);
                let [weight, priority] = numbers;
                let row = [
                    name.into(),
                    e.status,
                    locality.to_owned().into(),
                    assignment.name.clone(),
                    weight,
                    priority,
                ];
                table.row(row.into_iter().take(columns));
            }
        });
    }
    table
}

fn has_endpoint(assignment: &Resource<'_>, filter: &EndpointFilter) -> bool {
    if filter.is_empty() {
        let groups = assignment
            .raw
            .into_iter()
            .flat_map(|raw| raw.list("endpoints"));
        return groups
            .flat_map(|group| group.list("lb_endpoints"))
            .next()
            .is_some();
    }
    let mut found = false;
    each_group(assignment, |_, _, endpoints| {
        found |= endpoints.iter().any(|e| e.accepted(filter, assignment));
    });
    found
}

/// Calls `each` with locality, priority and endpoints of every `LocalityLbEndpoints`.
fn each_group<'a>(
    assignment: &Resource<'a>,
    mut each: impl FnMut(&str, u64, Vec<AssignedEndpoint<'a>>),
) {
    let Some(raw) = assignment.raw else { return };
    raw.cursor().members(|key, value| {
        if key != "endpoints" {
            return;
        }
        value.elements(|group| {
            let (mut locality, mut priority, mut endpoints) = (String::new(), 0, Vec::new());
            group.members(|key, value| match key {
                "locality" => locality = value.raw().map(read_locality).unwrap_or_default(),
                "priority" => priority = value.raw().and_then(Raw::number).unwrap_or(0),
                "lb_endpoints" => value.elements(|e| endpoints.push(AssignedEndpoint::read(e))),
                _ => {}
            });
            each(&locality, priority, endpoints);
        });
    });
}

impl<'a> AssignedEndpoint<'a> {
    fn read(cursor: &mut Cursor<'a>) -> Self {
        let mut all = Vec::new();
        let mut read = Self {
            addresses: String::new(),
            port: 0,
            status: "UNKNOWN".into(),
            weight: 0,
        };
        cursor.members(|key, value| match key {
            "endpoint" => value.members(|key, value| match key {
                "address" => all.insert(0, HostAddress::read(value)),
                "additional_addresses" => value.elements(|more| {
                    more.members(|key, value| {
                        if key == "address" {
                            all.push(HostAddress::read(value));
                        }
                    });
                }),
                _ => {}
            }),
            "health_status" => read.status = value.string().unwrap_or_default(),
            "load_balancing_weight" => read.weight = value.raw().and_then(Raw::number).unwrap_or(0),
            _ => {}
        });
        read.port = all.first().map_or(0, HostAddress::port);
        read.addresses = all.iter().map(text).collect::<Vec<_>>().join(",");
        read
    }

    fn accepted(&self, filter: &EndpointFilter, assignment: &Resource<'_>) -> bool {
        filter.accepts(&self.addresses, self.port, &assignment.name, &self.status)
    }
}

/// istioctl's `eds` shows the bare path of a pipe, unlike its `endpoint`.
fn text(address: &HostAddress<'_>) -> String {
    if let HostAddress::Pipe(path) = address {
        path.to_string()
    } else {
        address.to_string()
    }
}
