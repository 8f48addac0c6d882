//! istioctl's bug-reports, whole and in part.

use crate::support::*;

const LIST: &str = "apiVersion: v1\nitems: []\nkind: List\n";
const TABLE: &str = "NAMESPACE   NAME   TYPE\nshop        cert   kubernetes.io/tls\n";

fn files() -> Vec<(&'static str, String)> {
    vec![
        (
            "bug-report.log",
            "2026-11-15T06:31:13Z\terror\tx\n".to_owned(),
        ),
        ("versions", "CLI version".to_owned()),
        (
            "analyze/allNamespaces/allNamespaces",
            "Info [IST0102]".to_owned(),
        ),
        ("cluster/k8s-resources", LIST.to_owned()),
        ("cluster/k8s-cluster-resources", LIST.to_owned()),
        ("cluster/crs", LIST.to_owned()),
        ("cluster/nodes", LIST.to_owned()),
        ("cluster/pods", LIST.to_owned()),
        ("cluster/secrets", TABLE.to_owned()),
        (
            "istio/istio-system/istiod-1/discovery.log",
            "x\n".to_owned(),
        ),
        ("istio/istio-system/istiod-1/debug/syncz", "[]".to_owned()),
        ("istio/istio-system/istiod-1/metrics", PROMETHEUS.to_owned()),
        (
            "operator/istio-operator/op-1/operator.log",
            "x\n".to_owned(),
        ),
        ("cni/cni-1/cni.log", "x\n".to_owned()),
        (
            "proxies/shop/cart-1/certs",
            "{\"certificates\": []}".to_owned(),
        ),
        ("proxies/shop/cart-1/clusters", CLUSTERS.to_owned()),
        ("proxies/shop/cart-1/config_dump?include_eds", cart_dump()),
        (
            "proxies/shop/cart-1/listeners",
            "a::0.0.0.0:80\n".to_owned(),
        ),
        ("proxies/shop/cart-1/memory", "{}".to_owned()),
        ("proxies/shop/cart-1/netstat", "Active".to_owned()),
        ("proxies/shop/cart-1/server_info", "{}".to_owned()),
        (
            "proxies/shop/cart-1/stats/prometheus",
            PROMETHEUS.to_owned(),
        ),
        (
            "proxies/shop/cart-1/istio-proxy.log",
            "2026-11-15T06:31:14Z\tinfo\tx\n".to_owned(),
        ),
        ("proxies/shop/cart-1/cores/1.core", "\0".to_owned()),
        (
            "proxies/istio-system/ztunnel-1/config_dump",
            "{\"workloads\": [], \"services\": []}".to_owned(),
        ),
    ]
}

const IDS: [&str; 22] = [
    "istiod/istiod-1/debug/syncz.json",
    "istiod/istiod-1/metrics.txt",
    "k8s/crs.yaml",
    "k8s/k8s-cluster-resources.yaml",
    "k8s/k8s-resources.yaml",
    "logs/istio-operator/op-1/operator.log",
    "logs/istio-system/cni-1/install-cni.log",
    "logs/istio-system/istiod-1/discovery.log",
    "logs/shop/cart-1/istio-proxy.log",
    "other/analyze/allNamespaces/allNamespaces",
    "other/bug-report.log",
    "other/cluster/secrets",
    "other/versions",
    "proxies/shop/cart-1/certs.json",
    "proxies/shop/cart-1/clusters.txt",
    "proxies/shop/cart-1/config_dump.json",
    "proxies/shop/cart-1/listeners.txt",
    "proxies/shop/cart-1/memory.json",
    "proxies/shop/cart-1/netstat.txt",
    "proxies/shop/cart-1/server_info.json",
    "proxies/shop/cart-1/stats.prom",
    "ztunnels/istio-system/ztunnel-1/config_dump.json",
];

