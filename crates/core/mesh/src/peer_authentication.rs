//! `PeerAuthentication`: whether a port takes plain text.

use super::policies::{Workload, selector};
use super::{Mesh, Object};
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

/// What a port takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MutualTls {
    /// Plain text only.
    Disable,
    /// Plain text and mutual TLS.
    Permissive,
    /// Mutual TLS only.
    Strict,
}

impl MutualTls {
    /// As objects call it; none for `UNSET`.
    pub fn named(mode: &str) -> Option<Self> {
        match mode {
            "DISABLE" => Some(Self::Disable),
            "PERMISSIVE" => Some(Self::Permissive),
            "STRICT" => Some(Self::Strict),
            _ => None,
        }
    }
}

/// What a port takes, and what said so.
#[derive(Clone, Copy, Debug)]
pub struct PeerMode<'m> {
    /// What it takes.
    pub mode: MutualTls,
    /// The object and its `mode` that decided; none when nothing says anything.
    pub by: Option<(&'m Object, &'m Node)>,
}

impl Mesh {
    /// What the objects say of a workload's port. Ports are those of the workload, not of a
    /// Service.
    ///
    /// "It should have the setting from the most narrow scope (i.e workload-level is preferred over
    /// namespace-level, which is preferred over mesh-level). When there are more than one policy in
    /// the same scope, the oldest one win. UNSET will be replaced with the setting from the
    /// parent."
    pub fn mutual_tls(&self, workload: &Workload<'_>, port: u16) -> PeerMode<'_> {
        self.mutual_tls_by(&self.policies(Kind::PeerAuthentication, workload), port)
    }

    /// The mode for a workload that these policies reach, the oldest first.
    pub fn mutual_tls_by<'m>(&self, policies: &[&'m Object], port: u16) -> PeerMode<'m> {
        let is_root = |policy: &Object| policy.id.namespace == *self.config.root_namespace;
        let oldest = |root: bool, labels: bool| {
            let fits = |policy: &&Object| {
                is_root(policy) == root && selector(policy.spec()).is_some() == labels
            };
            policies.iter().copied().find(fits)
        };
        let own = oldest(false, true);
        let on_port =
            own.and_then(|own| said(own, own.spec_at(["portLevelMtls", &port.to_string()])));
        let mut scopes = [own, oldest(false, false), oldest(true, false)]
            .into_iter()
            .flatten();
        let found =
            on_port.or_else(|| scopes.find_map(|policy| said(policy, policy.spec_at(["mtls"]))));
        found.unwrap_or(PeerMode {
            mode: MutualTls::Permissive,
            by: None,
        })
    }
}

fn said<'m>(policy: &'m Object, mtls: Option<&'m Node>) -> Option<PeerMode<'m>> {
    let node = mtls?.get("mode")?;
    let mode = MutualTls::named(node.str()?)?;
    Some(PeerMode {
        mode,
        by: Some((policy, node)),
    })
}

#[cfg(test)]
mod tests {
    use super::MutualTls::{Disable, Permissive, Strict};
    use super::*;
    use crate::tests::mesh_of;

    fn policy(namespace: &str, name: &str, day: u8, spec: &str) -> String {
        format!(
            "---\nkind: PeerAuthentication\nmetadata: {{name: {name}, namespace: {namespace}, \
             creationTimestamp: '2026-01-0{day}T00:00:00Z'}}\nspec: {{{spec}}}\n"
        )
    }

    #[test]
    fn the_narrowest_peer_authentication_that_says_something_counts() {
        const CART: &str = "selector: {matchLabels: {app: cart}}";
        let everywhere = policy("istio-system", "everywhere", 1, "mtls: {mode: STRICT}");
        let unset = policy("shop", "unset", 1, "mtls: {mode: UNSET}");
        let namespace = policy("shop", "namespace", 1, "mtls: {mode: DISABLE}");
        let ports =
            "mtls: {mode: PERMISSIVE}, portLevelMtls: {9090: {mode: DISABLE}, 9091: {mode: UNSET}}";
        let own = policy("shop", "own", 2, &format!("{CART}, {ports}"));
        let younger = policy(
            "shop",
            "younger",
            3,
            &format!("{CART}, mtls: {{mode: STRICT}}"),
        );
        let silent = policy(
            "shop",
            "silent",
            1,
            &format!("{CART}, portLevelMtls: {{9090: {{mode: DISABLE}}}}"),
        );
        let foreign = policy("tools", "foreign", 1, "mtls: {mode: DISABLE}");
        let in_root = policy(
            "istio-system",
            "labelled",
            1,
            &format!("{CART}, mtls: {{mode: DISABLE}}"),
        );
        let all_ports = policy(
            "shop",
            "unselected",
            1,
            "portLevelMtls: {80: {mode: DISABLE}}",
        );
        for (objects, port, mode, pointer) in [
            (vec![&foreign], 80, Permissive, None),
            (
                vec![&everywhere],
                80,
                Strict,
                Some("everywhere /spec/mtls/mode"),
            ),
            (
                vec![&unset, &everywhere],
                80,
                Strict,
                Some("everywhere /spec/mtls/mode"),
            ),
            (
                vec![&namespace, &everywhere],
                80,
                Disable,
                Some("namespace /spec/mtls/mode"),
            ),
            (
                vec![&younger, &own, &everywhere],
                80,
                Permissive,
                Some("own /spec/mtls/mode"),
            ),
            (
                vec![&own, &everywhere],
                9090,
                Disable,
                Some("own /spec/portLevelMtls/9090/mode"),
            ),
            (
                vec![&own, &everywhere],
                9091,
                Permissive,
                Some("own /spec/mtls/mode"),
            ),
            (
                vec![&silent, &everywhere],
                80,
                Strict,
                Some("everywhere /spec/mtls/mode"),
            ),
            (vec![&in_root], 80, Permissive, None),
            (vec![&all_ports], 80, Permissive, None),
        ] {
            let pod = "kind: Pod\nmetadata: {name: cart, namespace: shop, labels: {app: cart}}\n"
                .to_owned();
            let yaml: String = std::iter::once(&pod)
                .chain(objects)
                .map(String::as_str)
                .collect();
            let mesh = mesh_of(&yaml);
            let pod = mesh
                .objects
                .get(Kind::Pod, "shop", "cart")
                .expect("it is there");
            let found = mesh.mutual_tls(&Workload::of(pod), port);
            let by = found.by.map(|(policy, node)| {
                let pointer = policy.pointer_of(node);
                format!(
                    "{} {}",
                    policy.id.name,
                    pointer.trim_start_matches(&*policy.pointer)
                )
            });
            assert_eq!(
                (found.mode, by.as_deref()),
                (mode, pointer),
                "{port} {yaml}"
            );
        }
    }
}
