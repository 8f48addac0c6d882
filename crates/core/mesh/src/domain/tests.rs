use super::*;
use crate::Mesh;
use crate::tests::mesh_of;
use meshladder_capture::snapshot::{Builder, DocId};

#[test]
fn only_a_name_without_a_dot_is_short() {
    let domain = Domain::default();
    for (host, full) in [
        ("catalog", "catalog.shop.svc.cluster.local"),
        ("catalog.shop", "catalog.shop"),
        (
            "catalog.tools.svc.cluster.local",
            "catalog.tools.svc.cluster.local",
        ),
        ("*", "*"),
        ("*.test", "*.test"),
        ("::1", "::1"),
        ("", ""),
    ] {
        assert_eq!(domain.fqdn(host, "shop"), full);
    }
    assert_eq!(
        domain.service_name("catalog.shop.svc.cluster.local"),
        Some(("catalog", "shop"))
    );
    assert_eq!(
        domain.service_name("a.catalog.shop.svc.cluster.local"),
        None
    );
    assert_eq!(domain.service_name("catalog.shop"), None);
}

/// A pod whose container of this name is started so.
fn pod(container: &str, args: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: a, namespace: shop}}\nspec: {{containers: [{{name: {container}, args: {args}}}]}}\n"
    )
}

#[test]
fn istiod_and_proxies_are_told_the_domain() {
    for (container, args, domain) in [
        (
            "discovery",
            "[discovery, --domain, corp.internal]",
            "corp.internal",
        ),
        (
            "istio-proxy",
            "[proxy, sidecar, --domain, $(POD_NAMESPACE).svc.corp.internal]",
            "corp.internal",
        ),
        (
            "istio-proxy",
            "[proxy, sidecar, --domain, $(DOMAIN)]",
            "cluster.local",
        ),
        ("istio-proxy", "[proxy, sidecar, --domain]", "cluster.local"),
        ("app", "[--domain, corp.internal]", "cluster.local"),
    ] {
        assert_eq!(
            mesh_of(&pod(container, args)).domain.name(),
            domain,
            "{container} {args}"
        );
    }
}

#[test]
fn a_proxy_tells_the_domain_in_its_own_name() {
    for (node, domain) in [
        (
            "sidecar~10.0.0.9~cart-1.shop~shop.svc.corp.internal",
            "corp.internal",
        ),
        (
            "router~10.0.0.9~gw-1.edge~edge.svc.cluster.local",
            "cluster.local",
        ),
        ("envoy", "cluster.local"),
    ] {
        let dump = format!(
            r#"{{"configs":[{{"@type":"type.googleapis.com/envoy.admin.v3.BootstrapConfigDump","bootstrap":{{"node":{{"id":"{node}"}}}}}}]}}"#
        );
        let mut builder = Builder::new();
        builder.add(
            DocId::new("proxies/shop/cart-1/config_dump.json"),
            "a.json",
            dump.into(),
        );
        assert_eq!(
            Mesh::build(&builder.finish()).domain.name(),
            domain,
            "{node}"
        );
    }
}

#[test]
fn names_are_full_in_the_domain_of_the_cluster() {
    let istiod = pod("discovery", "[discovery, --domain, corp.internal]");
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: cart, namespace: shop}\nspec: {clusterIP: 10.0.0.7}\n";
    let mesh = mesh_of(&[&istiod, service].join("---\n"));
    for (host, is_one) in [
        ("cart.shop.svc.corp.internal", true),
        ("cart.shop.svc", true),
        ("cart.shop", true),
        ("cart", true),
        ("cart.shop.svc.cluster.local", false),
    ] {
        assert_eq!(mesh.service_named(host, "shop").is_some(), is_one, "{host}");
    }
    assert!(
        mesh.service_of_host(&mesh.domain.fqdn("cart", "shop"))
            .is_some()
    );
}
