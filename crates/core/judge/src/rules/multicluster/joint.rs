//! What the rules of this family share: pairs of clusters, and what one knows of the other.

use crate::finding::Evidence;
use crate::rules::Crossing;
use meshladder_capture::Kind;
use meshladder_capture::istiod::clusterz::{self, WatchedCluster};
use meshladder_capture::istiod::networkz::{self, KnownGateway};
use meshladder_capture::snapshot::{DocId, Shape};
use meshladder_mesh::networks::NetworkGateway;
use meshladder_mesh::views::gateway::Server;
use meshladder_mesh::views::{ConfigMap, EndpointSlice, Gateway, Service};
use meshladder_mesh::{Cluster, Object};
use meshladder_text::tree::Node;

/// A cluster, and another whose pods its callers need.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub(super) from: &'a Cluster,
    pub(super) to: &'a Cluster,
    /// The Service that is called, as the other cluster has it; none without a request.
    pub(super) service: Option<Service<'a>>,
    /// The calling pod.
    pub(super) client: Option<&'a Object>,
}

/// The pairs to look at: of a request, its cluster and each that it may go to; without one, all
/// that belong to one mesh.
pub(super) fn pairs<'a>(crossing: &Crossing<'a>) -> Vec<Pair<'a>> {
    let mut pairs = Vec::new();
    if let Some(request) = &crossing.request {
        for to in crossing.clusters.others(request.home) {
            let served = request
                .service_in(to)
                .filter(|service| !to.mesh.running_pods_of(*service).is_empty());
            if served.is_some() && request.may_reach(to) {
                pairs.push(Pair {
                    from: request.home,
                    to,
                    service: served,
                    client: request.client(),
                });
            }
        }
        return pairs;
    }
    for from in crossing.clusters {
        for to in crossing.clusters.others(from) {
            if are_one_mesh(from, to) {
                pairs.push(Pair {
                    from,
                    to,
                    service: None,
                    client: None,
                });
            }
        }
    }
    pairs
}

/// Of a request that finds no endpoint, the pairs with the Service that it is for.
pub(super) fn starved_pairs<'a>(crossing: &Crossing<'a>) -> Vec<(Pair<'a>, Service<'a>)> {
    let is_starved = crossing.request.is_some_and(|request| request.is_starved());
    let pairs = pairs(crossing).into_iter().filter(|_| is_starved);
    pairs
        .filter_map(|pair| Some((pair, pair.service?)))
        .collect()
}

impl<'a> Pair<'a> {
    /// The network that callers are in.
    pub(super) fn callers_network(&self) -> Option<&'a str> {
        match self.client {
            Some(pod) => self.from.mesh.network_of(pod),
            None => self.from.mesh.network(),
        }
    }

    /// The pods that are called.
    pub(super) fn servers(&self) -> Vec<&'a Object> {
        match self.service {
            Some(service) => self.to.mesh.running_pods_of(service),
            None => Vec::new(),
        }
    }

    /// The network that the called pods are in.
    pub(super) fn servers_network(&self) -> Option<&'a str> {
        match self.servers().first() {
            Some(pod) => self.to.mesh.network_of(pod),
            None => self.to.mesh.network(),
        }
    }

    /// The network behind the other's gateway, when it is another one.
    pub(super) fn crossed_network(&self) -> Option<&'a str> {
        let (own, other) = (self.callers_network()?, self.servers_network()?);
        (own != other).then_some(other)
    }

    /// The gateways of that network that istiod can use.
    pub(super) fn gateways(&self) -> Vec<NetworkGateway<'a>> {
        let Some(network) = self.crossed_network() else {
            return Vec::new();
        };
        let mut gateways = self.to.mesh.network_gateways();
        gateways.retain(|gateway| {
            gateway.network == network && gateway.has_address() && gateway.service_port().is_some()
        });
        gateways
    }

    /// The pods behind those gateways, each with the port that connections come to.
    pub(super) fn gateway_pods(&self) -> Vec<(&'a Object, u16)> {
        let mut pods = Vec::new();
        for gateway in self.gateways() {
            let Some(port) = gateway.service_port() else {
                continue;
            };
            for pod in self.to.mesh.running_pods_of(gateway.service) {
                pods.extend(port.target_in(pod).map(|target| (pod, target)));
            }
        }
        pods
    }
}

/// Whether a Gateway's server passes connections on by their SNI.
pub(super) fn passes_by_sni(server: &Server<'_>) -> bool {
    server.tls_mode == Some("AUTO_PASSTHROUGH")
}

/// The Gateways of a cluster that have a server which passes connections on by their SNI.
pub(super) fn passing_gateways(cluster: &Cluster) -> Vec<Gateway<'_>> {
    Gateway::all(&cluster.mesh.objects)
        .filter(|gateway| gateway.servers().any(|server| passes_by_sni(&server)))
        .collect()
}

