//! The index: what objects say of pods, services and hosts, built once per Snapshot and shared by
//! every question.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use meshladder_capture::Kind;
use meshladder_capture::object;
use meshladder_capture::snapshot::{Problem, Snapshot};
use meshladder_text::name::Name;
use meshladder_text::tree::{Node, Value};

pub mod ambient;
mod cache;
mod change;
mod clusters;
pub mod config;
pub mod destination_rule;
mod domain;
pub mod export;
mod files;
pub mod gateways;
pub mod host;
pub mod hosts;
mod index;
pub mod injection;
pub mod labels;
mod lazy;
mod namespaces;
pub mod network_policy;
pub mod networks;
pub mod objects;
pub mod peer_authentication;
pub mod policies;
pub mod probe;
pub mod references;
pub mod schema;
pub mod scope;
pub mod selector;
pub mod services;
pub mod target;
pub mod traffic;
pub mod views;

pub use change::{Change, Op, Patch};
pub use clusters::{Cluster, Clusters};
pub use config::{MeshConfig, MeshNetworks};
pub use domain::Domain;
pub use files::MeshOverrides;
use index::Index;
pub use lazy::Lazy;
pub use objects::{Object, ObjectRef, Objects};
pub use views::pod::ips;
use views::{Pod, Service, ServiceEntry};

/// See the module.
#[derive(Debug, Default)]
pub struct Mesh {
    /// Every object, with its place.
    pub objects: Objects,
    /// `MeshConfig`, of the default revision when there are several.
    pub config: MeshConfig,
    /// In which Services have their full names.
    pub domain: Domain,
    /// Every pod.
    pub pods: Lazy<PodFacts>,
    /// Every Service.
    pub services: Lazy<ServiceFacts>,
    /// Every ServiceEntry.
    pub service_entries: Arc<[ServiceEntryFacts]>,
    /// The objects of other clusters, by cluster, where they are known.
    pub clusters: Arc<BTreeMap<String, Objects>>,
    /// Objects that could not be read.
    pub problems: Vec<Problem>,
    index: Arc<Index>,
    calls: cache::CallCache,
}

/// What the questions ask of a pod.
#[derive(Clone, Debug)]
pub struct PodFacts {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// `status.podIPs`; the first one is the pod's main address.
    pub ips: Vec<IpAddr>,
    /// Labels.
    pub labels: Labels,
    /// The service account it runs as.
    pub service_account: String,
    /// Whether a proxy runs in it.
    pub has_proxy: bool,
    /// The workload it was made by, such as `Deployment/cart`, without the ReplicaSet between.
    pub owner: String,
    /// Whether it is running.
    pub running: bool,
}

/// What the questions ask of a Service.
#[derive(Clone, Debug)]
pub struct ServiceFacts {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Cluster IPs; none for a headless Service.
    pub cluster_ips: Vec<IpAddr>,
    /// `spec.type`
    pub kind: String,
    /// `spec.externalName`
    pub external_name: String,
    /// Its selector.
    pub selector: Labels,
    /// Port number and target port, as written.
    pub ports: Vec<(u16, String)>,
}

/// What the questions ask of a ServiceEntry.
#[derive(Clone, Debug)]
pub struct ServiceEntryFacts {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Hosts.
    pub hosts: Vec<String>,
    /// Addresses: its own, else those that istiod allocated.
    pub addresses: Vec<IpAddr>,
}

/// The labels of a pod, or those a Service selects by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(Box<[(Name, Arc<str>)]>);

impl Labels {
    /// A label's value.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(own, _)| **own == *key)
            .map(|(_, value)| &**value)
    }

    /// All of them, in the order of the object.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl PodFacts {
    /// Its identity.
    pub fn reference(&self) -> ObjectRef {
        ObjectRef::of(Kind::Pod, &self.namespace, &self.name)
    }

    /// The object to change when the pod is at fault: the workload that made it, else the pod
    /// itself.
    pub fn workload(&self) -> ObjectRef {
        match self.owner.split_once('/') {
            Some((kind, name)) => ObjectRef::new(kind, &self.namespace, name),
            None => self.reference(),
        }
    }
}

impl Mesh {
    /// Reads all objects once.
    pub fn build(snapshot: &Snapshot) -> Self {
        let mut objects = Objects::default();
        let problems = object::take_all(snapshot, 1, |doc, taken| objects.take(doc, taken));
        Self::of(objects, problems, snapshot)
    }

