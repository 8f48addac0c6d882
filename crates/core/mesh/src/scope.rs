//! `Sidecar`: what of the mesh a proxy is told of.

use super::config::is_registry_only;
use super::host::overlaps;
use super::policies::{Workload, age, selector, selects};
use super::{Mesh, Object};
use crate::views::sidecar::Egress;
use crate::views::{Pod, Sidecar};
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

/// What one proxy imports.
#[derive(Clone, Copy, Debug)]
pub struct Scope<'m> {
    /// The proxy's namespace.
    pub namespace: &'m str,
    /// The labels of its pod.
    pub labels: Option<&'m Node>,
    /// The Sidecar that applies; without one everything is imported.
    pub sidecar: Option<&'m Object>,
}

/// Whether something is imported.
#[derive(Clone, Copy, Debug)]
pub struct Import<'m> {
    /// Whether it is.
    pub holds: bool,
    /// The Sidecar and what decided in it: the entry of `hosts` that lets it in, else its `egress`.
    pub by: Option<(&'m Object, &'m Node)>,
}

impl Mesh {
    /// What a pod's proxy imports. Sidecars are for sidecars: a gateway's proxy imports everything.
    pub fn scope<'m>(&'m self, pod: &'m Object) -> Scope<'m> {
        let sidecar = if is_router(pod) {
            None
        } else {
            self.sidecar_of(&Workload::of(pod))
        };
        Scope {
            namespace: &pod.id.namespace,
            labels: pod.labels(),
            sidecar,
        }
    }

    /// What a proxy in a namespace imports when no Sidecar selects it by its labels.
    pub fn namespace_scope<'m>(&'m self, namespace: &'m str) -> Scope<'m> {
        let workload = Workload {
            namespace,
            labels: None,
            service: None,
        };
        Scope {
            namespace,
            labels: None,
            sidecar: self.sidecar_of(&workload),
        }
    }

    /// The Sidecar that applies to a workload: one that selects it, else the namespace's, else the
    /// root namespace's; the oldest of each.
    pub fn sidecar_of(&self, workload: &Workload<'_>) -> Option<&Object> {
        let sidecars = self.objects.of_kind(Kind::Sidecar);
        let of_all = |namespace: &str| {
            let position = self.index.sidecar_of_all.get(namespace)?;
            Some(&sidecars[*position])
        };
        let pairs = workload.labels.map_or(&[][..], Node::members);
        let fits = |sidecar: &&Object| {
            selector(sidecar.spec()).is_some() && selects(sidecar.spec(), workload.labels)
        };
        let selecting = pairs
            .iter()
            .flat_map(|pair| {
                self.index
                    .sidecars
                    .in_namespace(sidecars, workload.namespace, pair)
            })
            .filter(fits)
            .min_by_key(|sidecar| age(&sidecar.node));
        selecting
            .or_else(|| of_all(workload.namespace))
            .or_else(|| of_all(&self.config.root_namespace))
    }

    /// Whether a proxy refuses what is in no registry, and the Sidecar's `mode` when that decides.
    pub fn is_registry_only<'m>(&self, scope: Scope<'m>) -> (bool, Option<(&'m Object, &'m Node)>) {
        let own = scope.sidecar.and_then(|sidecar| {
            let only = is_registry_only(sidecar.spec()?)?;
            let mode = Sidecar::of(sidecar).outbound_mode()?;
            Some((only, Some((sidecar, mode.node))))
        });
        own.unwrap_or((self.config.is_registry_only, None))
    }
}

impl<'m> Scope<'m> {
    /// Whether a host of an object or Service in `namespace` is imported, on any port.
    pub fn imports(&self, namespace: &str, host: &str) -> Import<'m> {
        let Some(sidecar) = self.sidecar else {
            return Import {
                holds: true,
                by: None,
            };
        };
        let Some(egress) = sidecar
            .spec_at(["egress"])
            .filter(|egress| !egress.items().is_empty())
        else {
            return Import {
                holds: true,
                by: None,
            };
        };
        let mut entries = Sidecar::of(sidecar).egress().flat_map(Egress::hosts);
        let taken = entries.find(|entry| self.entry_takes(entry.node, namespace, host));
        Import {
            holds: taken.is_some(),
            by: Some((sidecar, taken.map_or(egress, |entry| entry.node))),
        }
    }

    /// Whether an entry of `hosts` takes a host of a namespace: `./host`, `*/host`, `~/*`,
    /// `namespace/host`; one without a namespace means `*/host`.
    pub fn entry_takes(&self, entry: &Node, namespace: &str, host: &str) -> bool {
        let entry = entry.str().unwrap_or_default();
        let (from, pattern) = entry.split_once('/').unwrap_or(("*", entry));
        let is_from = match from {
            "*" => true,
            "." => namespace == self.namespace,
            "~" => false,
            name => name == namespace,
        };
        is_from && overlaps(pattern, host)
    }
}

