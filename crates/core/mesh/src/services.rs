//! Services: their ports, pods and endpoints, and who owns a host's name.

use super::host::{self, covers};
use super::policies::age;
use super::scope::Scope;
use super::{Mesh, Object, ObjectRef};
use crate::views::{EndpointSlice, Pod, Service};
use meshladder_capture::Kind;
use meshladder_text::tree::{Node, Value};

mod protocol;

pub use crate::views::service::ServicePort;
pub use protocol::Protocol;

/// One endpoint of a Service, from an EndpointSlice.
#[derive(Clone, Copy, Debug)]
pub struct Endpoint<'m> {
    /// The EndpointSlice.
    pub slice: &'m Object,
    /// The endpoint in it.
    pub node: &'m Node,
    /// Its address.
    pub address: &'m str,
    /// Whether traffic may go there.
    pub is_ready: bool,
    /// The pod behind it.
    pub pod: Option<&'m Object>,
}

impl Mesh {
    /// The Service of that name.
    pub fn service(&self, namespace: &str, name: &str) -> Option<&Object> {
        self.objects.get(Kind::Service, namespace, name)
    }

    /// The Service with this full name.
    pub fn service_of_host(&self, host: &str) -> Option<&Object> {
        let (name, namespace) = self.domain.service_name(host)?;
        self.service(namespace, name)
    }

    /// The pods a Service selects, ready or not, in whatever phase. One without a selector selects
    /// nothing.
    pub fn selected_pods<'m>(&'m self, service: &'m Object) -> Vec<&'m Object> {
        let selector = Service::of(service).selector();
        let pods = selector.map(|selector| self.pods_with(Some(&service.id.namespace), selector));
        pods.into_iter().flatten().collect()
    }

    /// The Services that select a pod.
    pub fn services_of(&self, pod: &Object) -> Vec<&Object> {
        self.services_selecting(&pod.id.namespace, pod.labels())
    }

    /// The EndpointSlices of a Service.
    pub fn endpoint_slices<'m>(
        &'m self,
        service: &Object,
    ) -> impl Iterator<Item = &'m Object> + use<'m> {
        let slices = self.objects.of_kind(Kind::EndpointSlice);
        self.index
            .slices(&service.id.namespace, &service.id.name)
            .iter()
            .map(move |&position| &slices[position])
    }

    /// The endpoints of a Service.
    pub fn endpoints(&self, service: &Object) -> Vec<Endpoint<'_>> {
        let mut found = Vec::new();
        for slice in self.endpoint_slices(service) {
            for endpoint in EndpointSlice::of(slice).endpoints() {
                let pod = endpoint
                    .pod_name()
                    .and_then(|name| self.objects.get(Kind::Pod, &slice.id.namespace, name));
                found.extend(endpoint.addresses().map(|address| Endpoint {
                    slice,
                    node: endpoint.node,
                    address: address.value,
                    is_ready: endpoint.is_ready(),
                    pod,
                }));
            }
        }
        found
    }

    /// The Deployment, StatefulSet, DaemonSet, … that made a pod.
    pub fn workload_of(&self, pod: &Object) -> Option<&Object> {
        let (kind, name) = controller(&pod.node)?;
        let here = |kind, name| {
            self.objects
                .find(&ObjectRef::new(kind, &pod.id.namespace, name))
        };
        let direct = here(kind, name);
        let above = direct.and_then(|direct| controller(&direct.node));
        let above = above.and_then(|(kind, name)| here(kind, name));
        above.or(direct).or_else(|| {
            let (kind, name) = self
                .pod(&pod.id.namespace, &pod.id.name)?
                .owner
                .split_once('/')?;
            here(kind, name)
        })
    }

    /// The object that made another one, when it is here.
    pub fn maker_of(&self, object: &Object) -> Option<&Object> {
        let (kind, name) = controller(&object.node)?;
        self.objects
            .find(&ObjectRef::new(kind, &object.id.namespace, name))
    }

    /// The Services and ServiceEntries that a proxy knows under a host, the one whose endpoints it
    /// uses first: its own namespace's, else the Kubernetes Service, else the oldest. When none has
    /// the name, those with the most specific wildcard.
    pub fn registry<'m>(&'m self, scope: Scope<'_>, host: &str) -> Vec<&'m Object> {
        let mut known: Vec<_> = self
            .registered(host)
            .filter(|object| self.is_known(scope, object, host))
            .collect();
        let width = |object: &Object| host::specificity(entry_host(object, host));
        if let Some(best) = known.iter().map(|object| width(object)).min() {
            known.retain(|object| width(object) == best);
        }
        known.sort_by_key(|object| {
            (
                object.id.namespace != scope.namespace,
                !object.id.is(Kind::Service),
                age(&object.node),
            )
        });
        known
    }

    /// The Services and ServiceEntries for a host, seen or not.
    pub fn registered<'m>(&'m self, host: &str) -> impl Iterator<Item = &'m Object> + use<'m> {
        let entries = self.objects.of_kind(Kind::ServiceEntry);
        let positions = self.index.service_entries.covering(host);
        self.service_of_host(host).into_iter().chain(
            positions
                .into_iter()
                .map(move |position| &entries[position]),
        )
    }

    fn is_known(&self, scope: Scope<'_>, object: &Object, host: &str) -> bool {
        self.is_exported_to(object, scope.namespace)
            && scope.imports(&object.id.namespace, host).holds
    }
}

/// The ports of a Service.
pub fn ports(service: &Object) -> impl Iterator<Item = ServicePort<'_>> {
    Service::of(service).ports()
}

/// The number of the container's port that a Service's port leads to in a pod; none when its name
/// is in no container.
pub fn target_port(port: &ServicePort<'_>, pod: &Object) -> Option<u16> {
    port.target_in(pod)
}

/// A port's number.
pub fn number(node: &Node) -> Option<u16> {
    match &node.value {
        Value::Number(text) | Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// Whether a pod's `Ready` condition holds.
pub fn is_ready(pod: &Object) -> bool {
    Pod::of(pod).is_ready()
}

fn controller(object: &Node) -> Option<(&str, &str)> {
    let owners = object.at(["metadata", "ownerReferences"])?.items();
    let is_controller = |owner: &&Node| {
        owner
            .get("controller")
            .is_some_and(|c| c.value == Value::Bool(true))
    };
    let owner = owners.iter().find(is_controller).or(owners.first())?;
    Some((owner.str_at("kind")?, owner.str_at("name")?))
}

/// The most specific of an entry's hosts that covers a host; a Service's only name is the host
/// itself.
fn entry_host<'m>(object: &'m Object, host: &'m str) -> &'m str {
    let hosts = object
        .spec_strings("hosts")
        .filter(|pattern| covers(pattern, host));
    hosts
        .min_by_key(|pattern| host::specificity(pattern))
        .unwrap_or(host)
}

#[cfg(test)]
mod tests;
