//! Load balancing as far as it decides which endpoints can be picked at all: priorities, panic,
//! localities.

use super::endpoint::{Endpoint, Health};
use super::policy::{LbPolicy, Locality};

/// What a cluster does with every request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClusterChoice {
    /// To these endpoints, except for so many of a hundred requests.
    Endpoints(Vec<EndpointShare>, u32),
    /// To the address that the client wanted to reach, with another port if there is one.
    Original(Option<u16>),
    None(&'static str),
    Unknown(Box<str>),
}

/// An endpoint that may be picked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EndpointShare {
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

/// What a cluster with these endpoints does. Draining endpoints do not count among those of their
/// priority, unhealthy ones do; where the two cannot be told apart, it must not matter.
pub(super) fn choose(endpoints: &[Endpoint<'_>], policy: &LbPolicy) -> ClusterChoice {
    let choice = Balance::of(endpoints, policy).choice();
    let has_unhealthy = endpoints.iter().any(Endpoint::is_unhealthy);
    if !policy.is_dump_alone || !has_unhealthy {
        return choice;
    }

    // The dump calls draining endpoints unhealthy: what if all of them were draining?
    let mut draining = endpoints.to_vec();
    for endpoint in &mut draining {
        endpoint.is_excluded = endpoint.is_unhealthy();
    }
    if Balance::of(&draining, policy).choice() == choice {
        return choice;
    }
    ClusterChoice::Unknown("which unhealthy endpoints are draining, as /clusters would tell".into())
}

/// The priorities of a cluster with the load of each.
#[derive(Debug)]
struct Balance<'e, 'a> {
    endpoints: &'e [Endpoint<'a>],
    policy: &'e LbPolicy,
    priorities: Vec<Priority>,
}

