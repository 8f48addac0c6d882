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
    let is_unhealthy =
        |endpoint: &Endpoint<'_>| matches!(endpoint.health, Health::Ejected | Health::Unhealthy(_));
    if !policy.is_dump_alone || !endpoints.iter().any(is_unhealthy) {
        return choice;
    }
    let mut draining = endpoints.to_vec();
    for endpoint in &mut draining {
        endpoint.is_excluded = is_unhealthy(endpoint);
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
        let last = endpoints
            .iter()
            .map(|endpoint| endpoint.priority)
            .max()
            .unwrap_or(0);
        let mut priorities: Vec<_> = (0..=last).map(|_| Priority::default()).collect();
        for endpoint in endpoints {
            let priority = &mut priorities[usize::try_from(endpoint.priority).unwrap_or(0)];
            priority.count(endpoint);
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
            let load = priority.healthy_load + priority.degraded_load;
            if priority.in_panic && self.policy.locality == Locality::NothingInPanic {
                lost += load;
            } else {
                self.shares_of(number, priority, &mut shares);
            }
        }
        if !shares.is_empty() {
            shares.sort_by_key(|share| share.endpoint);
            return ClusterChoice::Endpoints(shares, lost);
        }
        let panics = self.priorities.iter().any(|priority| priority.in_panic);
        ClusterChoice::None(if panics {
            "too few endpoints are healthy, and the cluster then sends nothing"
        } else {
            "no endpoint is healthy"
        })
    }

    /// The endpoints of a priority that get its load.
    fn shares_of(&self, number: usize, priority: &Priority, shares: &mut Vec<EndpointShare>) {
        let load = priority.healthy_load + priority.degraded_load;
        if load == 0 {
            return;
        }
        let own = || {
            self.endpoints
                .iter()
                .enumerate()
                .filter(|(_, e)| usize::try_from(e.priority) == Ok(number))
        };
        if priority.in_panic {
            shares.extend(own().map(|(endpoint, _)| EndpointShare {
                endpoint,
                percent: load,
                in_panic: true,
            }));
            return;
        }
        for (health, percent) in [
            (Health::Healthy, priority.healthy_load),
            (Health::Degraded, priority.degraded_load),
        ] {
            let eligible: Vec<_> = own()
                .filter(|(_, endpoint)| endpoint.health == health && percent > 0)
                .collect();
            // Where localities have weights, one without gets nothing, unless none has any.
            let weighted = |(_, e): &&(usize, &Endpoint<'_>)| {
                e.locality_weight.is_some_and(|weight| weight > 0)
            };
            let by_locality =
                self.policy.locality == Locality::Weighted && eligible.iter().any(|e| weighted(&e));
            let picked = eligible.iter().filter(|e| !by_locality || weighted(e));
            shares.extend(picked.map(|(endpoint, _)| EndpointShare {
                endpoint: *endpoint,
                percent,
                in_panic: false,
            }));
        }
    }

    /// A priority can take as much as its share of healthy endpoints, times the overprovisioning
    /// factor.
    fn distribute(&mut self) {
        let health = |kind: usize| -> Vec<u64> {
            self.priorities
                .iter()
                .map(|p| p.availability(kind, self.policy))
                .collect()
        };
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
        if let Some(first) = self
            .priorities
            .iter_mut()
            .find(|priority| priority.hosts > 0)
        {
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
        self.weights[2] += if endpoint.is_excluded {
            0
        } else {
            endpoint.weight
        };
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

    /// How much load the healthy (0) or degraded (1) endpoints can take, in percent.
    fn availability(&self, kind: usize, policy: &LbPolicy) -> u64 {
        let counted = [self.healthy, self.degraded, self.hosts - self.excluded];
        let of = if policy.weighted_priority_health {
            self.weights
        } else {
            counted
        };
        if counted[2] == 0 || of[2] == 0 {
            0
        } else {
            (policy.overprovisioning * of[kind] / of[2]).min(100)
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "Envoy computes these percentages with floating point too"
    )]
    fn usable_percent(&self) -> f64 {
        let total = (self.hosts - self.excluded) as f64;
        if total == 0.0 {
            0.0
        } else {
            100.0 * self.healthy as f64 / total + 100.0 * self.degraded as f64 / total
        }
    }
}
