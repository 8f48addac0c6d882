//! What a proxy that gets no updates still does, beside what the objects ask for by now.

use std::collections::BTreeMap;

use crate::rules::{Case, Facts};
use meshladder_capture::Kind;
use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_capture::envoy::name::{ClusterName, istio_config};
use meshladder_capture::snapshot::DocId;
use meshladder_mesh::{Object, PodFacts};
use meshladder_text::json::Raw;
use meshladder_text::tree::{Node, Value};

/// Host and subset of a destination, and its share of 100.
type Shares = BTreeMap<(String, String), u64>;

/// A route of a VirtualService that a proxy has in another form.
pub(super) struct Drift<'m> {
    pub(super) object: &'m Object,
    /// The destinations that the VirtualService asks for.
    pub(super) node: &'m Node,
    wants: Shares,
    has: Shares,
    pub(super) doc: DocId,
    pub(super) at: usize,
}

/// A route of a proxy.
struct Route {
    name: String,
    namespace: String,
    service: String,
    shares: Shares,
    at: usize,
}

impl Drift<'_> {
    /// The VirtualService's shares: `90/10`.
    pub(super) fn wanted(&self) -> String {
        self.wants
            .values()
            .map(u64::to_string)
            .collect::<Vec<_>>()
            .join("/")
    }

    /// Where the proxy sends requests: `everything to v1`.
    pub(super) fn sends(&self) -> String {
        let parts: Vec<String> = self
            .has
            .iter()
            .map(|(to, share)| format!("{share} % to {}", name(to)))
            .collect();
        match self.has.len() {
            1 => format!(
                "everything to {}",
                self.has.keys().map(name).collect::<String>()
            ),
            _ => parts.join(" and "),
        }
    }
}

fn name((host, subset): &(String, String)) -> &str {
    if subset.is_empty() {
        host.split('.').next().unwrap_or_default()
    } else {
        subset
    }
}

/// What differs in a proxy's routes; for a request only in the virtual host that it asks for.
pub(super) fn of<'m>(facts: &Facts<'m>, pod: &PodFacts, case: Option<&Case<'_>>) -> Vec<Drift<'m>> {
    let is = |id: &&meshladder_capture::snapshot::ProxyRef| {
        id.namespace == pod.namespace && id.pod == pod.name
    };
    let Some(id) = facts.fleet.proxies.keys().find(is) else {
        return Vec::new();
    };
    let Ok(doc) = facts
        .snapshot
        .open(&DocId::of_proxy(id, "config_dump.json"))
    else {
        return Vec::new();
    };
    let Ok(dump) = Dump::index(&doc.text, &[Section::Routes]) else {
        return Vec::new();
    };
    let host = case.map(|case| format!("{}:{}", case.host, case.call.to.port));
    let configs = dump.of(Section::Routes).filter_map(|resource| resource.raw);
    let hosts = configs.flat_map(|config| config.list("virtual_hosts"));
    let mut found: Vec<Drift<'m>> = Vec::new();
    for virtual_host in hosts {
        if host.as_deref().is_some_and(|host| {
            virtual_host
                .string_at("name")
                .is_none_or(|name| name != host)
        }) {
            continue;
        }
        let routes: Vec<Route> = virtual_host.list("routes").filter_map(route).collect();
        for drift in compare(facts, &routes, &doc.id) {
            if !found
                .iter()
                .any(|known| std::ptr::eq(known.node, drift.node))
            {
                found.push(drift);
            }
        }
    }
    found
}

fn compare<'m>(facts: &Facts<'m>, routes: &[Route], doc: &DocId) -> Vec<Drift<'m>> {
    let mut found = Vec::new();
    for (i, first) in routes.iter().enumerate() {
        let same =
            |route: &&Route| route.service == first.service && route.namespace == first.namespace;
        if routes[..i].iter().any(|route| same(&route)) {
            continue;
        }
        let Some(object) =
            facts
                .mesh
                .objects
                .get(Kind::VirtualService, &first.namespace, &first.service)
        else {
            continue;
        };
        let of_object: Vec<&Route> = routes.iter().filter(same).collect();
        found.extend(
            object
                .spec_list("http")
                .iter()
                .filter_map(|entry| entry_of(facts, object, entry, &of_object, doc)),
        );
    }
    found
}

