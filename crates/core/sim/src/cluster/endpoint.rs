//! Endpoints and their health, from the dump and from `/clusters`.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::net::IpAddr;

use super::policy::LbPolicy;
use super::sockets::SocketPlace;
use crate::message;
use meshladder_capture::envoy::clusters::{
    ClusterStatuses as Statuses, HostAddress, HostStatus, read_locality,
};
use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_text::json::Raw;

/// One endpoint of a cluster.
#[derive(Clone, Debug)]
pub struct Endpoint<'a> {
    /// Where it is.
    pub address: HostAddress<'a>,
    /// Where the dump has it: a byte offset; none when only `/clusters` knows it.
    pub at: Option<usize>,
    /// Whether it may be picked.
    pub health: Health,
    /// Its priority; 0 is the first.
    pub priority: u64,
    /// `region/zone/sub_zone`, as far as known.
    pub locality: String,
    /// Its locality's weight; none when it has none.
    pub locality_weight: Option<u64>,
    /// Its weight.
    pub weight: u64,
    /// Its `Metadata`, when it has any and the dump knows the endpoint.
    pub metadata: Option<Raw<'a>>,
    /// Its locality's `Metadata`.
    pub locality_metadata: Option<Raw<'a>>,
    pub(super) socket: SocketPlace,
    /// The address, once somebody has asked for it.
    pub(super) parsed: OnceCell<Option<(IpAddr, u16)>>,
    /// Whether it does not count among the endpoints of its priority.
    pub is_excluded: bool,
}

/// Whether an endpoint may be picked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Health {
    /// Yes.
    Healthy,
    /// When there are not enough healthy ones.
    Degraded,
    /// No, since outlier detection has ejected it.
    Ejected,
    /// No, for this reason.
    Unhealthy(&'static str),
}

/// All that documents say of endpoints.
pub(super) struct KnownEndpoints<'s, 'a> {
    /// The `ClusterLoadAssignment`s of the dump; none when it has no such section.
    assignments: Option<BTreeMap<Cow<'a, str>, Raw<'a>>>,
    /// The hosts that `/clusters` has; none when it was not asked.
    hosts: Option<BTreeMap<&'s str, Vec<&'s HostStatus<'a>>>>,
}

impl<'s, 'a> KnownEndpoints<'s, 'a> {
    pub(super) fn read(dump: &Dump<'a>, statuses: Option<&'s Statuses<'a>>) -> Self {
        Self {
            assignments: assignments(dump),
            hosts: statuses.map(hosts_by_cluster),
        }
    }

    /// The endpoints of a cluster; what its load assignment says of load balancing goes into
    /// `policy`.
    pub(super) fn endpoints(
        &self,
        cluster: Raw<'a>,
        name: &str,
        discovery: &str,
        policy: &mut LbPolicy,
    ) -> Result<Vec<Endpoint<'a>>, Box<str>> {
        let dumped = self.assignment(cluster, name);
        let inline = cluster.get("load_assignment");
        // The dump leaves out parts of the policy that a cluster may have inline.
        for assignment in [dumped, inline].into_iter().flatten() {
            if let Some(rules) = assignment.get("policy") {
                policy.read_assignment(rules);
            }
        }

        let written = match dumped.or(inline) {
            Some(assignment) => read_assignment(assignment),
            None => Vec::new(),
        };
        if let Some(hosts) = &self.hosts
            && let Some(hosts) = hosts.get(name)
        {
            return Ok(hosts.iter().map(|host| of_host(host, &written)).collect());
        }
        // A cluster of type STATIC has what it lists; others find their endpoints elsewhere.
        if dumped.is_some() || discovery == "STATIC" {
            policy.is_dump_alone = dumped.is_some();
            return Ok(written);
        }
        Err(format!("the endpoints of {name}").into())
    }

    /// The cluster's assignment in the dump.
    fn assignment(&self, cluster: Raw<'a>, name: &str) -> Option<Raw<'a>> {
        let assignments = self.assignments.as_ref()?;
        // "service_name: Optional alternative to cluster name to present to EDS."
        if let Some(eds) = cluster.get("eds_cluster_config")
            && let Some(assignment) = assignments.get(&message::text(eds, "service_name"))
        {
            return Some(*assignment);
        }
        assignments.get(name).copied()
    }
}

impl Endpoint<'_> {
    /// The id of the cluster it is of: the last part of what istiod writes beside it,
    /// `workload;namespace;canonical name;revision;cluster`.
    pub fn cluster_id(&self) -> Option<String> {
        let workload = self
            .metadata?
            .at(["filter_metadata", "istio", "workload"])?
            .string()?;
        let id = workload.splitn(5, ';').nth(4)?;
        (!id.is_empty()).then(|| id.to_owned())
    }
}

