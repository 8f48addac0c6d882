//! Load balancing as far as it decides which endpoints can be picked at all: priorities, panic, localities.

use super::endpoint::{Endpoint, Health};
use crate::doc::json::Raw;

/// What a cluster and its load assignment say of load balancing.
#[derive(Debug)]
pub(super) struct Policy {
    /// "Configures the healthy panic threshold. If not specified, the default is 50%. To disable panic mode, set to 0%."
    panic_threshold: f64,
    /// "If set to true, Envoy will not consider any hosts when the cluster is in panic mode."
    fail_traffic_on_panic: bool,
    /// "Priority levels and localities are considered overprovisioned with this factor (in percentage)."
    overprovisioning: u64,
    is_locality_weighted: bool,
    weighted_priority_health: bool,
    /// Whether `load_balancing_policy` decides instead of `lb_policy` and parts of `common_lb_config`.
    has_extension: bool,
    /// Whether health is known from the dump alone, which says `UNHEALTHY` of draining endpoints too.
    pub(super) is_dump_alone: bool,
    /// Something that decides in its own way.
    pub(super) unmodelled: Option<String>,
}

/// What a cluster does with every request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// To these endpoints, except for so many of a hundred requests.
    Endpoints(Vec<Share>, u32),
    /// To the address that the client wanted to reach, with another port if there is one.
    Original(Option<u16>),
    None(&'static str),
    Unknown(Box<str>),
}

/// An endpoint that may be picked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub(super) endpoint: usize,
    pub(super) percent: u32,
    pub(super) in_panic: bool,
}

#[derive(Debug, Default)]
struct Priority {
    hosts: u64,
    excluded: u64,
    healthy: u64,
    degraded: u64,
    /// Weights, where they count instead of hosts.
    weights: [u64; 3],
    healthy_load: u32,
    degraded_load: u32,
    in_panic: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            panic_threshold: 50.0,
            fail_traffic_on_panic: false,
            overprovisioning: 140,
            is_locality_weighted: false,
            weighted_priority_health: false,
            has_extension: false,
            is_dump_alone: false,
            unmodelled: None,
        }
    }
}

impl Policy {
    /// Reads a member of a `Cluster`.
    pub(super) fn read(&mut self, key: &str, value: Raw<'_>) {
        match key {
            "common_lb_config" => self.read_common(value),
            "load_balancing_policy" => self.read_extension(value),
            "lb_subset_config" => self.unmodelled = Some("subset load balancing".to_owned()),
            _ => {}
        }
    }

    fn read_common(&mut self, config: Raw<'_>) {
        if let Some(percent) = config.get("healthy_panic_threshold") {
            // Envoy rounds it to whole percents.
            let percent: Option<f64> = percent.get("value").and_then(|value| value.text().parse().ok());
            self.panic_threshold = percent.unwrap_or(0.0).round();
        }
        if !self.has_extension {
            self.read_locality(config);
        }
    }

    fn read_locality(&mut self, config: Raw<'_>) {
        self.is_locality_weighted = config.get("locality_weighted_lb_config").is_some();
        let fails = config.at(["zone_aware_lb_config", "fail_traffic_on_panic"]).and_then(Raw::bool);
        self.fail_traffic_on_panic = fails == Some(true);
    }

    /// "Each client will iterate over the list in order and stop at the first policy that it supports."
    fn read_extension(&mut self, policy: Raw<'_>) {
        let Some(config) = policy.list("policies").find_map(|p| p.at(["typed_extension_config", "typed_config"]))
        else {
            return;
        };
        self.has_extension = true;
        (self.is_locality_weighted, self.fail_traffic_on_panic) = (false, false);
        let url = config.string_at("@type").unwrap_or_default();
        match url.rsplit('.').next().unwrap_or_default() {
            "RoundRobin" | "LeastRequest" | "Random" | "RingHash" | "Maglev" => {
                config.get("locality_lb_config").into_iter().for_each(|config| self.read_locality(config));
            }
            "WrrLocality" => self.is_locality_weighted = true,
            "ClientSideWeightedRoundRobin" => {}
            other => self.unmodelled = Some(format!("the load balancing policy {other}")),
        }
    }