    fn of(mut objects: Objects, problems: Vec<Problem>, snapshot: &Snapshot) -> Self {
        objects.sort();
        let domain = Domain::find(&objects, snapshot);
        let index = Arc::new(Index::of(&objects, &domain));
        let config = MeshConfig::find(&objects, snapshot);
        let (pods, services) = (Lazy::of(&objects, pods), Lazy::of(&objects, services));
        let service_entries = service_entries(&objects);
        let clusters = Arc::default();
        Self {
            objects,
            config,
            domain,
            pods,
            services,
            service_entries,
            clusters,
            problems,
            index,
            calls: cache::CallCache::default(),
        }
    }

    /// The mesh as it would be after a change; what the change does not touch is shared.
    #[must_use]
    pub fn with(&self, change: &Change) -> Self {
        self.with_all(&[change])
    }

    /// The mesh as it would be after several changes.
    #[must_use]
    pub fn with_all(&self, changes: &[&Change]) -> Self {
        let mut objects = self.objects.clone();
        objects.change(changes);
        let touches = |kinds: &[Kind]| changes.iter().any(|change| change.object.is_any(kinds));
        let config = if touches(&[Kind::ConfigMap]) {
            MeshConfig::of_objects(&objects, &self.config)
        } else {
            self.config.clone()
        };
        let pods = if touches(&[Kind::Pod]) {
            Lazy::of(&objects, pods)
        } else {
            self.pods.clone()
        };
        let services = if touches(&[Kind::Service]) {
            Lazy::of(&objects, services)
        } else {
            self.services.clone()
        };
        let service_entries = if touches(&[Kind::ServiceEntry]) {
            service_entries(&objects)
        } else {
            Arc::clone(&self.service_entries)
        };
        let domain = self.domain.clone();
        let index = if touches(&Index::KINDS) {
            Arc::new(Index::of(&objects, &domain))
        } else {
            Arc::clone(&self.index)
        };
        let clusters = Arc::clone(&self.clusters);
        Self {
            objects,
            config,
            domain,
            pods,
            services,
            service_entries,
            clusters,
            problems: Vec::new(),
            index,
            calls: cache::CallCache::default(),
        }
    }

    /// Whether an object has a say in a pod's proxy, as far as namespaces and selectors tell.
    pub fn reaches(&self, object: &ObjectRef, pod: &ObjectRef) -> bool {
        let Some(stored) = self.objects.find(object) else {
            return false;
        };
        let exported = || {
            let mut to = stored.spec_strings("exportTo").peekable();
            to.peek().is_none()
                || to.any(|to| {
                    to == "*"
                        || to == pod.namespace
                        || (to == "." && stored.id.namespace == pod.namespace)
                })
        };
        match stored.kind() {
            Some(
                Kind::VirtualService | Kind::DestinationRule | Kind::ServiceEntry | Kind::Service,
            ) => exported(),
            Some(Kind::Gateway | Kind::K8sGateway) => true,
            _ => object.namespace == pod.namespace,
        }
    }

    /// The running pod that has this address.
    pub fn pod_at(&self, address: IpAddr) -> Option<&PodFacts> {
        self.index
            .running_at
            .get(&address)
            .map(|&position| &self.pods[position])
    }

    /// The pod of that name.
    pub fn pod(&self, namespace: &str, name: &str) -> Option<&PodFacts> {
        let pods = self.pods_in(namespace);
        let at = pods.partition_point(|pod| pod.name.as_str() < name);
        pods.get(at).filter(|pod| pod.name == name)
    }

    /// The pods of a namespace, by name.
    fn pods_in(&self, namespace: &str) -> &[PodFacts] {
        let start = self
            .pods
            .partition_point(|pod| pod.namespace.as_str() < namespace);
        let end = self
            .pods
            .partition_point(|pod| pod.namespace.as_str() <= namespace);
        &self.pods[start..end]
    }

    /// Running pods that a Service selects.
    pub fn pods_of<'m>(&'m self, service: &'m ServiceFacts) -> impl Iterator<Item = &'m PodFacts> {
        let selected = |pod: &&PodFacts| {
            pod.running
                && !service.selector.is_empty()
                && service
                    .selector
                    .iter()
                    .all(|(key, value)| pod.labels.get(key) == Some(value))
        };
        self.pods_in(&service.namespace).iter().filter(selected)
    }
}