/// A document of a cluster, read.
pub(super) fn told<T>(
    cluster: &Cluster,
    file: &str,
    read: impl Fn(&str) -> Option<Vec<T>>,
) -> Option<(DocId, Vec<T>)> {
    let mut ids = cluster
        .snapshot
        .ids()
        .filter(|id| id.shape() == Shape::IstiodDebug && id.as_str().ends_with(file));
    ids.find_map(|id| {
        let document = cluster.snapshot.open(id).ok()?;
        Some((id.clone(), read(&document.text)?))
    })
}

/// The clusters that the istiod of a cluster watches; none when it did not say.
pub(super) fn watched(cluster: &Cluster) -> Option<(DocId, Vec<WatchedCluster>)> {
    told(cluster, "/clusterz.json", |text| clusterz::read(text).ok())
}

/// The gateways of networks that the istiod of a cluster knows; none when it did not say.
pub(super) fn known_gateways(cluster: &Cluster) -> Option<(DocId, Vec<KnownGateway>)> {
    told(cluster, "/networkz.json", |text| networkz::read(text).ok())
}

/// Whether an istiod runs in a cluster: a remote one has none, and watches nobody.
pub(super) fn has_istiod(cluster: &Cluster) -> bool {
    !cluster.mesh.istiods(None).is_empty() || watched(cluster).is_some()
}

/// A Secret by which an istiod reads another cluster, or that looks like one.
pub(super) struct RemoteSecret<'a> {
    pub(super) object: &'a Object,
    /// The ids of the clusters whose kubeconfigs it holds.
    pub(super) ids: Vec<&'a str>,
    /// Whether it has the label by which istiod finds it.
    pub(super) is_labelled: bool,
}

/// The remote secrets of a cluster, in any namespace.
pub(super) fn remote_secrets(cluster: &Cluster) -> Vec<RemoteSecret<'_>> {
    let mut found = Vec::new();
    for object in cluster.mesh.objects.of_kind(Kind::Secret) {
        let is_labelled = object.label("istio/multiCluster") == Some("true");
        let annotated = object.annotation("networking.istio.io/cluster");
        let by_name = object.id.name.strip_prefix("istio-remote-secret-");
        if !is_labelled && annotated.is_none() && by_name.is_none() {
            continue;
        }
        let data = object.node.get("data").map_or(&[][..], Node::members);
        let mut ids: Vec<&str> = data.iter().map(|member| &*member.key).collect();
        if ids.is_empty() {
            ids.extend(annotated.or(by_name));
        }
        found.push(RemoteSecret {
            object,
            ids,
            is_labelled,
        });
    }
    found
}

/// Whether one of them watches the other, or both say that they are of one mesh.
fn are_one_mesh(one: &Cluster, other: &Cluster) -> bool {
    let knows = |from: &Cluster, to: &Cluster| match watched(from) {
        Some((_, clusters)) => clusters.iter().any(|known| known.id == to.id),
        None => remote_secrets(from)
            .iter()
            .any(|secret| secret.ids.contains(&to.id.as_str())),
    };
    let mesh_id = |cluster: &Cluster| {
        let config = cluster.mesh.config.tree.as_ref()?;
        let id = config.at(["defaultConfig", "meshId"])?.str()?.to_owned();
        (!id.is_empty()).then_some(id)
    };
    knows(one, other)
        || knows(other, one)
        || mesh_id(one).is_some_and(|id| mesh_id(other) == Some(id))
}

/// The addresses of a cluster's API server, as its own Service `kubernetes` leads there.
pub(super) fn api_servers(cluster: &Cluster) -> Vec<(&str, u16)> {
    let mut servers = Vec::new();
    for slice in EndpointSlice::in_namespace(&cluster.mesh.objects, "default") {
        if slice.object.label("kubernetes.io/service-name") != Some("kubernetes") {
            continue;
        }
        let node = &slice.object.node;
        let port = node.items_at("ports").first();
        let port = port.and_then(|port| port.get("port"));
        let port = port.and_then(meshladder_mesh::services::number);
        for endpoint in node.items_at("endpoints") {
            let addresses = endpoint.items_at("addresses").iter();
            let addresses = addresses.filter_map(Node::str);
            servers.extend(addresses.map(|address| (address, port.unwrap_or(443))));
        }
    }
    servers
}

/// A ConfigMap's value, and the object.
pub(super) fn config_value<'a>(
    cluster: &'a Cluster,
    name: &str,
    key: &str,
) -> Option<(&'a Object, &'a Node)> {
    let namespace = &cluster.mesh.config.root_namespace;
    let map = ConfigMap::get(&cluster.mesh.objects, namespace, name)?;
    Some((map.object, map.data(key)?.node))
}

/// A proof that stands in a document of a cluster.
pub(super) fn of(cluster: &Cluster, mut evidence: Evidence) -> Evidence {
    evidence.doc = cluster.whole_id(&evidence.doc);
    evidence
}

/// The document that would hold a kind of object: its absence there is the proof.
pub(super) fn list_of(cluster: &Cluster, kind: Kind, shows: impl Into<String>) -> Evidence {
    of(cluster, Evidence::document(&DocId::new(kind.path()), shows))
}
