//! Endpoints as the proxies that call them see them: what each one's `/clusters` says of their
//! health.

use std::collections::{BTreeMap, BTreeSet};

use super::{DescribeFacts, DescriptionSection, count, few};
use meshladder_capture::envoy::clusters::{self, ClusterStatuses, HostAddress, HostStatus};
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::snapshot::{Shape, Snapshot};
use meshladder_mesh::PodFacts;

/// So many endpoints are told one by one.
const TOLD: usize = 20;

/// What the callers of some hosts say.
#[derive(Default)]
struct CallerReports {
    /// Proxies that told their endpoints at all.
    proxies: usize,
    /// Those that know one of the hosts.
    callers: BTreeSet<String>,
    /// By endpoint and caller: the word for its health, and why.
    endpoints: BTreeMap<String, BTreeMap<String, (String, &'static str)>>,
}

/// The endpoints of some hosts; with addresses only those.
pub(super) fn section(
    facts: &DescribeFacts<'_>,
    hosts: &[String],
    only: Option<&PodFacts>,
) -> DescriptionSection {
    let mut section = DescriptionSection::new("Endpoints as callers see them");
    let seen = CallerReports::of(facts.snapshot, hosts, only);
    if hosts.is_empty() {
        return section;
    }
    if seen.callers.is_empty() {
        let says = match seen.proxies {
            0 => "unknown: no proxy was asked for its endpoints".to_owned(),
            proxies => format!(
                "{} asked, and none knows {}",
                count(proxies, "proxy"),
                few(hosts)
            ),
        };
        section.add("", says, None);
    }
    for (address, by) in seen.endpoints.iter().take(TOLD) {
        let ip = address
            .rsplit_once(':')
            .map_or(address.as_str(), |(ip, _)| ip)
            .trim_matches(['[', ']']);
        let pod = ip
            .parse()
            .ok()
            .and_then(|ip| facts.mesh.pod_at(ip))
            .map(PodFacts::reference);
        section.add(address, in_words(by, &seen.callers), pod.as_ref());
    }
    let left = seen.endpoints.len().saturating_sub(TOLD);
    if left > 0 {
        section.add("", format!("and {}", count(left, "more endpoint")), None);
    }
    if seen.endpoints.is_empty() && !seen.callers.is_empty() {
        let callers = count(seen.callers.len(), "caller");
        section.add(
            "",
            format!(
                "{callers} of {}, and none has an endpoint of it",
                few(hosts)
            ),
            None,
        );
    }
    section
}

/// `HEALTHY for 11 of 13 callers, EJECTED for shop/cart-1: outlier detection, not known to
/// shop/cart-2`
fn in_words(by: &BTreeMap<String, (String, &'static str)>, callers: &BTreeSet<String>) -> String {
    let mut groups: BTreeMap<(bool, &str, &str), Vec<String>> = BTreeMap::new();
    for (caller, (word, why)) in by {
        groups
            .entry((word != "HEALTHY", word, why))
            .or_default()
            .push(caller.clone());
    }
    let mut parts: Vec<String> = Vec::new();
    for ((is_bad, word, why), names) in groups {
        let whom = if is_bad {
            few(&names)
        } else {
            format!("{} of {}", names.len(), count(callers.len(), "caller"))
        };
        let why = if why.is_empty() {
            String::new()
        } else {
            format!(": {why}")
        };
        parts.push(format!("{word} for {whom}{why}"));
    }
    let without: Vec<String> = callers
        .iter()
        .filter(|caller| !by.contains_key(*caller))
        .cloned()
        .collect();
    if !without.is_empty() {
        parts.push(format!("not known to {}", few(&without)));
    }
    parts.join(", ")
}

impl CallerReports {
    fn of(snapshot: &Snapshot, hosts: &[String], only: Option<&PodFacts>) -> Self {
        let mut seen = Self::default();
        for (proxy, id) in snapshot.proxies_with(Shape::Clusters) {
            let Ok(doc) = snapshot.open(id) else { continue };
            seen.proxies += 1;
            // Most proxies of a large mesh know nothing of it, and a search is quicker than a
            // reading.
            if !hosts.iter().any(|host| doc.text.contains(host.as_str())) {
                continue;
            }
            let Ok(text) = clusters::as_json(&doc.text) else {
                continue;
            };
            let Ok(read) = ClusterStatuses::read(&text) else {
                continue;
            };
            seen.add(&proxy.to_string(), &read, hosts, only);
        }
        seen
    }

    fn add(
        &mut self,
        caller: &str,
        read: &ClusterStatuses<'_>,
        hosts: &[String],
        only: Option<&PodFacts>,
    ) {
        let is_of = |name: &str| {
            ClusterName::parse(name)
                .is_some_and(|c| c.direction == "outbound" && hosts.iter().any(|h| h == c.host))
        };
        if read.empty.iter().any(|name| is_of(name)) {
            self.callers.insert(caller.to_owned());
        }
        for host in read.hosts.iter().filter(|host| is_of(read.name(host))) {
            self.callers.insert(caller.to_owned());
            if only.is_none_or(|pod| pod.ips.iter().any(|ip| ip.to_string() == ip_of(host))) {
                let (word, why) = host.health();
                let by = self.endpoints.entry(address_of(host)).or_default();
                let known = by
                    .entry(caller.to_owned())
                    .or_insert_with(|| (word.to_string(), why));
                // One that is put aside for a subset is put aside: the worse word counts.
                if known.0 == "HEALTHY" {
                    *known = (word.into_owned(), why);
                }
            }
        }
    }
}

/// `10.0.0.1:8080`; with HBONE the address stands in the endpoint's id.
fn address_of(host: &HostStatus<'_>) -> String {
    match &host.address {
        HostAddress::Internal(_, id) => id.to_string(),
        address => address.to_string(),
    }
}

fn ip_of(host: &HostStatus<'_>) -> String {
    let address = address_of(host);
    let ip = address
        .rsplit_once(':')
        .map_or(address.as_str(), |(ip, _)| ip);
    ip.trim_matches(['[', ']']).to_owned()
}