/// Whether a pod is a gateway: its proxy runs as `router`.
pub fn is_router(pod: &Object) -> bool {
    Pod::of(pod).is_router()
}

#[cfg(test)]
mod tests {
    use crate::tests::mesh_of;
    use meshladder_capture::Kind;

    fn sidecar(namespace: &str, name: &str, day: u8, spec: &str) -> String {
        format!(
            "---\nkind: Sidecar\nmetadata: {{name: {name}, namespace: {namespace}, \
             creationTimestamp: '2026-01-0{day}T00:00:00Z'}}\nspec: {{{spec}}}\n"
        )
    }

    const POD: &str = "kind: Pod\nmetadata: {name: cart, namespace: shop, labels: {app: cart}}\n";

    #[test]
    fn the_narrowest_and_oldest_sidecar_applies() {
        const CART: &str = "workloadSelector: {labels: {app: cart}}";
        let own = sidecar("shop", "own", 2, CART);
        let younger = sidecar("shop", "a-younger", 3, CART);
        let other = sidecar("shop", "other", 1, "workloadSelector: {labels: {app: web}}");
        let namespace = sidecar("shop", "namespace", 1, "");
        let root = sidecar("istio-system", "root", 1, "");
        let root_selecting = sidecar("istio-system", "root-selecting", 1, CART);
        for (objects, expected) in [
            (vec![&own, &younger, &namespace, &root], Some("own")),
            (vec![&other, &namespace, &root], Some("namespace")),
            (vec![&other, &root, &root_selecting], Some("root")),
            (vec![&root_selecting], None),
        ] {
            let yaml: String = std::iter::once(POD)
                .chain(objects.into_iter().map(String::as_str))
                .collect();
            let mesh = mesh_of(&yaml);
            let scope = mesh.scope(
                mesh.objects
                    .get(Kind::Pod, "shop", "cart")
                    .expect("it is there"),
            );
            assert_eq!(
                scope.sidecar.map(|sidecar| sidecar.id.name.as_str()),
                expected,
                "{yaml}"
            );
        }
    }

    #[test]
    fn egress_hosts_say_what_is_imported() {
        for (egress, namespace, host, holds) in [
            ("", "tools", "a.test", true),
            ("egress: [{hosts: ['*/*']}]", "tools", "a.test", true),
            ("egress: [{hosts: ['./*']}]", "shop", "a.test", true),
            ("egress: [{hosts: ['./*']}]", "tools", "a.test", false),
            ("egress: [{hosts: ['~/*']}]", "shop", "a.test", false),
            ("egress: [{hosts: [tools/a.test]}]", "tools", "a.test", true),
            (
                "egress: [{hosts: [tools/a.test]}]",
                "tools",
                "b.test",
                false,
            ),
            (
                "egress: [{hosts: ['tools/*.test']}]",
                "tools",
                "b.test",
                true,
            ),
            ("egress: [{hosts: ['*/a.test']}]", "tools", "a.test", true),
            (
                "egress: [{hosts: [./*]}, {port: {number: 1}, hosts: ['*/a.test']}]",
                "tools",
                "a.test",
                true,
            ),
        ] {
            let mesh = mesh_of(&format!("{POD}{}", sidecar("shop", "s", 1, egress)));
            let scope = mesh.scope(
                mesh.objects
                    .get(Kind::Pod, "shop", "cart")
                    .expect("it is there"),
            );
            assert_eq!(
                scope.imports(namespace, host).holds,
                holds,
                "{egress} {namespace} {host}"
            );
        }
    }

    #[test]
    fn a_gateway_heeds_no_sidecar_and_a_sidecar_overrides_the_mesh() {
        let registry_only = sidecar(
            "shop",
            "s",
            1,
            "outboundTrafficPolicy: {mode: REGISTRY_ONLY}",
        );
        let gateway =
            format!("{POD}spec: {{containers: [{{name: istio-proxy, args: [proxy, router]}}]}}\n");
        for (pod, expected) in [(POD, true), (gateway.as_str(), false)] {
            let mesh = mesh_of(&format!("{pod}{registry_only}"));
            let scope = mesh.scope(
                mesh.objects
                    .get(Kind::Pod, "shop", "cart")
                    .expect("it is there"),
            );
            let (only, by) = mesh.is_registry_only(scope);
            assert_eq!((only, by.is_some()), (expected, expected));
        }
    }
}
