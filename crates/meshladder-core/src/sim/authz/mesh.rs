//! What of `MeshConfig` authorization depends on.

use crate::doc::tree::Node;

/// The settings of a mesh.
#[derive(Clone, Debug)]
pub struct Mesh {
    /// Policies here apply everywhere.
    pub root_namespace: Box<str>,
    /// The trust domain and its aliases.
    pub trust_domains: Vec<Box<str>>,
    /// Services that CUSTOM policies may ask.
    pub providers: Vec<ExtensionProvider>,
}

/// An `envoyExtAuthzHttp` or `envoyExtAuthzGrpc` provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtensionProvider {
    /// Its name.
    pub name: Box<str>,
    /// Whether it only understands HTTP.
    pub is_http: bool,
}

impl Default for Mesh {
    fn default() -> Self {
        Self {
            root_namespace: "istio-system".into(),
            trust_domains: vec!["cluster.local".into()],
            providers: Vec::new(),
        }
    }
}

impl Mesh {
    /// Reads a `MeshConfig`.
    pub fn read(config: &Node) -> Self {
        let default = Self::default();
        let text = |key: &str| config.str_at(key).filter(|text| !text.is_empty());
        let list = |key: &str| config.get(key).map_or(&[][..], Node::items);
        let trust_domain = text("trustDomain").unwrap_or("cluster.local");
        let aliases = list("trustDomainAliases").iter().filter_map(Node::str);
        Self {
            root_namespace: text("rootNamespace").map_or(default.root_namespace, Into::into),
            trust_domains: std::iter::once(trust_domain).chain(aliases).map(Into::into).collect(),
            providers: list("extensionProviders").iter().filter_map(provider).collect(),
        }
    }
}

fn provider(node: &Node) -> Option<ExtensionProvider> {
    let is_http = node.get("envoyExtAuthzHttp").is_some();
    let is_authorization = is_http || node.get("envoyExtAuthzGrpc").is_some();
    is_authorization.then(|| Some(ExtensionProvider { name: node.str_at("name")?.into(), is_http }))?
}
