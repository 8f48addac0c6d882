//! `MeshConfig`: what holds for the whole mesh unless an object says otherwise.

use super::{Object, ObjectRef, Objects};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Snapshot;
use meshladder_text::json::Raw;
use meshladder_text::tree::{Node, Value};
use meshladder_text::yaml;

/// The settings of a mesh.
#[derive(Clone, Debug)]
pub struct MeshConfig {
    /// The ConfigMap it was read from; none when istiod told it, or nothing did.
    pub object: Option<ObjectRef>,
    /// All of it, as written.
    pub tree: Option<Node>,
    /// Policies here apply everywhere.
    pub root_namespace: Box<str>,
    /// The trust domain and its aliases.
    pub trust_domains: Vec<Box<str>>,
    /// Services that policies and telemetry may name.
    pub providers: Vec<ExtensionProvider>,
    /// `outboundTrafficPolicy.mode: REGISTRY_ONLY`
    pub is_registry_only: bool,
    /// Clients use mutual TLS wherever the server has a proxy.
    pub auto_mtls: bool,
    /// Where proxies log requests; empty for nowhere.
    pub access_log_file: Box<str>,
    /// `exportTo` of Services and ServiceEntries that have none.
    pub service_export_to: Vec<Box<str>>,
    /// `exportTo` of VirtualServices that have none.
    pub virtual_service_export_to: Vec<Box<str>>,
    /// `exportTo` of DestinationRules that have none.
    pub destination_rule_export_to: Vec<Box<str>>,
    /// `meshNetworks`, which stand beside it.
    pub networks: Option<MeshNetworks>,
}

/// Which endpoints are in which network.
#[derive(Clone, Debug)]
pub struct MeshNetworks {
    /// As written.
    pub tree: Node,
    /// The ConfigMap they were read from; none when they were given by hand.
    pub of: Option<ObjectRef>,
}

/// One of `extensionProviders`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionProvider {
    /// Its name.
    pub name: Box<str>,
    /// `envoyExtAuthzHttp`, `zipkin`, …
    pub kind: Box<str>,
}

impl Default for MeshConfig {
    fn default() -> Self {
        Self {
            object: None,
            tree: None,
            root_namespace: "istio-system".into(),
            trust_domains: vec!["cluster.local".into()],
            providers: Vec::new(),
            is_registry_only: false,
            auto_mtls: true,
            access_log_file: "".into(),
            service_export_to: vec!["*".into()],
            virtual_service_export_to: vec!["*".into()],
            destination_rule_export_to: vec!["*".into()],
            networks: None,
        }
    }
}

impl MeshConfig {
    /// Reads a `MeshConfig`.
    pub fn read(config: &Node) -> Self {
        let default = Self::default();
        let text = |key: &str| config.str_at(key).filter(|text| !text.is_empty());
        let list = |key: &str| config.get(key).map_or(&[][..], Node::items);
        let strings = |key: &str| {
            list(key)
                .iter()
                .filter_map(Node::str)
                .map(Into::into)
                .collect::<Vec<_>>()
        };
        let export_to = |key: &str| Some(strings(key)).filter(|names| !names.is_empty());
        let trust_domain = text("trustDomain").unwrap_or("cluster.local");
        Self {
            object: None,
            tree: Some(config.clone()),
            root_namespace: text("rootNamespace").map_or(default.root_namespace, Into::into),
            trust_domains: std::iter::once(trust_domain.into())
                .chain(strings("trustDomainAliases"))
                .collect(),
            providers: list("extensionProviders")
                .iter()
                .filter_map(provider)
                .collect(),
            is_registry_only: is_registry_only(config).unwrap_or(false),
            auto_mtls: config
                .get("enableAutoMtls")
                .is_none_or(|on| on.value != Value::Bool(false)),
            access_log_file: text("accessLogFile").unwrap_or_default().into(),
            service_export_to: export_to("defaultServiceExportTo")
                .unwrap_or(default.service_export_to),
            virtual_service_export_to: export_to("defaultVirtualServiceExportTo")
                .unwrap_or(default.virtual_service_export_to),
            destination_rule_export_to: export_to("defaultDestinationRuleExportTo")
                .unwrap_or(default.destination_rule_export_to),
            networks: None,
        }
    }