    /// Reads a `ClusterLoadAssignment.Policy`.
    pub(super) fn read_assignment(&mut self, rules: Raw<'_>) {
        if let Some(factor) = rules.get("overprovisioning_factor").and_then(Raw::number) {
            self.overprovisioning = factor;
        }
        self.weighted_priority_health = rules.get("weighted_priority_health").and_then(Raw::bool) == Some(true);
        if rules.list("drop_overloads").next().is_some() {
            self.unmodelled = Some("drop_overloads".to_owned());
        }
    }
}

/// What a cluster with these endpoints does. Draining endpoints do not count among those of their priority, unhealthy
/// ones do; where the two cannot be told apart, it must not matter.
pub(super) fn choose(endpoints: &[Endpoint<'_>], policy: &Policy) -> Choice {
    let choice = Balance::of(endpoints, policy).choice();
    let is_unhealthy = |endpoint: &Endpoint<'_>| matches!(endpoint.health, Health::Unhealthy(_));
    if !policy.is_dump_alone || !endpoints.iter().any(is_unhealthy) {
        return choice;
    }
    let mut draining = endpoints.to_vec();
    draining.iter_mut().for_each(|endpoint| endpoint.is_excluded = is_unhealthy(endpoint));
    if Balance::of(&draining, policy).choice() == choice {
        return choice;
    }
    Choice::Unknown("which unhealthy endpoints are draining, as /clusters would tell".into())
}

/// The priorities of a cluster with the load of each.
#[derive(Debug)]
struct Balance<'e, 'a> {
    endpoints: &'e [Endpoint<'a>],
    policy: &'e Policy,
    priorities: Vec<Priority>,
}