/// One route of a VirtualService against those that the proxy made of it.
fn entry_of<'m>(
    facts: &Facts<'_>,
    object: &'m Object,
    entry: &'m Node,
    routes: &[&Route],
    doc: &DocId,
) -> Option<Drift<'m>> {
    let node = entry.get("route")?;
    let wants = wanted(facts, node, &object.id.namespace).filter(|_| !depends_on_proxy(entry))?;
    if routes.iter().any(|route| route.shares == wants) {
        return None;
    }
    let own_name = entry.str_at("name").unwrap_or_default();
    let named = routes
        .iter()
        .find(|route| !own_name.is_empty() && route.name == own_name);
    let shares_host = |route: &&&Route| {
        route
            .shares
            .keys()
            .any(|(host, _)| wants.keys().any(|(other, _)| other == host))
    };
    let route = named.or_else(|| routes.iter().find(shares_host))?;
    // A weight says more than the list it stands in.
    let node = node
        .items()
        .iter()
        .rev()
        .find_map(|to| to.get("weight"))
        .unwrap_or(node);
    Some(Drift {
        object,
        node,
        wants,
        has: route.shares.clone(),
        doc: doc.clone(),
        at: route.at,
    })
}

/// Whether a route is not for every proxy and port.
fn depends_on_proxy(entry: &Node) -> bool {
    let matches = entry.get("match").map_or(&[][..], Node::items).iter();
    matches
        .flat_map(Node::members)
        .any(|m| ["gateways", "port", "sourceLabels", "sourceNamespace"].contains(&&*m.key))
}

fn wanted(facts: &Facts<'_>, route: &Node, namespace: &str) -> Option<Shares> {
    let destinations = route.items();
    let shares = destinations.iter().map(|entry| {
        let to = entry.get("destination")?;
        let weight = match entry.get("weight").map(|w| &w.value) {
            Some(Value::Number(text)) => text.parse().ok()?,
            _ => u64::from(destinations.len() == 1),
        };
        let host = facts
            .mesh
            .domain
            .fqdn(to.str_at("host")?, namespace)
            .into_owned();
        Some((
            (host, to.str_at("subset").unwrap_or_default().to_owned()),
            weight,
        ))
    });
    normal(shares.collect::<Option<Vec<_>>>()?)
}

fn route(raw: Raw<'_>) -> Option<Route> {
    let object = istio_config(raw.get("metadata")?)?;
    let (service, namespace) = object.rsplit_once('.')?;
    let action = raw.get("route")?;
    let weighted = action
        .at(["weighted_clusters", "clusters"])
        .map(|clusters| {
            clusters
                .elements()
                .filter_map(|c| Some((share(&c.string_at("name")?)?, c.get("weight")?.number()?)))
                .collect()
        });
    let single = || Some(vec![(share(&action.string_at("cluster")?)?, 1)]);
    let shares = normal(weighted.or_else(single)?)?;
    let name = raw.string_at("name").unwrap_or_default().into_owned();
    let at = action
        .at(["weighted_clusters", "clusters"])
        .unwrap_or(action)
        .offset();
    Some(Route {
        name,
        namespace: namespace.to_owned(),
        service: service.to_owned(),
        shares,
        at,
    })
}

fn share(cluster: &str) -> Option<(String, String)> {
    let cluster = ClusterName::parse(cluster)?;
    Some((cluster.host.to_owned(), cluster.subset.to_owned()))
}

/// As shares of 100, without those that get nothing.
fn normal(shares: Vec<((String, String), u64)>) -> Option<Shares> {
    let total: u64 = shares.iter().map(|(_, weight)| weight).sum();
    let some = shares.into_iter().filter(|(_, weight)| *weight > 0);
    (total > 0).then(|| {
        some.map(|(to, weight)| (to, weight * 100 / total))
            .collect()
    })
}
