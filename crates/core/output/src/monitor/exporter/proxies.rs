//! What proxies and istiods say of themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::{Family, seconds};
use crate::tables::secret;
use meshladder_capture::Kind;
use meshladder_capture::envoy::clusters::{self, ClusterStatuses};
use meshladder_capture::envoy::dump::Section;
use meshladder_capture::envoy::name::ClusterName;
use meshladder_capture::istiod::syncz::SyncStatus;
use meshladder_capture::snapshot::{Coverage, Need, ProxyRef, Snapshot};
use meshladder_judge::fleet::{Fleet, Proxy, ProxyDocuments};
use meshladder_mesh::Mesh;
use meshladder_mesh::services::is_ready;
use meshladder_text::tree::Node;

/// The families that have a proxy in their labels.
struct ProxyFamilies {
    loggers: Family,
    ejected: Family,
    ghosts: Family,
    rejected: Family,
    not_after: Family,
    not_before: Family,
}

pub(super) fn families(snapshot: &Snapshot, mesh: &Mesh) -> Vec<Family> {
    let fleet = Fleet::of_istiods(snapshot);
    let mut told = ProxyFamilies {
        loggers: Family::new("meshladder_proxy_loggers", "Loggers of a proxy, by level"),
        ejected: Family::new(
            "meshladder_proxy_ejected_endpoints",
            "Endpoints that outlier detection keeps a proxy from",
        ),
        ghosts: Family::new(
            "meshladder_proxy_ghost_endpoints",
            "Endpoints of a proxy that Kubernetes does not have",
        ),
        rejected: Family::new(
            "meshladder_proxy_rejected_resources",
            "Resources that a proxy refused, as its dump tells",
        ),
        not_after: Family::new(
            "meshladder_certificate_not_after_seconds",
            "When a certificate of a proxy expires",
        ),
        not_before: Family::new(
            "meshladder_certificate_not_before_seconds",
            "When a certificate of a proxy became valid",
        ),
    };
    let known = known_addresses(snapshot, mesh);
    for id in with_documents(snapshot) {
        let documents = ProxyDocuments::open(snapshot, &id, None);
        let proxy = Proxy::new(&documents, mesh.pod(&id.namespace, &id.pod));
        told.visit(&proxy, mesh, known.as_ref());
    }
    let ProxyFamilies {
        loggers,
        ejected,
        ghosts,
        rejected,
        not_after,
        not_before,
    } = told;
    vec![
        sync(&fleet),
        connected(&fleet, mesh),
        loggers,
        ejected,
        ghosts,
        rejected,
        not_after,
        not_before,
    ]
}

fn with_documents(snapshot: &Snapshot) -> BTreeSet<ProxyRef> {
    snapshot
        .ids()
        .filter_map(meshladder_capture::snapshot::DocId::proxy)
        .collect()
}

/// A proxy that moves from one istiod to another has two streams for a moment, and the old one
/// looks stale: the better state counts.
fn sync(fleet: &Fleet) -> Family {
    let mut states: BTreeMap<(&str, &str, &str), (u8, SyncStatus)> = BTreeMap::new();
    for stream in &fleet.streams {
        for (kind, watch) in &stream.types {
            let rank = match watch.sync {
                SyncStatus::Error => 0,
                SyncStatus::Stale => 1,
                SyncStatus::NotSent => 2,
                SyncStatus::Synced | SyncStatus::Ignored => 3,
            };
            let state = states
                .entry((&stream.namespace, &stream.pod, kind))
                .or_insert((rank, watch.sync));
            if rank > state.0 {
                *state = (rank, watch.sync);
            }
        }
    }
    let mut family = Family::new(
        "meshladder_proxy_sync",
        "1 for the state of each resource type of each proxy",
    );
    for ((namespace, pod, kind), (rank, sync)) in states {
        family.add(
            rank,
            [
                ("namespace", namespace),
                ("pod", pod),
                ("type", kind),
                ("state", sync.word()),
            ],
            1.0,
        );
    }
    family
}

/// That a proxy is connected to nobody is known once every istiod has been asked.
fn connected(fleet: &Fleet, mesh: &Mesh) -> Family {
    let mut family = Family::new(
        "meshladder_proxy_connected",
        "Whether a proxy is connected to an istiod",
    );
    let istiods = mesh.istiods(None);
    let all_asked = !fleet.istiods.is_empty()
        && istiods
            .iter()
            .filter(|pod| is_ready(pod))
            .all(|pod| fleet.answered(&pod.id.name));
    let mut pods: BTreeMap<(&str, &str), bool> = fleet
        .streams
        .iter()
        .map(|stream| ((stream.namespace.as_str(), stream.pod.as_str()), true))
        .collect();
    if all_asked {
        for pod in mesh.pods.iter().filter(|pod| pod.has_proxy && pod.running) {
            pods.entry((&pod.namespace, &pod.name)).or_insert(false);
        }
    }
    for ((namespace, pod), is_connected) in pods {
        let value = u8::from(is_connected);
        family.add(
            value,
            [("namespace", namespace), ("pod", pod)],
            f64::from(value),
        );
    }
    family
}