/// Objects are sorted by namespace and name, so these are too.
fn pods(objects: &Objects) -> Vec<PodFacts> {
    objects
        .of_kind(Kind::Pod)
        .iter()
        .map(|object| pod(Pod::of(object)))
        .collect()
}

fn services(objects: &Objects) -> Vec<ServiceFacts> {
    objects
        .of_kind(Kind::Service)
        .iter()
        .map(|object| service(Service::of(object)))
        .collect()
}

fn service_entries(objects: &Objects) -> Arc<[ServiceEntryFacts]> {
    objects
        .of_kind(Kind::ServiceEntry)
        .iter()
        .map(|object| service_entry(ServiceEntry::of(object)))
        .collect()
}

fn pod(pod: Pod<'_>) -> PodFacts {
    PodFacts {
        namespace: pod.namespace().to_owned(),
        name: pod.name().to_owned(),
        ips: pod.ips(),
        labels: strings(pod.object.labels()),
        service_account: pod.service_account().to_owned(),
        has_proxy: pod.has_proxy(),
        owner: owner(pod.object),
        running: pod.is_running(),
    }
}

/// The Deployment behind a ReplicaSet is told by the hash that ends the ReplicaSet's name.
fn owner(object: &Object) -> String {
    let owners = object
        .node
        .at(["metadata", "ownerReferences"])
        .map_or(&[][..], Node::items);
    let Some(owner) = owners.first() else {
        return String::new();
    };
    let (kind, name) = (
        owner.str_at("kind").unwrap_or_default(),
        owner.str_at("name").unwrap_or_default(),
    );
    let hash = object
        .node
        .at(["metadata", "labels", "pod-template-hash"])
        .and_then(Node::str);
    match hash.and_then(|hash| name.strip_suffix(hash)?.strip_suffix('-')) {
        Some(deployment) if kind == Kind::ReplicaSet.singular() => {
            format!("Deployment/{deployment}")
        }
        _ => format!("{kind}/{name}"),
    }
}

fn service(service: Service<'_>) -> ServiceFacts {
    let at = |key| service.object.spec_at([key]);
    let ips = service.object.spec_strings("clusterIPs");
    let mut cluster_ips: Vec<IpAddr> = service
        .cluster_ip()
        .map(|ip| ip.value)
        .into_iter()
        .chain(ips)
        .filter_map(|ip| ip.parse().ok())
        .collect();
    cluster_ips.dedup();
    let text = |key| at(key).and_then(Node::str).unwrap_or_default().to_owned();
    ServiceFacts {
        namespace: service.namespace().to_owned(),
        name: service.name().to_owned(),
        cluster_ips,
        kind: text("type"),
        external_name: text("externalName"),
        selector: strings(at("selector")),
        ports: service
            .object
            .spec_list("ports")
            .iter()
            .filter_map(port)
            .collect(),
    }
}

fn port(port: &Node) -> Option<(u16, String)> {
    let number = scalar(port.get("port")?)?;
    // "By default, and for convenience, the targetPort is set to the same value as the port field."
    let target = port
        .get("targetPort")
        .and_then(scalar)
        .unwrap_or_else(|| number.clone());
    Some((number.parse().ok()?, target))
}

fn scalar(node: &Node) -> Option<String> {
    match &node.value {
        Value::Number(text) | Value::String(text) => Some(text.to_string()),
        _ => None,
    }
}

fn service_entry(entry: ServiceEntry<'_>) -> ServiceEntryFacts {
    ServiceEntryFacts {
        namespace: entry.namespace().to_owned(),
        name: entry.name().to_owned(),
        hosts: entry.hosts().map(|host| host.to_string()).collect(),
        addresses: entry.ips(),
    }
}

fn strings(object: Option<&Node>) -> Labels {
    let members = object.map_or(&[][..], Node::members).iter();
    let text = |node: &Node| {
        if let Value::String(text) = &node.value {
            Some(Arc::clone(text))
        } else {
            None
        }
    };
    Labels(
        members
            .filter_map(|m| Some((m.key.clone(), text(&m.value)?)))
            .collect(),
    )
}

/// A member that is there; `null` is the same as none in a Kubernetes object.
fn present<'m>(node: &'m Node, key: &str) -> Option<&'m Node> {
    node.get(key).filter(|value| value.value != Value::Null)
}

#[cfg(test)]
mod tests;