/// The endpoints of a `ClusterLoadAssignment`.
fn read_assignment(assignment: Raw<'_>) -> Vec<Endpoint<'_>> {
    let mut endpoints = Vec::new();
    for group in assignment.list("endpoints") {
        let locality = group.get("locality").map(read_locality).unwrap_or_default();
        let of_group = Endpoint {
            address: HostAddress::Unknown,
            at: None,
            health: Health::Healthy,
            // "If unspecified this will default to the highest priority (0)."
            priority: message::number(group, "priority"),
            locality,
            locality_weight: message::optional_number(group, "load_balancing_weight"),
            weight: 1,
            metadata: None,
            locality_metadata: group.get("metadata"),
            socket: SocketPlace::Otherwise,
            parsed: OnceCell::new(),
            is_excluded: false,
        };
        for entry in group.list("lb_endpoints") {
            let mut endpoint = of_group.clone();
            endpoint.at = Some(entry.offset());
            for (key, value) in entry.members() {
                endpoint.read(&key, value);
            }
            endpoints.push(endpoint);
        }
    }
    endpoints
}

impl<'a> Endpoint<'a> {
    /// Takes in a member of an `LbEndpoint`.
    fn read(&mut self, key: &str, value: Raw<'a>) {
        match key {
            "endpoint" => {
                if let Some(address) = value.get("address") {
                    self.address = HostAddress::read(&mut address.cursor());
                }
            }
            // What EDS says counts until `/clusters` tells what Envoy itself found out.
            "health_status" => {
                let status = value.string().unwrap_or_default();
                self.health = Health::of_eds(&status);
                self.is_excluded = status == DRAINING;
            }
            // "The optional load balancing weight of the upstream host; at least 1."
            "load_balancing_weight" => self.weight = value.number().unwrap_or(1),
            "metadata" => self.metadata = Some(value),
            _ => {}
        }
    }

    pub(super) fn is_unhealthy(&self) -> bool {
        matches!(self.health, Health::Ejected | Health::Unhealthy(_))
    }

    pub(super) fn has_locality_weight(&self) -> bool {
        self.locality_weight.is_some_and(|weight| weight > 0)
    }
}

/// The load assignments of a dump by their names; none when it was taken without them.
fn assignments<'a>(dump: &Dump<'a>) -> Option<BTreeMap<Cow<'a, str>, Raw<'a>>> {
    dump.section(Section::Endpoints)?;
    let mut assignments = BTreeMap::new();
    for entry in dump.of(Section::Endpoints) {
        if let Some(raw) = entry.raw {
            assignments.insert(entry.name.clone(), raw);
        }
    }
    Some(assignments)
}

fn hosts_by_cluster<'s, 'a>(
    statuses: &'s Statuses<'a>,
) -> BTreeMap<&'s str, Vec<&'s HostStatus<'a>>> {
    let mut hosts: BTreeMap<&str, Vec<&HostStatus<'a>>> = BTreeMap::new();
    for name in &statuses.empty {
        hosts.insert(name, Vec::new());
    }
    for host in &statuses.hosts {
        hosts.entry(statuses.name(host)).or_default().push(host);
    }
    hosts
}

/// A host of `/clusters`, with what the dump knows of the same address.
fn of_host<'a>(host: &HostStatus<'a>, written: &[Endpoint<'a>]) -> Endpoint<'a> {
    let mut endpoint = Endpoint {
        address: host.address.clone(),
        at: None,
        health: Health::of_host(host),
        priority: host.priority(),
        locality: host.locality(),
        locality_weight: None,
        weight: host.weight().unwrap_or(1),
        metadata: None,
        locality_metadata: None,
        socket: SocketPlace::Otherwise,
        parsed: OnceCell::new(),
        is_excluded: host.eds_health() == DRAINING || EXCLUDED.iter().any(|flag| host.has(flag)),
    };
    for same in written {
        if same.address == endpoint.address && same.priority == endpoint.priority {
            endpoint.at = same.at;
            endpoint.locality_weight = same.locality_weight;
            endpoint.metadata = same.metadata;
            endpoint.locality_metadata = same.locality_metadata;
            break;
        }
    }
    endpoint
}

/// Envoy does not count these endpoints when it asks how many of a priority are healthy.
const EXCLUDED: [&str; 2] = ["excluded_via_immediate_hc_fail", "pending_active_hc"];
const DRAINING: &str = "DRAINING";

/// The flags of a host that is not picked, and what they mean.
const FAILURES: [(&str, &str); 3] = [
    (
        "pending_active_hc",
        "waits for its first active health check",
    ),
    (
        "failed_active_health_check",
        "failed its active health check",
    ),
    (
        "excluded_via_immediate_hc_fail",
        "asked to be left out (immediate health-check fail)",
    ),
];

impl Health {
    /// `envoy.config.core.v3.HealthStatus`: of `DRAINING` and `TIMEOUT`, "this is interpreted by
    /// Envoy as `UNHEALTHY`".
    fn of_eds(status: &str) -> Self {
        match status {
            "UNHEALTHY" => Self::Unhealthy("istiod says it is unhealthy (EDS)"),
            DRAINING => Self::Unhealthy("istiod says it is draining (EDS)"),
            "TIMEOUT" => Self::Unhealthy("istiod says its health check timed out (EDS)"),
            "DEGRADED" => Self::Degraded,
            _ => Self::Healthy,
        }
    }

    fn of_host(host: &HostStatus<'_>) -> Self {
        if host.has("failed_outlier_check") {
            return Self::Ejected;
        }
        for (flag, why) in FAILURES {
            if host.has(flag) {
                return Self::Unhealthy(why);
            }
        }
        match Self::of_eds(&host.eds_health()) {
            Self::Healthy if host.has("failed_active_degraded_check") => Self::Degraded,
            health => health,
        }
    }
}