    /// The mesh's settings: from the ConfigMap of the default revision, else of another one, else
    /// as istiod tells them.
    pub(super) fn find(objects: &Objects, snapshot: &Snapshot) -> Self {
        let mut maps: Vec<_> = config_maps(objects).collect();
        maps.sort_by_key(|(revision, map)| {
            (*revision != "default", map.id.namespace != "istio-system")
        });
        let first = maps.first().map(|(_, map)| Self::of_config_map(map));
        first
            .or_else(|| Self::from_istiod(snapshot))
            .unwrap_or_default()
    }

    /// The settings after a change of ConfigMaps.
    pub(super) fn of_objects(objects: &Objects, before: &Self) -> Self {
        let own = before.object.as_ref().and_then(|id| objects.find(id));
        own.map_or_else(|| before.clone(), Self::of_config_map)
    }

    /// The settings in a ConfigMap.
    pub fn of_config_map(map: &Object) -> Self {
        let text = map
            .node
            .at(["data", "mesh"])
            .and_then(Node::str)
            .unwrap_or_default();
        let read = yaml::load(text)
            .documents
            .first()
            .map(Self::read)
            .unwrap_or_default();
        let networks = map
            .node
            .at(["data", "meshNetworks"])
            .and_then(Node::str)
            .map(yaml::load);
        let tree = networks.and_then(|networks| networks.documents.into_iter().next());
        let networks = tree.map(|tree| MeshNetworks {
            tree,
            of: Some(map.id.clone()),
        });
        Self {
            object: Some(map.id.clone()),
            networks,
            ..read
        }
    }

    /// The answer of `/debug/mesh`.
    fn from_istiod(snapshot: &Snapshot) -> Option<Self> {
        let id = snapshot
            .ids()
            .find(|id| id.as_str().ends_with("/debug/mesh.json"))?;
        let document = snapshot.open(id).ok()?;
        Some(Self::read(
            &Node::from_json(Raw::of(&document.text).ok()?).ok()?,
        ))
    }

    /// Whether it is a trust domain of the mesh, or one whose certificates it takes. In a policy
    /// "cluster.local" stands for the mesh's own, whatever that is called.
    pub fn trusts(&self, domain: &str) -> bool {
        let authorities = self
            .tree
            .as_ref()
            .and_then(|tree| tree.get("caCertificates"))
            .map_or(&[][..], Node::items);
        let mut taken = authorities
            .iter()
            .filter_map(|one| one.get("trustDomains"))
            .flat_map(Node::items);
        domain == "cluster.local"
            || self.trust_domains.iter().any(|known| **known == *domain)
            || taken.any(|taken| taken.str() == Some(domain))
    }

    /// The provider of that name that a CUSTOM policy may ask.
    pub fn authorization_provider(&self, name: &str) -> Option<&ExtensionProvider> {
        let decides = |kind: &str| ["envoyExtAuthzHttp", "envoyExtAuthzGrpc"].contains(&kind);
        self.providers
            .iter()
            .find(|provider| *provider.name == *name && decides(&provider.kind))
    }

    /// A setting of `defaultConfig`, which every proxy starts from.
    pub fn default_config(&self, key: &str) -> Option<&Node> {
        self.tree.as_ref()?.at(["defaultConfig", key])
    }
}

