//! Names that Istio gives to Envoy resources, and the way back from them to Istio's objects.

use meshladder_text::json::Raw;

/// A cluster name taken apart: `outbound|8080|v1|catalog.shop.svc.cluster.local`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClusterName<'a> {
    /// `outbound`, `inbound` or `inbound-vip`.
    pub direction: &'a str,
    /// The Service's port.
    pub port: &'a str,
    /// The DestinationRule's subset; empty for the whole Service.
    pub subset: &'a str,
    /// The Service's host; empty for inbound clusters.
    pub host: &'a str,
}

impl<'a> ClusterName<'a> {
    /// Takes a name apart; none for names of another form, such as `BlackHoleCluster`.
    pub fn parse(name: &'a str) -> Option<Self> {
        // The SRV form stands in SNI names: `outbound_.8080_.v1_.catalog.shop.svc.cluster.local`.
        let separator = if name.contains('|') { "|" } else { "_." };
        let mut parts = name.splitn(4, separator);
        let (direction, port, subset, host) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        Some(Self {
            direction,
            port,
            subset,
            host,
        })
    }
}

/// `name.namespace` of the Istio object that a resource was made from, as istioctl prints it: from
/// `metadata.filter_metadata.istio.config`, for instance
/// `/apis/networking.istio.io/v1/namespaces/shop/virtual-service/catalog`.
pub fn istio_config(metadata: Raw<'_>) -> Option<String> {
    let path = metadata
        .at(["filter_metadata", "istio", "config"])?
        .string()?;
    if path.is_empty() {
        return None;
    }
    if !path.starts_with("/apis/networking.istio.io/") {
        return Some("<unknown>".to_owned());
    }
    let pieces: Vec<_> = path.split('/').collect();
    let [.., namespace, _, name] = pieces[..] else {
        return None;
    };
    (pieces.len() == 8).then(|| format!("{name}.{namespace}"))
}

/// Kind, namespace and name of the object that `metadata.filter_metadata.istio.config` names.
pub fn config_object(path: &str) -> Option<(String, &str, &str)> {
    let mut pieces = path.strip_prefix("/apis/")?.split('/');
    pieces.find(|piece| *piece == "namespaces")?;
    let (namespace, kind, name) = (pieces.next()?, pieces.next()?, pieces.next()?);
    Some((camel_case(kind), namespace, name))
}

/// `virtual-service` is `VirtualService`.
fn camel_case(kind: &str) -> String {
    let mut out = String::with_capacity(kind.len());
    for word in kind.split('-') {
        let mut letters = word.chars();
        if let Some(first) = letters.next() {
            out.extend(first.to_uppercase());
        }
        out.push_str(letters.as_str());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_names_come_apart_in_both_forms() {
        for name in [
            "outbound|8080|v1|a.shop.svc.cluster.local",
            "outbound_.8080_.v1_.a.shop.svc.cluster.local",
        ] {
            let parsed = ClusterName::parse(name).expect("a cluster name");
            let expected = ("outbound", "8080", "v1", "a.shop.svc.cluster.local");
            assert_eq!(
                (parsed.direction, parsed.port, parsed.subset, parsed.host),
                expected
            );
        }
        let inbound = ClusterName::parse("inbound|8080||").expect("a cluster name");
        assert_eq!(
            (
                inbound.direction,
                inbound.port,
                inbound.subset,
                inbound.host
            ),
            ("inbound", "8080", "", "")
        );
        assert_eq!(ClusterName::parse("BlackHoleCluster"), None);
        assert_eq!(ClusterName::parse("a|b"), None);
    }

    #[test]
    fn the_config_path_names_the_object() {
        let of = |config: &str| {
            let doc = format!(r#"{{"filter_metadata":{{"istio":{{"config":"{config}"}}}}}}"#);
            istio_config(Raw::of(&doc).expect("JSON"))
        };
        let catalog = "/apis/networking.istio.io/v1/namespaces/shop/virtual-service/catalog";
        assert_eq!(of(catalog).as_deref(), Some("catalog.shop"));
        assert_eq!(of("/apis/networking.istio.io/v1/catalog"), None);
        assert_eq!(
            of("/apis/gateway.networking.k8s.io/v1/x"),
            Some("<unknown>".to_owned())
        );
        assert_eq!(of(""), None);
    }
}