impl<'e, 'a> Balance<'e, 'a> {
    fn of(endpoints: &'e [Endpoint<'a>], policy: &'e LbPolicy) -> Self {
        // Priorities begin with 0, and there is always one.
        let mut priorities = vec![Priority::default()];
        for endpoint in endpoints {
            let number = usize::try_from(endpoint.priority).unwrap_or(0);
            while priorities.len() <= number {
                priorities.push(Priority::default());
            }
            priorities[number].count(endpoint);
        }
        let mut balance = Self {
            endpoints,
            policy,
            priorities,
        };
        balance.distribute();
        balance
    }

    fn choice(&self) -> ClusterChoice {
        if self.endpoints.is_empty() {
            return ClusterChoice::None("the cluster has no endpoints");
        }
        let mut shares = Vec::new();
        let mut lost = 0;
        for (number, priority) in self.priorities.iter().enumerate() {
            // "fail_traffic_on_panic: If set to true, Envoy will not consider any hosts when the
            // cluster is in panic mode."
            if priority.in_panic && self.policy.locality == Locality::NothingInPanic {
                lost += priority.load();
            } else {
                self.push_shares(number, priority, &mut shares);
            }
        }
        if !shares.is_empty() {
            shares.sort_by_key(|share| share.endpoint);
            return ClusterChoice::Endpoints(shares, lost);
        }

        if self.priorities.iter().any(|priority| priority.in_panic) {
            return ClusterChoice::None(
                "too few endpoints are healthy, and the cluster then sends nothing",
            );
        }
        ClusterChoice::None("no endpoint is healthy")
    }

    /// Adds the endpoints of a priority that get its load.
    fn push_shares(&self, number: usize, priority: &Priority, shares: &mut Vec<EndpointShare>) {
        if priority.load() == 0 {
            return;
        }
        if !priority.in_panic {
            self.push_healthy(number, &Health::Healthy, priority.healthy_load, shares);
            self.push_healthy(number, &Health::Degraded, priority.degraded_load, shares);
            return;
        }
        // "Envoy will disregard host health status and balance either amongst all hosts or no hosts.
        // This is known as panic mode."
        for (endpoint, known) in self.endpoints.iter().enumerate() {
            if usize::try_from(known.priority) == Ok(number) {
                shares.push(EndpointShare {
                    endpoint,
                    percent: priority.load(),
                    in_panic: true,
                });
            }
        }
    }

    /// Adds the endpoints of a priority that are as healthy as asked for.
    fn push_healthy(
        &self,
        number: usize,
        health: &Health,
        percent: u32,
        shares: &mut Vec<EndpointShare>,
    ) {
        if percent == 0 {
            return;
        }
        let mut eligible = Vec::new();
        for (endpoint, known) in self.endpoints.iter().enumerate() {
            if usize::try_from(known.priority) == Ok(number) && known.health == *health {
                eligible.push((endpoint, known.has_locality_weight()));
            }
        }

        // Where localities have weights, one without gets nothing, unless none has any.
        let by_locality = self.policy.locality == Locality::Weighted
            && eligible.iter().any(|(_, is_weighted)| *is_weighted);
        for (endpoint, is_weighted) in eligible {
            if is_weighted || !by_locality {
                shares.push(EndpointShare {
                    endpoint,
                    percent,
                    in_panic: false,
                });
            }
        }
    }

    /// A priority can take as much as its share of healthy endpoints, times the overprovisioning
    /// factor.
    fn distribute(&mut self) {
        let mut healthy = Vec::new();
        let mut degraded = Vec::new();
        for priority in &self.priorities {
            healthy.push(priority.availability(0, self.policy));
            degraded.push(priority.availability(1, self.policy));
        }
        let total = healthy.iter().chain(&degraded).sum::<u64>().min(100);
        if total > 0 {
            self.spread(&healthy, &degraded, total);
        }
        // Panic is off and nobody is healthy: the first priority gets requests that it cannot take.
        if total == 0 && self.policy.panic_threshold == 0.0 {
            self.priorities[0].healthy_load = 100;
            return;
        }

        for priority in &mut self.priorities {
            priority.in_panic =
                total < 100 && priority.usable_percent() < self.policy.panic_threshold;
        }
        if self.priorities.iter().all(|priority| priority.in_panic) {
            self.spread_in_total_panic();
        }
    }

    /// Healthy endpoints get what they can take, priority by priority; then degraded ones get the
    /// rest.
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
        // What rounding has left goes to the first that has any.
        for priority in &mut self.priorities {
            if priority.hosts > 0 {
                priority.healthy_load += rest;
                return;
            }
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
        if endpoint.is_excluded {
            self.excluded += 1;
        } else {
            self.weights[2] += endpoint.weight;
        }
        match endpoint.health {
            Health::Healthy => {
                self.healthy += 1;
                self.weights[0] += endpoint.weight;
            }
            Health::Degraded => {
                self.degraded += 1;
                self.weights[1] += endpoint.weight;
            }
            Health::Ejected | Health::Unhealthy(_) => {}
        }
    }

    /// Of a hundred requests, how many it gets.
    fn load(&self) -> u32 {
        self.healthy_load + self.degraded_load
    }

    /// How much load the healthy (0) or degraded (1) endpoints can take, in percent.
    fn availability(&self, kind: usize, policy: &LbPolicy) -> u64 {
        let counted = [self.healthy, self.degraded, self.hosts - self.excluded];
        // "weighted_priority_health: If true, use the load balancing weight of healthy and unhealthy
        // hosts to determine the health of the priority level."
        let of = if policy.weighted_priority_health {
            self.weights
        } else {
            counted
        };
        if counted[2] == 0 || of[2] == 0 {
            return 0;
        }
        (policy.overprovisioning * of[kind] / of[2]).min(100)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "Envoy computes these percentages with floating point too"
    )]
    fn usable_percent(&self) -> f64 {
        let total = (self.hosts - self.excluded) as f64;
        if total == 0.0 {
            return 0.0;
        }
        100.0 * self.healthy as f64 / total + 100.0 * self.degraded as f64 / total
    }
}
