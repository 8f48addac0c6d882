//! Endpoints and their health, from the dump and from `/clusters`.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::net::IpAddr;

use super::policy::LbPolicy;
use super::sockets::SocketPlace;
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
        let listed = dump
            .of(Section::Endpoints)
            .filter_map(|entry| Some((entry.name.clone(), entry.raw?)));
        let assignments = dump.section(Section::Endpoints).map(|_| listed.collect());
        let hosts = statuses.map(|statuses| {
            let mut hosts: BTreeMap<&str, Vec<&HostStatus<'a>>> = BTreeMap::new();
            hosts.extend(statuses.empty.iter().map(|name| (&**name, Vec::new())));
            for host in &statuses.hosts {
                hosts.entry(statuses.name(host)).or_default().push(host);
            }
            hosts
        });
        Self { assignments, hosts }
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
        let service = cluster
            .get("eds_cluster_config")
            .and_then(|eds| eds.string_at("service_name"));
        let service = service.filter(|service| !service.is_empty());
        let inline = cluster.get("load_assignment");
        let listed = self.assignments.as_ref();
        let dumped = listed.and_then(|all| {
            all.get(service.as_deref().unwrap_or(name))
                .or_else(|| all.get(name))
        });
        let assignment = dumped.copied().or(inline);
        // The dump leaves out parts of the policy that a cluster may have inline.
        for rules in [dumped.copied(), inline]
            .into_iter()
            .flatten()
            .filter_map(|given| given.get("policy"))
        {
            policy.read_assignment(rules);
        }
        let written = assignment.map(read_assignment).unwrap_or_default();
        if let Some(hosts) = self.hosts.as_ref().and_then(|hosts| hosts.get(name)) {
            return Ok(hosts.iter().map(|host| of_host(host, &written)).collect());
        }
        // A cluster of type STATIC has what it lists; others find their endpoints elsewhere.
        if dumped.is_some() || discovery == "STATIC" {
            policy.is_dump_alone = dumped.is_some();
            return Ok(written);
        }
        Err(format!("the endpoints of {name}").into())
    }
}

/// The endpoints of a `ClusterLoadAssignment`.
fn read_assignment(assignment: Raw<'_>) -> Vec<Endpoint<'_>> {
    let mut endpoints = Vec::new();
    for group in assignment.list("endpoints") {
        let number = |key| group.get(key).and_then(Raw::number);
        let locality = group.get("locality").map(read_locality).unwrap_or_default();
        for entry in group.list("lb_endpoints") {
            let mut endpoint = Endpoint {
                address: HostAddress::Unknown,
                at: Some(entry.offset()),
                health: Health::Healthy,
                priority: number("priority").unwrap_or(0),
                locality: locality.clone(),
                locality_weight: number("load_balancing_weight"),
                weight: 1,
                metadata: None,
                locality_metadata: group.get("metadata"),
                socket: SocketPlace::Otherwise,
                parsed: OnceCell::new(),
                is_excluded: false,
            };
            for (key, value) in entry.members() {
                match &*key {
                    "endpoint" => {
                        let address = value
                            .get("address")
                            .map(|address| HostAddress::read(&mut address.cursor()));
                        endpoint.address = address.unwrap_or_default();
                    }
                    "health_status" => {
                        let status = value.string().unwrap_or_default();
                        endpoint.health = Health::of_eds(&status);
                        endpoint.is_excluded = status == DRAINING;
                    }
                    "load_balancing_weight" => endpoint.weight = value.number().unwrap_or(1),
                    "metadata" => endpoint.metadata = Some(value),
                    _ => {}
                }
            }
            endpoints.push(endpoint);
        }
    }
    endpoints
}

/// A host of `/clusters`, with what the dump knows of the same address.
fn of_host<'a>(host: &HostStatus<'a>, written: &[Endpoint<'a>]) -> Endpoint<'a> {
    let priority = host.priority();
    let same = written
        .iter()
        .find(|e| e.address == host.address && e.priority == priority);
    Endpoint {
        address: host.address.clone(),
        at: same.and_then(|endpoint| endpoint.at),
        health: Health::of_host(host),
        priority,
        locality: host.locality(),
        locality_weight: same.and_then(|endpoint| endpoint.locality_weight),
        weight: host.weight().unwrap_or(1),
        metadata: same.and_then(|endpoint| endpoint.metadata),
        locality_metadata: same.and_then(|endpoint| endpoint.locality_metadata),
        socket: SocketPlace::Otherwise,
        parsed: OnceCell::new(),
        is_excluded: host.eds_health() == DRAINING || EXCLUDED.iter().any(|flag| host.has(flag)),
    }
}

/// Envoy does not count these endpoints when it asks how many of a priority are healthy.
const EXCLUDED: [&str; 2] = ["excluded_via_immediate_hc_fail", "pending_active_hc"];
const DRAINING: &str = "DRAINING";

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
        let has = |flag: &str| host.has(flag);
        if has("failed_outlier_check") {
            return Self::Ejected;
        }
        if let Some((_, why)) = FAILURES.iter().find(|(flag, _)| has(flag)) {
            return Self::Unhealthy(why);
        }
        match Self::of_eds(&host.eds_health()) {
            Self::Healthy if has("failed_active_degraded_check") => Self::Degraded,
            health => health,
        }
    }
}
