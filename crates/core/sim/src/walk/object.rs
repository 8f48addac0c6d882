//! The Istio object that a part of a proxy's configuration was made from.

use crate::cluster::Cluster;
use meshladder_capture::envoy::name::{ClusterName, config_object};
use meshladder_text::json::Raw;

/// As the part itself says in `metadata.filter_metadata.istio.config`, such as
/// `/apis/networking.istio.io/v1/namespaces/shop/virtual-service/catalog`: `VirtualService
/// shop/catalog`.
pub(super) fn of(part: Raw<'_>) -> Option<String> {
    let path = part
        .at(["metadata", "filter_metadata", "istio", "config"])?
        .string()?;
    config_object(&path).map(|(kind, namespace, name)| format!("{kind} {namespace}/{name}"))
}

/// The DestinationRule that shaped a cluster, or else whose cluster it is.
pub(super) fn of_cluster(cluster: &Cluster<'_>) -> Option<String> {
    of(cluster.raw)
        .or_else(|| service(cluster.raw))
        .or_else(|| of_host(ClusterName::parse(&cluster.name)?.host))
}

/// `Service shop/catalog` for `catalog.shop.svc.cluster.local`, and other hosts as they are. Names
/// such as `allow_any` or `inbound|http|8080` are no hosts.
pub(super) fn of_host(host: &str) -> Option<String> {
    let mut labels = host.split('.');
    match (labels.next()?, labels.next()?, labels.next()) {
        _ if host.contains('|') => None,
        (name, namespace, Some("svc")) => Some(format!("Service {namespace}/{name}")),
        _ => Some(format!("host {host}")),
    }
}

/// The first Service that istiod names in the metadata; that of an inbound cluster has no host in
/// its name.
fn service(cluster: Raw<'_>) -> Option<String> {
    let service = cluster
        .at(["metadata", "filter_metadata", "istio", "services"])?
        .elements()
        .next()?;
    of_host(&service.string_at("host")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_names_the_object() {
        for (config, object) in [
            (
                "/apis/networking.istio.io/v1/namespaces/shop/virtual-service/catalog",
                Some("VirtualService shop/catalog"),
            ),
            (
                "/apis/networking.istio.io/v1alpha3/namespaces/a/destination-rule/b",
                Some("DestinationRule a/b"),
            ),
            ("/apis/networking.istio.io/v1/catalog", None),
            ("", None),
        ] {
            let part = format!(
                r#"{{"metadata":{{"filter_metadata":{{"istio":{{"config":"{config}"}}}}}}}}"#
            );
            assert_eq!(
                of(Raw::of(&part).expect("JSON")).as_deref(),
                object,
                "{config}"
            );
        }
    }

    #[test]
    fn hosts_lead_to_services() {
        assert_eq!(
            of_host("catalog.shop.svc.cluster.local").as_deref(),
            Some("Service shop/catalog")
        );
        assert_eq!(
            of_host("api.stripe.test").as_deref(),
            Some("host api.stripe.test")
        );
        for other in ["", "allow_any", "inbound|http|8080"] {
            assert_eq!(of_host(other), None, "{other}");
        }
    }
}
