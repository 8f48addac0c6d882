//! Whose proxies an object is for.

use std::collections::BTreeSet;

use meshladder_capture::Kind;
use meshladder_mesh::gateways::gateway_name;
use meshladder_mesh::scope::{Scope, is_router};
use meshladder_mesh::traffic::{binds_mesh, hosts};
use meshladder_mesh::{Mesh, Object};

/// The proxies of a mesh, as far as objects tell them apart: sidecars by namespace, gateways by
/// pod.
pub(super) struct Clients<'m> {
    mesh: &'m Mesh,
    sidecars: Vec<Scope<'m>>,
    routers: Vec<&'m Object>,
}

impl<'m> Clients<'m> {
    pub(super) fn of(mesh: &'m Mesh) -> Self {
        let routers: Vec<&Object> = mesh
            .objects
            .of_kind(Kind::Pod)
            .iter()
            .filter(|pod| is_router(pod))
            .collect();
        let is_sidecar = |namespace: &str, name: &str| {
            routers
                .iter()
                .all(|router| router.id.namespace != namespace || router.id.name != name)
        };
        let pods = mesh
            .pods
            .iter()
            .filter(|pod| pod.has_proxy && is_sidecar(&pod.namespace, &pod.name));
        let namespaces: BTreeSet<&str> = pods.map(|pod| pod.namespace.as_str()).collect();
        let sidecars = namespaces
            .into_iter()
            .map(|namespace| mesh.namespace_scope(namespace))
            .collect();
        Self {
            mesh,
            sidecars,
            routers,
        }
    }

    /// The proxies that may route by a VirtualService; nobody's when it is of no use. When no pod
    /// is known, those of its own namespace stand for all.
    pub(super) fn of_virtual_service(&self, service: &'m Object) -> Vec<Scope<'m>> {
        if self.mesh.pods.is_empty() {
            return vec![self.mesh.namespace_scope(&service.id.namespace)];
        }
        if service.spec_list("hosts").is_empty() {
            return self.of_delegate(service);
        }
        let imports = |scope: &Scope<'m>| {
            hosts(service, &self.mesh.domain)
                .any(|(_, host)| scope.imports(&service.id.namespace, &host).holds)
        };
        let sees = |scope: &&Scope<'m>| {
            binds_mesh(service)
                && self.mesh.is_exported_to(service, scope.namespace)
                && imports(scope)
        };
        let sidecars = self.sidecars.iter().filter(sees).copied();
        let gateways: Vec<&Object> = service
            .spec_strings("gateways")
            .filter_map(|entry| {
                let (namespace, name) = gateway_name(entry, &service.id.namespace);
                self.mesh.gateway(namespace, name)
            })
            .collect();
        let configured = |router: &&&Object| {
            self.mesh.is_exported_to(service, &router.id.namespace)
                && gateways.iter().any(|gateway| {
                    self.mesh
                        .gateways_of(router)
                        .iter()
                        .any(|g| g.id == gateway.id)
                })
        };
        let routers: Vec<&Object> = if gateways.is_empty() {
            Vec::new()
        } else {
            self.routers.iter().filter(configured).copied().collect()
        };
        sidecars
            .chain(routers.into_iter().map(|router| self.mesh.scope(router)))
            .collect()
    }

    /// What is left to a delegate is the affair of its roots.
    fn of_delegate(&self, delegate: &'m Object) -> Vec<Scope<'m>> {
        let id = (delegate.id.namespace.as_str(), delegate.id.name.as_str());
        let all = self.mesh.objects.of_kind(Kind::VirtualService).iter();
        let roots = all.filter(|root| {
            !root.spec_list("hosts").is_empty()
                && self
                    .mesh
                    .delegates(root)
                    .iter()
                    .any(|d| d.is_usable && d.name == id)
        });
        roots
            .flat_map(|root| self.of_virtual_service(root))
            .collect()
    }

    /// The gateways' pods that can see an object.
    pub(super) fn routers_seeing(&self, object: &Object) -> Vec<&'m Object> {
        self.routers
            .iter()
            .filter(|router| self.mesh.is_exported_to(object, &router.id.namespace))
            .copied()
            .collect()
    }

    /// The namespaces with sidecars that can see an object.
    pub(super) fn sidecars_seeing(&self, object: &Object) -> Vec<Scope<'m>> {
        if self.mesh.pods.is_empty() {
            return vec![self.mesh.namespace_scope(self.namespace_of(object))];
        }
        self.sidecars
            .iter()
            .filter(|scope| self.mesh.is_exported_to(object, scope.namespace))
            .copied()
            .collect()
    }

    fn namespace_of(&self, object: &Object) -> &'m str {
        self.mesh
            .objects
            .find(&object.id)
            .map_or("", |stored| stored.id.namespace.as_str())
    }

    pub(super) fn routers(&self) -> &[&'m Object] {
        &self.routers
    }
}
