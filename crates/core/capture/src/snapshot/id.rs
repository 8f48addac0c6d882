//! Names of documents: paths in the bundle layout, whatever the source was.

use std::fmt;
use std::sync::Arc;

/// A document's name: its path inside a bundle, such as `proxies/shop/cart-1/config_dump.json`.
/// With several sources each id starts with its source's name: `2/k8s/pods.json`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DocId(Arc<str>);

/// What a document is, told by its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// Kubernetes objects, JSON or YAML.
    Objects,
    /// Envoy's `/config_dump`.
    ConfigDump,
    /// Envoy's `/clusters`: JSON, or the text form as `clusters.txt`.
    Clusters,
    /// Envoy's `/stats`.
    Stats,
    /// Envoy's `/server_info`.
    ServerInfo,
    /// Envoy's `/certs`.
    Certs,
    /// Envoy's `/listeners`.
    Listeners,
    /// Envoy's `/logging`.
    Logging,
    /// An answer of istiod's `/debug/…`.
    IstiodDebug,
    /// A container's log.
    Log,
    /// A ztunnel's `/config_dump`.
    ZtunnelDump,
    /// Anything else of a bundle.
    Other,
}

/// A data-plane proxy: the pod it runs in, and the source it was seen in when there are several.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProxyRef {
    /// The source's name when there are several sources, else empty.
    pub source: String,
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
}

impl Shape {
    /// What a user calls such a document.
    pub fn title(self) -> &'static str {
        match self {
            Self::Objects => "Kubernetes object",
            Self::ConfigDump => "config dump",
            Self::Clusters => "answer of Envoy's /clusters",
            Self::Stats => "answer of Envoy's /stats",
            Self::ServerInfo => "answer of Envoy's /server_info",
            Self::Certs => "answer of Envoy's /certs",
            Self::Listeners => "answer of Envoy's /listeners",
            Self::Logging => "answer of Envoy's /logging",
            Self::IstiodDebug => "answer of istiod's /debug",
            Self::Log => "log",
            Self::ZtunnelDump => "config dump of a ztunnel",
            Self::Other => "document",
        }
    }
}

impl DocId {
    /// A document id; `path` is relative and uses `/`.
    pub fn new(path: impl Into<String>) -> Self {
        Self(path.into().into())
    }

    /// The document `file` of a proxy.
    pub fn of_proxy(proxy: &ProxyRef, file: &str) -> Self {
        let ProxyRef {
            source,
            namespace,
            pod,
        } = proxy;
        let slash = if source.is_empty() { "" } else { "/" };
        Self(format!("{source}{slash}proxies/{namespace}/{pod}/{file}").into())
    }

    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id of the document as part of a source that has a name.
    #[must_use]
    pub fn in_source(&self, source: &str) -> Self {
        Self(format!("{source}/{}", self.0).into())
    }

    /// The source's name and the path inside the source.
    pub fn split(&self) -> (&str, &str) {
        const TOPS: [&str; 6] = [
            "k8s/",
            "istiod/",
            "proxies/",
            "ztunnels/",
            "logs/",
            "other/",
        ];
        let is_top = |path: &str| TOPS.iter().any(|top| path.starts_with(top));
        match self.0.split_once('/') {
            Some((source, rest)) if !is_top(&self.0) && is_top(rest) => (source, rest),
            _ => ("", &self.0),
        }
    }

    /// What the document is.
    pub fn shape(&self) -> Shape {
        let (_, path) = self.split();
        let file = path.rsplit('/').next().unwrap_or(path);
        match path.split('/').next() {
            Some("k8s") => Shape::Objects,
            Some("logs") => Shape::Log,
            Some("istiod") if path.contains("/debug/") => Shape::IstiodDebug,
            Some("ztunnels") if file == "config_dump.json" => Shape::ZtunnelDump,
            Some("proxies") => match file {
                "config_dump.json" => Shape::ConfigDump,
                "clusters.json" | "clusters.txt" => Shape::Clusters,
                "stats.txt" | "stats.prom" => Shape::Stats,
                "server_info.json" => Shape::ServerInfo,
                "certs.json" => Shape::Certs,
                "listeners.json" | "listeners.txt" => Shape::Listeners,
                "logging.txt" => Shape::Logging,
                _ => Shape::Other,
            },
            _ => Shape::Other,
        }
    }

    /// The proxy a document below `proxies/` belongs to.
    pub fn proxy(&self) -> Option<ProxyRef> {
        self.below("proxies/")
    }

    /// The ztunnel a document below `ztunnels/` belongs to.
    pub fn ztunnel(&self) -> Option<ProxyRef> {
        self.below("ztunnels/")
    }

    fn below(&self, folder: &str) -> Option<ProxyRef> {
        let (source, path) = self.split();
        let mut parts = path.strip_prefix(folder)?.split('/');
        let (namespace, pod, _file) = (parts.next()?, parts.next()?, parts.next()?);
        Some(ProxyRef {
            source: source.to_owned(),
            namespace: namespace.to_owned(),
            pod: pod.to_owned(),
        })
    }
}

impl fmt::Display for DocId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl ProxyRef {
    /// Whether it runs in that pod, of whichever source.
    pub fn is_of(&self, namespace: &str, pod: &str) -> bool {
        self.namespace == namespace && self.pod == pod
    }

    /// `namespace/pod`, as Kubernetes writes a namespaced name.
    pub fn namespaced_name(&self) -> String {
        format!("{}/{}", self.namespace, self.pod)
    }
}

/// `pod.namespace`, as istiod and istioctl name a proxy.
impl fmt::Display for ProxyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.pod, self.namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_tell_shape_proxy_and_source() {
        for (path, shape, source) in [
            (
                "proxies/shop/cart-1/config_dump.json",
                Shape::ConfigDump,
                "",
            ),
            (
                "east/proxies/shop/cart-1/clusters.txt",
                Shape::Clusters,
                "east",
            ),
            ("k8s/pods.json", Shape::Objects, ""),
            ("2/k8s/manifests/deep/vs.yaml", Shape::Objects, "2"),
            ("istiod/istiod-1/debug/syncz.json", Shape::IstiodDebug, ""),
            ("istiod/istiod-1/metrics.txt", Shape::Other, ""),
            ("logs/shop/cart-1/istio-proxy.log", Shape::Log, ""),
            ("2/other/bug-report.log", Shape::Other, "2"),
            ("manifest.json", Shape::Other, ""),
            (
                "ztunnels/istio-system/ztunnel-1/config_dump.json",
                Shape::ZtunnelDump,
                "",
            ),
            (
                "east/ztunnels/istio-system/z/ready.txt",
                Shape::Other,
                "east",
            ),
        ] {
            let id = DocId::new(path);
            assert_eq!((id.shape(), id.split().0), (shape, source), "{path}");
        }
        let proxy = DocId::new("east/proxies/shop/cart-1/x")
            .proxy()
            .expect("a proxy's document");
        assert_eq!(
            (proxy.to_string().as_str(), proxy.source.as_str()),
            ("cart-1.shop", "east")
        );
        assert_eq!(
            DocId::of_proxy(&proxy, "certs.json").as_str(),
            "east/proxies/shop/cart-1/certs.json"
        );
        assert_eq!(DocId::new("k8s/pods.json").proxy(), None);
    }
}
