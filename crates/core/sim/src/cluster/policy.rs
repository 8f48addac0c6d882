//! What a cluster and its load assignment say of load balancing.

use crate::message;
use meshladder_text::json::Raw;

/// The rules.
#[derive(Debug)]
pub(super) struct LbPolicy {
    /// "Configures the healthy panic threshold. If not specified, the default is 50%. To disable
    /// panic mode, set to 0%."
    pub(super) panic_threshold: f64,
    /// "Priority levels and localities are considered overprovisioned with this factor (in
    /// percentage)."
    pub(super) overprovisioning: u64,
    pub(super) locality: Locality,
    pub(super) weighted_priority_health: bool,
    /// Whether `load_balancing_policy` decides instead of `lb_policy` and parts of
    /// `common_lb_config`.
    has_extension: bool,
    /// Whether health is known from the dump alone, which says `UNHEALTHY` of draining endpoints
    /// too.
    pub(super) is_dump_alone: bool,
    /// Something that decides in its own way.
    pub(super) unmodelled: Option<String>,
}

/// What localities and panic have to do with each other: Envoy takes one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Locality {
    Plain,
    /// Load goes by the weights of localities.
    Weighted,
    /// "If set to true, Envoy will not consider any hosts when the cluster is in panic mode."
    NothingInPanic,
}

impl Default for LbPolicy {
    fn default() -> Self {
        Self {
            panic_threshold: 50.0,
            overprovisioning: 140,
            locality: Locality::Plain,
            weighted_priority_health: false,
            has_extension: false,
            is_dump_alone: false,
            unmodelled: None,
        }
    }
}

impl LbPolicy {
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
            // A `Percent` without a value is zero. Envoy rounds it to whole percents.
            let value = match percent.get("value") {
                Some(value) => value.text().parse().unwrap_or(0.0),
                None => 0.0_f64,
            };
            self.panic_threshold = value.round();
        }
        // Where there is a `load_balancing_policy`, that one says what becomes of localities.
        if !self.has_extension {
            self.read_locality(config);
        }
    }

    fn read_locality(&mut self, config: Raw<'_>) {
        let fails = config.at(["zone_aware_lb_config", "fail_traffic_on_panic"]);
        self.locality = if config.get("locality_weighted_lb_config").is_some() {
            Locality::Weighted
        } else if fails.and_then(Raw::bool) == Some(true) {
            Locality::NothingInPanic
        } else {
            Locality::Plain
        };
    }

    /// "Each client will iterate over the list in order and stop at the first policy that it
    /// supports."
    fn read_extension(&mut self, policy: Raw<'_>) {
        let mut configs = policy
            .list("policies")
            .filter_map(|policy| policy.at(["typed_extension_config", "typed_config"]));
        let Some(config) = configs.next() else {
            return;
        };
        self.has_extension = true;
        self.locality = Locality::Plain;

        let url = message::text(config, "@type");
        match url.rsplit('.').next().unwrap_or_default() {
            "RoundRobin" | "LeastRequest" | "Random" | "RingHash" | "Maglev" => {
                if let Some(locality) = config.get("locality_lb_config") {
                    self.read_locality(locality);
                }
            }
            "WrrLocality" => self.locality = Locality::Weighted,
            "ClientSideWeightedRoundRobin" => {}
            other => self.unmodelled = Some(format!("the load balancing policy {other}")),
        }
    }

    /// Reads a `ClusterLoadAssignment.Policy`.
    pub(super) fn read_assignment(&mut self, rules: Raw<'_>) {
        if let Some(factor) = message::optional_number(rules, "overprovisioning_factor") {
            self.overprovisioning = factor;
        }
        self.weighted_priority_health = message::flag(rules, "weighted_priority_health");
        if rules.list("drop_overloads").next().is_some() {
            self.unmodelled = Some("drop_overloads".to_owned());
        }
    }
}
