//! Into another cluster: by its gateway, which tells by the SNI whom a connection is for, or, in
//! one network, straight to its pod.

use std::net::IpAddr;

use super::hop::Forward;
use super::{Call, Detail, Documents, OpenedDocuments, Walk, Walker, documents, nowhere};
use crate::trace::{Branch, End, EndKind, Hop, Trace};
use meshladder_capture::Kind;
use meshladder_mesh::views::Service;
use meshladder_mesh::{Cluster, Clusters};

/// Walks a request of a caller in one of several clusters; with it comes what was read of each
/// cluster, in their order.
pub fn trace_across(
    clusters: &Clusters,
    home: &Cluster,
    call: &Call,
    detail: Detail,
) -> (Trace, Vec<OpenedDocuments>) {
    let documents = documents_of(clusters);
    let trace = Walk::among(clusters, home, &documents).trace(call, detail);
    let opened = documents.iter().map(Documents::opened).collect();
    (trace, opened)
}

/// The documents of the proxies of each cluster, in their order.
pub fn documents_of(clusters: &Clusters) -> Vec<Documents<'_>> {
    let snapshots = clusters.iter().map(|cluster| &cluster.snapshot);
    snapshots.map(Documents::of).collect()
}

impl<'d> Walk<'d> {
    /// A walk that starts in one of several clusters.
    ///
    /// # Panics
    /// When the caller's cluster is none of them.
    pub fn among(
        clusters: &'d Clusters,
        home: &'d Cluster,
        documents: &'d [Documents<'d>],
    ) -> Self {
        let mut own = None;
        let mut beside = Vec::new();
        for (cluster, documents) in clusters.iter().zip(documents) {
            let walk = Walk::new(documents, &cluster.mesh);
            if cluster.name == home.name {
                own = Some(walk);
            } else {
                beside.push((cluster.name.as_str(), walk));
            }
        }
        let own = own.expect("the caller's cluster is one of them");
        Self {
            name: Some(&home.name),
            beside,
            ..own
        }
    }
}

/// Calls the documents of a walk as the whole Snapshot does.
pub fn name_documents(trace: &mut Trace, clusters: &Clusters) {
    for hop in &mut trace.hops {
        let Some(cluster) = hop
            .in_cluster
            .as_deref()
            .and_then(|name| clusters.find(name))
        else {
            continue;
        };
        hop.proxy.source.clone_from(&cluster.source);
        for at in hop.steps.iter_mut().flat_map(|step| &mut step.evidence) {
            at.doc = cluster.whole_id(&at.doc);
        }
    }
}

impl Walker<'_, '_> {
    /// A request at an address that the caller's cluster does not have; none when nothing says that
    /// it is another cluster's.
    pub(super) fn across(
        &self,
        forward: &Forward,
        peer: Option<IpAddr>,
    ) -> Option<(Vec<Hop>, Vec<Branch>)> {
        let (address, port) = forward.destination;
        for (name, walk) in &self.walk.beside {
            let inner = self.inside(walk);
            if let Some(service) = walk.mesh.service_at_external(address) {
                return Some(within(name, inner.by_gateway(service, forward)));
            }
        }
        for (name, walk) in &self.walk.beside {
            let Some(pod) = walk.mesh.pod_at(address) else {
                continue;
            };
            let pod = walk
                .mesh
                .objects
                .get(Kind::Pod, &pod.namespace, &pod.name)?;
            let (own, other) = (self.walk.mesh.network(), walk.mesh.network_of(pod));
            if let (Some(own), Some(other)) = (own, other)
                && own != other
            {
                let because = format!(
                    "{address}:{port} is a pod of network {other}, which {own} reaches only through a gateway"
                );
                return Some(within(name, nowhere(unreachable(because))));
            }
            return Some(within(name, self.inside(walk).arrive(forward, peer)));
        }
        let id = forward.elsewhere.as_ref()?;
        let fact =
            format!("what answers at {address}:{port} in cluster {id}, which was not captured");
        Some(nowhere(End::undecided(&fact)))
    }

    /// The request goes on in another cluster.
    fn inside<'w, 'd>(&'w self, walk: &'w Walk<'d>) -> Walker<'w, 'd> {
        Walker {
            walk,
            call: self.call,
            detail: self.detail,
            now: self.now,
        }
    }

    /// A connection to the address of a Service, such as that of the east-west gateway.
    fn by_gateway(&self, service: Service<'_>, forward: &Forward) -> (Vec<Hop>, Vec<Branch>) {
        let mesh = self.walk.mesh;
        let id = service.id();
        let Some(port) = service.port(forward.destination.1) else {
            let because = format!("{id} has no port {}", forward.destination.1);
            return nowhere(unreachable(because));
        };
        let mut targets: Vec<(IpAddr, u16, usize)> = Vec::new();
        for pod in mesh.running_pods_of(service) {
            let (Some(address), Some(target)) = (
                meshladder_mesh::ips(&pod.node).first().copied(),
                port.target_in(pod),
            ) else {
                continue;
            };
            let Some(number) = self.walk.documents.find(&pod.id.namespace, &pod.id.name) else {
                let fact = documents::missing(&pod.id.namespace, &pod.id.name);
                return nowhere(End::undecided(&fact));
            };
            targets.push((address, target, number));
        }
        if targets.is_empty() {
            return nowhere(unreachable(format!("no pod runs behind {id}")));
        }
        #[expect(
            clippy::cast_precision_loss,
            reason = "a gateway has far fewer pods than a float has digits"
        )]
        let share = 1.0 / targets.len() as f64;
        let (mut hops, mut branches) = (Vec::new(), Vec::new());
        for (address, target, number) in targets {
            let (more, ends) = match self.walk.proxy(number) {
                Ok(gateway) => {
                    let mut request = forward.arrived();
                    request.connection.destination = (address, target);
                    // To those behind it, the gateway is who connects.
                    request.connection.source = Some((address, 0));
                    let (hop, ways) = gateway.gateway(&request, self.now, self.detail);
                    self.onwards(hop, ways)
                }
                Err(fact) => nowhere(End::undecided(fact)),
            };
            hops.extend(more);
            branches.extend(ends.into_iter().map(|branch| Branch {
                weight: branch.weight.map(|weight| weight * share),
                ..branch
            }));
        }
        (hops, branches)
    }
}

/// A connection that is never made.
fn unreachable(because: String) -> End {
    let details = "upstream_reset_before_response_started{connection_timeout}";
    End::new(EndKind::Reset, 503, details, because).flag("UF")
}

/// Says in which cluster it happened, where nothing said it before.
fn within(
    cluster: &str,
    (mut hops, mut branches): (Vec<Hop>, Vec<Branch>),
) -> (Vec<Hop>, Vec<Branch>) {
    for hop in &mut hops {
        hop.in_cluster.get_or_insert_with(|| cluster.to_owned());
    }
    for branch in &mut branches {
        branch
            .end
            .in_cluster
            .get_or_insert_with(|| cluster.to_owned());
    }
    (hops, branches)
}
