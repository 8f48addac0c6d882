//! `proxy-config eds`: the endpoints Envoy was given, from the dump's `EndpointsConfigDump`.

use std::borrow::Cow;

use super::{Table, cluster};
use crate::doc::json::Raw;
use crate::envoy::clusters::{Address, json::read_address, locality};
use crate::envoy::dump::{Dump, Resource, Section, State};

/// istioctl's filters. Address and port are compared with the text of the whole address, as `ip:port`.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// `--address`
    pub address: Option<String>,
    /// `--port`
    pub port: Option<u64>,
    /// `--cluster`
    pub cluster: Option<String>,
    /// `--status`
    pub status: Option<String>,
}

impl Filter {
    /// Whether an endpoint is wanted; words are compared without regard to case.
    pub fn accepts(&self, address: &str, port: u64, cluster: &str, status: &str) -> bool {
        let same = |wanted: &Option<String>, is: &str| wanted.as_ref().is_none_or(|w| w.eq_ignore_ascii_case(is));
        same(&self.address, address)
            && same(&self.cluster, cluster)
            && same(&self.status, status)
            && self.port.is_none_or(|wanted| wanted == port)
    }
}

/// One endpoint of an assignment.
#[derive(Clone, Debug)]
struct Endpoint<'a> {
    addresses: String,
    port: u64,
    status: Cow<'a, str>,
    locality: String,
    weight: u64,
    priority: u64,
}

/// The assignments that have an endpoint the filter accepts, sorted as clusters are.
pub fn select<'d, 'a>(dump: &'d Dump<'a>, filter: &Filter) -> Vec<&'d Resource<'a>> {
    let mut found: Vec<_> = dump.of(Section::Endpoints).filter(|r| shown(r, filter).next().is_some()).collect();
    found.sort_by_key(|r| r.state == State::Static);
    found.sort_by(|a, b| cluster::sort_key(&a.name).cmp(&cluster::sort_key(&b.name)));
    found
}

/// The short table; `named` prefixes each name as `proxy-config all` does.
pub fn table<'a>(assignments: &[&Resource<'a>], filter: &Filter, named: bool, wide: bool) -> Table<'a> {
    const HEADER: [&str; 6] = ["NAME", "STATUS", "LOCALITY", "CLUSTER", "WEIGHT", "PRIORITY"];
    let columns = if wide { HEADER.len() } else { 4 };
    let mut table = Table::new(5, &HEADER[..columns]);
    for assignment in assignments {
        for e in shown(assignment, filter) {
            let name = if named { format!("endpoint/{}", e.addresses) } else { e.addresses };
            let (weight, priority) = (e.weight.to_string(), e.priority.to_string());
            let row =
                [name.into(), e.status, e.locality.into(), assignment.name.clone(), weight.into(), priority.into()];
            table.row(row.into_iter().take(columns));
        }
    }
    table
}

fn shown<'a>(assignment: &Resource<'a>, filter: &Filter) -> impl Iterator<Item = Endpoint<'a>> {
    let cluster = assignment.name.clone();
    let groups = assignment.raw.into_iter().flat_map(|raw| raw.list("endpoints"));
    groups.flat_map(endpoints).filter(move |e| filter.accepts(&e.addresses, e.port, &cluster, &e.status))
}

/// The endpoints of one `LocalityLbEndpoints`.
fn endpoints(group: Raw<'_>) -> impl Iterator<Item = Endpoint<'_>> {
    let part = |key| group.get("locality").and_then(|l| l.string_at(key)).unwrap_or_default();
    let locality = locality(&part("region"), &part("zone"), &part("sub_zone"));
    let priority = group.get("priority").and_then(Raw::number).unwrap_or(0);
    group.list("lb_endpoints").map(move |raw| {
        let all = addresses(raw);
        Endpoint {
            addresses: all.iter().map(text).collect::<Vec<_>>().join(","),
            port: all.first().map_or(0, Address::port),
            status: raw.string_at("health_status").unwrap_or("UNKNOWN".into()),
            locality: locality.clone(),
            weight: raw.get("load_balancing_weight").and_then(Raw::number).unwrap_or(0),
            priority,
        }
    })
}

fn addresses(lb_endpoint: Raw<'_>) -> Vec<Address<'_>> {
    let Some(endpoint) = lb_endpoint.get("endpoint") else { return Vec::new() };
    let more = endpoint.list("additional_addresses").filter_map(|a| a.get("address"));
    endpoint.get("address").into_iter().chain(more).map(read_address).collect()
}

/// istioctl's `eds` shows the bare path of a pipe, unlike its `endpoint`.
fn text(address: &Address<'_>) -> String {
    if let Address::Pipe(path) = address { path.to_string() } else { address.to_string() }
}