#[test]
fn a_bug_report_gets_the_ids_of_a_bundle_as_an_archive_and_unpacked() {
    let place = Place::new();
    let files = files();
    for (path, text) in &files {
        place.put(&format!("unpacked/{path}"), text);
    }
    let topped: Vec<_> = files
        .iter()
        .map(|(path, text)| (format!("bug-report/{path}"), text.clone()))
        .collect();
    let plain: Vec<_> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    place.put("a.tar.gz", gzip(&tar_of_files(&plain)));
    place.put("b.tar.gz", gzip(&tar_of_files(&borrowed(&topped))));
    for name in ["unpacked", "a.tar.gz", "b.tar.gz"] {
        let snapshot = opened(&place.path(name));
        assert_eq!(ids(&snapshot), IDS, "{name}");
        assert_eq!(place.problems(&snapshot), [""; 0], "{name}");
        assert_eq!(
            text(&snapshot, "proxies/shop/cart-1/clusters.txt"),
            CLUSTERS
        );
        assert_eq!(
            snapshot.taken_at().map(|time| time.to_string()).as_deref(),
            Some("2026-11-15T06:31:14Z")
        );
        assert_eq!(
            snapshot
                .sources()
                .next()
                .and_then(|(_, meta)| meta)
                .map(|meta| meta.form),
            Some("bug-report")
        );
    }
}

#[test]
fn the_large_lists_cover_their_kinds() {
    let files = files();
    let plain: Vec<_> = files
        .iter()
        .map(|(path, text)| (*path, text.as_str()))
        .collect();
    let place = Place::with(&plain);
    let snapshot = opened(&place.path(""));
    for kind in [
        "pods",
        "deployments.apps",
        "nodes",
        "namespaces",
        "virtualservices.networking.istio.io",
    ] {
        assert_eq!(
            coverage(&snapshot, &format!("k8s/{kind}.json")),
            "complete",
            "{kind}"
        );
    }
    assert_eq!(
        (
            coverage(&snapshot, "k8s/secrets.json"),
            coverage(&snapshot, "proxies/")
        ),
        ("not-asked", "complete")
    );
}

#[test]
fn any_part_of_a_bug_report_is_enough() {
    for (file, id) in [
        (
            "proxies/shop/cart-1/config_dump?include_eds",
            "proxies/shop/cart-1/config_dump.json",
        ),
        // As unpacked where `?` is not allowed in names.
        (
            "proxies/shop/cart-1/config_dump_include_eds",
            "proxies/shop/cart-1/config_dump.json",
        ),
        ("cluster/k8s-resources", "k8s/k8s-resources.yaml"),
        ("bug-report.log", "other/bug-report.log"),
        (
            "istio/istio-system/istiod-1/debug/syncz",
            "istiod/istiod-1/debug/syncz.json",
        ),
    ] {
        let content = if file.starts_with("cluster") {
            LIST.to_owned()
        } else {
            cart_dump()
        };
        assert_eq!(
            ids(&opened(&Place::with(&[(file, content.as_str())]).path(""))),
            [id]
        );
    }
}

#[test]
fn without_the_large_lists_the_small_ones_count_for_what_they_are() {
    let place = Place::with(&[
        ("bug-report.log", "x"),
        ("cluster/pods", LIST),
        ("cluster/nodes", LIST),
    ]);
    let snapshot = opened(&place.path(""));
    assert_eq!(
        ids(&snapshot),
        ["k8s/nodes.yaml", "k8s/pods.yaml", "other/bug-report.log"]
    );
    assert_eq!(
        (
            coverage(&snapshot, "k8s/pods.json"),
            coverage(&snapshot, "k8s/nodes.json")
        ),
        ("partial", "complete")
    );
    assert_eq!(coverage(&snapshot, "k8s/services.json"), "not-asked");
}

#[test]
fn a_list_that_kubectl_could_not_get_covers_nothing() {
    let place = Place::with(&[
        ("bug-report.log", "x"),
        ("cluster/k8s-resources", "error: forbidden\n"),
    ]);
    let snapshot = opened(&place.path(""));
    assert_eq!(
        ids(&snapshot),
        ["other/bug-report.log", "other/cluster/k8s-resources"]
    );
    assert_eq!(coverage(&snapshot, "k8s/pods.json"), "not-asked");
}

#[test]
fn secrets_in_full_are_objects() {
    let place = Place::with(&[("bug-report.log", "x"), ("cluster/secrets", LIST)]);
    assert_eq!(
        ids(&opened(&place.path(""))),
        ["k8s/secrets.yaml", "other/bug-report.log"]
    );
}