impl<'e, 'a> Balance<'e, 'a> {
    fn of(endpoints: &'e [Endpoint<'a>], policy: &'e Policy) -> Self {
        let last = endpoints.iter().map(|endpoint| endpoint.priority).max().unwrap_or(0);
        let mut priorities: Vec<_> = (0..=last).map(|_| Priority::default()).collect();
        for endpoint in endpoints {
            let priority = &mut priorities[usize::try_from(endpoint.priority).unwrap_or(0)];
            priority.count(endpoint);
        }
        let mut balance = Self { endpoints, policy, priorities };
        balance.distribute();
        balance
    }

    fn choice(&self) -> Choice {
        if self.endpoints.is_empty() {
            return Choice::None("the cluster has no endpoints");
        }
        let mut shares = Vec::new();
        let mut lost = 0;
        for (number, priority) in self.priorities.iter().enumerate() {
            let load = priority.healthy_load + priority.degraded_load;
            if priority.in_panic && self.policy.fail_traffic_on_panic {
                lost += load;
            } else {
                self.shares_of(number, priority, &mut shares);
            }
        }
        if !shares.is_empty() {
            shares.sort_by_key(|share| share.endpoint);
            return Choice::Endpoints(shares, lost);
        }
        let panics = self.priorities.iter().any(|priority| priority.in_panic);
        Choice::None(if panics {
            "too few endpoints are healthy, and the cluster then sends nothing"
        } else {
            "no endpoint is healthy"
        })
    }

    /// The endpoints of a priority that get its load.
    fn shares_of(&self, number: usize, priority: &Priority, shares: &mut Vec<Share>) {
        let load = priority.healthy_load + priority.degraded_load;
        if load == 0 {
            return;
        }
        let own = || self.endpoints.iter().enumerate().filter(|(_, e)| usize::try_from(e.priority) == Ok(number));
        if priority.in_panic {
            shares.extend(own().map(|(endpoint, _)| Share { endpoint, percent: load, in_panic: true }));
            return;
        }
        for (health, percent) in [(Health::Healthy, priority.healthy_load), (Health::Degraded, priority.degraded_load)]
        {
            let eligible: Vec<_> = own().filter(|(_, endpoint)| endpoint.health == health && percent > 0).collect();
            // Where localities have weights, one without gets nothing, unless none has any.
            let weighted = |(_, e): &&(usize, &Endpoint<'_>)| e.locality_weight.is_some_and(|weight| weight > 0);
            let by_locality = self.policy.is_locality_weighted && eligible.iter().any(|e| weighted(&e));
            let picked = eligible.iter().filter(|e| !by_locality || weighted(e));
            shares.extend(picked.map(|(endpoint, _)| Share { endpoint: *endpoint, percent, in_panic: false }));
        }
    }

    /// A priority can take as much as its share of healthy endpoints, times the overprovisioning factor.
    fn distribute(&mut self) {
        let health =
            |kind: usize| -> Vec<u64> { self.priorities.iter().map(|p| p.availability(kind, self.policy)).collect() };
        let (healthy, degraded) = (health(0), health(1));
        let total = healthy.iter().chain(&degraded).sum::<u64>().min(100);
        if total > 0 {
            self.spread(&healthy, &degraded, total);
        }
        if total == 0 && self.policy.panic_threshold == 0.0 {
            self.priorities[0].healthy_load = 100;
            return;
        }
        for priority in &mut self.priorities {
            priority.in_panic = total < 100 && priority.usable_percent() < self.policy.panic_threshold;
        }
        if self.priorities.iter().all(|priority| priority.in_panic) {
            self.spread_in_total_panic();
        }
    }

    /// Healthy endpoints get what they can take, priority by priority; then degraded ones get the rest.
    fn spread(&mut self, healthy: &[u64], degraded: &[u64], total: u64) {
        let mut rest = 100;
        for (priority, available) in self.priorities.iter_mut().zip(healthy) {
            priority.healthy_load = take(&mut rest, available * 100 / total);
        }
        for (priority, available) in self.priorities.iter_mut().zip(degraded) {
            priority.degraded_load = take(&mut rest, available * 100 / total);
        }
        // What rounding has left goes to the first that has any.
        if let Some(first) = healthy.iter().position(|available| *available > 0) {
            self.priorities[first].healthy_load += rest;
        } else if let Some(first) = degraded.iter().position(|available| *available > 0) {
            self.priorities[first].degraded_load += rest;
        }
    }

    /// With all priorities in panic, load goes by the number of endpoints.
    fn spread_in_total_panic(&mut self) {
        let total: u64 = self.priorities.iter().map(|priority| priority.hosts).sum();
        if total == 0 {
            return;
        }
        let mut rest = 100;
        for priority in &mut self.priorities {
            priority.healthy_load = take(&mut rest, 100 * priority.hosts / total);
            priority.degraded_load = 0;
        }
        if let Some(first) = self.priorities.iter_mut().find(|priority| priority.hosts > 0) {
            first.healthy_load += rest;
        }
    }
}

/// Takes up to so many percent of what is left.
fn take(rest: &mut u32, percent: u64) -> u32 {
    let taken = u32::try_from(percent).unwrap_or(100).min(*rest);
    *rest -= taken;
    taken
}

impl Priority {
    fn count(&mut self, endpoint: &Endpoint<'_>) {
        self.hosts += 1;
        self.excluded += u64::from(endpoint.is_excluded);
        self.weights[2] += if endpoint.is_excluded { 0 } else { endpoint.weight };
        match endpoint.health {
            Health::Healthy => {
                self.healthy += 1;
                self.weights[0] += endpoint.weight;
            }
            Health::Degraded => {
                self.degraded += 1;
                self.weights[1] += endpoint.weight;
            }
            Health::Unhealthy(_) => {}
        }
    }

    /// How much load the healthy (0) or degraded (1) endpoints can take, in percent.
    fn availability(&self, kind: usize, policy: &Policy) -> u64 {
        let counted = [self.healthy, self.degraded, self.hosts - self.excluded];
        let of = if policy.weighted_priority_health { self.weights } else { counted };
        if counted[2] == 0 || of[2] == 0 { 0 } else { (policy.overprovisioning * of[kind] / of[2]).min(100) }
    }

    #[expect(clippy::cast_precision_loss, reason = "Envoy computes these percentages with floating point too")]
    fn usable_percent(&self) -> f64 {
        let total = (self.hosts - self.excluded) as f64;
        if total == 0.0 { 0.0 } else { 100.0 * self.healthy as f64 / total + 100.0 * self.degraded as f64 / total }
    }
}