/// The ConfigMaps that hold a `MeshConfig`, each with the revision it is for.
pub fn config_maps(objects: &Objects) -> impl Iterator<Item = (&str, &Object)> {
    objects.of_kind(Kind::ConfigMap).iter().filter_map(|map| {
        let revision = map.id.name.strip_prefix("istio")?;
        let revision = if revision.is_empty() {
            "default"
        } else {
            revision.strip_prefix('-')?
        };
        map.node.at(["data", "mesh"]).map(|_| (revision, map))
    })
}

/// What an `outboundTrafficPolicy` below this node says; none when it says nothing.
pub fn is_registry_only(config: &Node) -> Option<bool> {
    Some(config.at(["outboundTrafficPolicy", "mode"])?.str()? == "REGISTRY_ONLY")
}

fn provider(node: &Node) -> Option<ExtensionProvider> {
    let kind = node
        .members()
        .iter()
        .find(|member| &*member.key != "name")?;
    Some(ExtensionProvider {
        name: node.str_at("name")?.into(),
        kind: (*kind.key).into(),
    })
}

#[cfg(test)]
mod tests {
    use crate::Mesh;
    use crate::tests::mesh_of;
    use meshladder_capture::snapshot::{Builder, DocId};

    const MAP: &str =
        "kind: ConfigMap\nmetadata: {name: NAME, namespace: NS}\ndata:\n  mesh: |\n    ";

    fn map(namespace: &str, name: &str, line: &str) -> String {
        format!(
            "{}{line}\n---\n",
            MAP.replace("NAME", name).replace("NS", namespace)
        )
    }

    #[test]
    fn what_is_not_set_is_as_istio_has_it() {
        let config = mesh_of("").config;
        assert_eq!(
            (
                &*config.root_namespace,
                config.auto_mtls,
                config.is_registry_only
            ),
            ("istio-system", true, false)
        );
        assert_eq!(config.virtual_service_export_to, ["*".into()]);
    }

    #[test]
    fn settings_come_from_the_config_map() {
        let config = mesh_of(&map(
            "infra",
            "istio",
            "{rootNamespace: infra, trustDomain: new, trustDomainAliases: [old], enableAutoMtls: false, \
             outboundTrafficPolicy: {mode: REGISTRY_ONLY}, defaultConfig: {concurrency: 1}, \
             defaultVirtualServiceExportTo: [.], extensionProviders: [{name: z, zipkin: {}}, {name: a, envoyExtAuthzGrpc: {}}]}",
        ))
        .config;
        assert_eq!(
            config.object.as_ref().map(ToString::to_string).as_deref(),
            Some("ConfigMap infra/istio")
        );
        assert_eq!(
            (
                &*config.root_namespace,
                config.auto_mtls,
                config.is_registry_only
            ),
            ("infra", false, true)
        );
        assert_eq!(config.trust_domains, ["new".into(), "old".into()]);
        assert_eq!(config.virtual_service_export_to, [".".into()]);
        assert!(
            config.default_config("concurrency").is_some()
                && config.default_config("proxyAdminPort").is_none()
        );
        assert!(
            config.authorization_provider("a").is_some()
                && config.authorization_provider("z").is_none()
        );
    }

    #[test]
    fn the_default_revision_comes_first_and_istiod_last() {
        let canary = map("istio-system", "istio-canary", "rootNamespace: canary");
        let default = map("istio-system", "istio", "rootNamespace: default");
        let other = "kind: ConfigMap\nmetadata: {name: istio-ca-root-cert, namespace: a}\ndata: {root-cert.pem: x}\n---\n";
        assert_eq!(
            &*mesh_of(&format!("{other}{canary}")).config.root_namespace,
            "canary"
        );
        assert_eq!(
            &*mesh_of(&format!("{canary}{default}")).config.root_namespace,
            "default"
        );
        let mut builder = Builder::new();
        builder.add(
            DocId::new("istiod/a/debug/mesh.json"),
            "mesh.json",
            r#"{"rootNamespace":"told"}"#.into(),
        );
        assert_eq!(
            &*Mesh::build(&builder.finish()).config.root_namespace,
            "told"
        );
    }
}