impl ProxyFamilies {
    fn visit(&mut self, proxy: &Proxy<'_>, mesh: &Mesh, known: Option<&BTreeSet<IpAddr>>) {
        let ProxyRef { namespace, pod, .. } = &proxy.docs.id;
        let labels = [("namespace", namespace.as_str()), ("pod", pod.as_str())];
        let [namespace, pod] = labels;
        for (level, count) in levels(proxy) {
            let rank = u8::from(!["debug", "trace"].contains(&level.as_str()));
            self.loggers
                .add(rank, [namespace, pod, ("level", &level)], f64::from(count));
        }
        if let Some(text) = proxy
            .docs
            .clusters
            .as_ref()
            .and_then(|doc| clusters::as_json(&doc.text).ok())
            && let Ok(clusters) = ClusterStatuses::read(&text)
        {
            let ejected = clusters.hosts.iter().filter(|host| host.ejected()).count();
            self.ejected.count(labels, ejected);
            if let Some(known) = known.filter(|_| is_of_one_cluster(proxy)) {
                self.ghosts
                    .count(labels, ghosts(&clusters, mesh, known).len());
            }
        }
        let Some(dump) = &proxy.dump else { return };
        let rejected = dump
            .resources
            .iter()
            .filter(|resource| resource.error.is_some())
            .count();
        self.rejected.count(labels, rejected);
        for (name, certificate) in secret::soonest(dump) {
            let labels = [namespace, pod, ("name", name.as_str())];
            self.not_after
                .add(0, labels, seconds(certificate.not_after));
            self.not_before
                .add(0, labels, seconds(certificate.not_before));
        }
    }
}

/// How many loggers are at each level.
fn levels(proxy: &Proxy<'_>) -> BTreeMap<String, u32> {
    let mut levels = BTreeMap::new();
    let text = proxy
        .docs
        .logging
        .as_ref()
        .map_or("", |doc| doc.text.as_str());
    for (_, level) in text.lines().filter_map(|line| line.trim().split_once(": ")) {
        *levels.entry(level.to_owned()).or_insert(0) += 1;
    }
    levels
}

/// The addresses that Kubernetes has; none when that cannot be told.
fn known_addresses(snapshot: &Snapshot, mesh: &Mesh) -> Option<BTreeSet<IpAddr>> {
    let is_whole = |kind: &Kind| snapshot.coverage(&Need::Objects(*kind)) == Coverage::Complete;
    let needed = [Kind::EndpointSlice, Kind::Pod, Kind::Service];
    if !needed.iter().all(is_whole) {
        return None;
    }
    let listed = mesh
        .objects
        .of_kind(Kind::EndpointSlice)
        .iter()
        .flat_map(|slice| {
            let endpoints = slice.node.get("endpoints").map_or(&[][..], Node::items);
            endpoints
                .iter()
                .flat_map(|endpoint| endpoint.get("addresses").map_or(&[][..], Node::items))
        });
    let listed = listed.filter_map(|address| address.str()?.parse().ok());
    Some(
        listed
            .chain(mesh.pods.iter().flat_map(|pod| pod.ips.iter().copied()))
            .collect(),
    )
}

/// Whether all endpoints of a proxy are of one cluster: istiod writes
/// `workload;namespace;name;revision;cluster` at each. Those of other clusters are not in this
/// one's objects.
fn is_of_one_cluster(proxy: &Proxy<'_>) -> bool {
    let entries = proxy
        .dump
        .iter()
        .flat_map(|dump| dump.of(Section::Endpoints))
        .filter_map(|entry| entry.raw);
    let endpoints = entries
        .flat_map(|entry| entry.list("endpoints"))
        .flat_map(|group| group.list("lb_endpoints"));
    let mut clusters = BTreeSet::new();
    for workload in endpoints.filter_map(|e| {
        e.at(["metadata", "filter_metadata", "istio", "workload"])?
            .string()
    }) {
        clusters.extend(workload.rsplit(';').next().map(str::to_owned));
    }
    clusters.len() == 1
}

/// Endpoints of Services of this cluster that neither a pod nor an EndpointSlice has.
fn ghosts(
    clusters: &ClusterStatuses<'_>,
    mesh: &Mesh,
    known: &BTreeSet<IpAddr>,
) -> BTreeSet<IpAddr> {
    let mut gone = BTreeSet::new();
    for host in &clusters.hosts {
        let Some(name) = ClusterName::parse(clusters.name(host)) else {
            continue;
        };
        let Ok(address) = host.address.host().parse::<IpAddr>() else {
            continue;
        };
        let is_suspect = name.direction == "outbound" && !known.contains(&address);
        if is_suspect && mesh.service_of_host(name.host).is_some_and(has_pods) {
            gone.insert(address);
        }
    }
    gone
}

/// Endpoints of a Service without a selector are whatever its owner says.
fn has_pods(service: &meshladder_mesh::Object) -> bool {
    service
        .spec_at(["selector"])
        .is_some_and(|selector| !selector.members().is_empty())
}
