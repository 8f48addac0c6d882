//! `VirtualService`: those that route a client's calls to a host, and for one of them, step by
//! step, why or why not.

use super::export::{Export, export_node};
use super::host::{covers, specificity};
use super::policies::age;
use super::scope::Scope;
use super::{Domain, Mesh, Object};
use crate::views::VirtualService;
use crate::views::virtual_service::{self, Route};
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

mod steps;

pub use steps::{Step, StepKind};

/// A place that a route leads to.
#[derive(Clone, Debug)]
pub struct Destination<'m> {
    /// The destination, as written.
    pub node: &'m Node,
    /// The full name of its host.
    pub host: String,
    /// `subset`
    pub subset: Option<&'m str>,
    /// `port.number`
    pub port: Option<u16>,
}

/// A route that leaves its rules to another VirtualService.
#[derive(Clone, Debug)]
pub struct Delegate<'m> {
    /// `delegate`, as written.
    pub node: &'m Node,
    /// Namespace and name of the other.
    pub name: (&'m str, &'m str),
    /// The other, when it is there.
    pub target: Option<&'m Object>,
    /// Whether istiod takes it: it is exported to the root's namespace, and has no hosts of its
    /// own.
    pub is_usable: bool,
}

impl Mesh {
    /// The VirtualServices that could route a sidecar's calls to a host, the one that does first:
    /// "the most specific host", then those private to the client's namespace, then those exported
    /// to it by name, then public ones; the oldest of each.
    pub fn virtual_services<'m>(&'m self, client: Scope<'_>, host: &str) -> Vec<&'m Object> {
        let services = self.objects.of_kind(Kind::VirtualService);
        let found = self
            .calls
            .virtual_services(client, host, || self.find_virtual_services(client, host));
        found.iter().map(|position| &services[*position]).collect()
    }

    fn find_virtual_services(&self, client: Scope<'_>, host: &str) -> Vec<usize> {
        let services = self.objects.of_kind(Kind::VirtualService);
        let is_used = |position: &usize| {
            let service = &services[*position];
            self.is_exported_to(service, client.namespace)
                && binds_mesh(service)
                && is_imported(service, client, &self.domain)
        };
        let covering = self.index.virtual_services.covering(host);
        let mut found: Vec<usize> = covering.into_iter().filter(is_used).collect();
        found.sort_by_cached_key(|position| {
            let service = &services[*position];
            let pattern = host_for(service, host, &self.domain).map(|(_, full)| specificity(&full));
            (
                pattern,
                self.export_rank(service, client),
                age(&service.node),
            )
        });
        found
    }

    /// The VirtualServices with a host that covers this one, seen or not.
    pub fn virtual_services_of<'m>(
        &'m self,
        host: &str,
    ) -> impl Iterator<Item = &'m Object> + use<'m> {
        let services = self.objects.of_kind(Kind::VirtualService);
        self.index
            .virtual_services
            .covering(host)
            .into_iter()
            .map(move |position| &services[position])
    }

    /// What names its own namespace, by `.` or in a list of others, is private there.
    fn export_rank(&self, service: &Object, client: Scope<'_>) -> u8 {
        match self.export(service) {
            Export::Everywhere => 2,
            _ if service.id.namespace == client.namespace => 0,
            _ => 1,
        }
    }

    /// The VirtualServices that a root VirtualService's routes are left to.
    pub fn delegates<'m>(&'m self, root: &'m Object) -> Vec<Delegate<'m>> {
        let routes = VirtualService::of(root).http_routes();
        routes
            .filter_map(Route::delegate)
            .filter_map(|node| {
                // "If it is same with the root's, it can be omitted."
                let namespace = node
                    .str_at("namespace")
                    .filter(|ns| !ns.is_empty())
                    .unwrap_or(&root.id.namespace);
                let name = node.str_at("name")?;
                let target = self.objects.get(Kind::VirtualService, namespace, name);
                let is_usable = target.is_some_and(|target| {
                    self.is_exported_to(target, &root.id.namespace)
                        && target.spec_list("hosts").is_empty()
                });
                Some(Delegate {
                    node,
                    name: (namespace, name),
                    target,
                    is_usable,
                })
            })
            .collect()
    }
}

/// The routes of a VirtualService, of every protocol.
pub fn routes(service: &Object) -> impl Iterator<Item = &Node> {
    VirtualService::of(service).routes().map(|route| route.node)
}

/// Every place that the routes of a VirtualService lead to, mirrors too.
pub fn destinations<'m>(service: &'m Object, domain: &Domain) -> Vec<Destination<'m>> {
    let service = VirtualService::of(service);
    let full = |destination: virtual_service::Destination<'m>| Destination {
        node: destination.node,
        host: destination
            .full_host(service.namespace(), domain)
            .into_owned(),
        subset: destination.subset().map(|subset| subset.value),
        port: destination.port().map(|port| port.value),
    };
    service.destinations().map(full).collect()
}

/// Whether a VirtualService is for sidecars.
pub fn binds_mesh(service: &Object) -> bool {
    VirtualService::of(service).binds_mesh()
}

/// The hosts of a VirtualService, each with its full name.
pub fn hosts<'m>(service: &'m Object, domain: &Domain) -> impl Iterator<Item = (&'m Node, String)> {
    VirtualService::of(service).full_hosts(domain)
}

/// The most specific host of a VirtualService that covers a host.
fn host_for<'m>(service: &'m Object, host: &str, domain: &Domain) -> Option<(&'m Node, String)> {
    hosts(service, domain)
        .filter(|(_, full)| covers(full, host))
        .min_by_key(|(_, full)| specificity(full))
}

/// One imported host is enough for all of a VirtualService.
fn is_imported(service: &Object, client: Scope<'_>, domain: &Domain) -> bool {
    hosts(service, domain).any(|(_, full)| client.imports(&service.id.namespace, &full).holds)
}

#[cfg(test)]
mod tests;
