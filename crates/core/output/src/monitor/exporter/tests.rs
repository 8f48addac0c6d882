use super::*;
use meshladder_capture::snapshot::{Builder, DocId};
use meshladder_judge::ladder::{self, Question, Scope};

const OBJECTS: &str = r#"{"apiVersion": "v1", "kind": "List", "items": [
 {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "istiod-a", "namespace": "istio-system", "labels": {"app": "istiod"}},
  "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}},
 {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "cart-1", "namespace": "shop", "annotations": {"sidecar.istio.io/status": "{}"}},
  "spec": {"containers": [{"name": "istio-proxy"}]}, "status": {"phase": "Running", "podIP": "10.0.0.1"}},
 {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "cart-2", "namespace": "shop", "annotations": {"sidecar.istio.io/status": "{}"}},
  "spec": {"containers": [{"name": "istio-proxy"}]}, "status": {"phase": "Running", "podIP": "10.0.0.2"}}]}"#;

const SERVICE: &str = r#"{"apiVersion": "v1", "kind": "List", "items": [
 {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "cart", "namespace": "shop"},
  "spec": {"selector": {"app": "cart"}, "ports": [{"port": 80}]}}]}"#;

const SLICE: &str = r#"{"apiVersion": "v1", "kind": "List", "items": [
 {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
  "metadata": {"name": "cart-x", "namespace": "shop", "labels": {"kubernetes.io/service-name": "cart"}},
  "endpoints": [{"addresses": ["10.0.0.1"]}]}]}"#;

const SYNCZ: &str = r#"[{"proxy":"cart-1.shop","resources":{"type.googleapis.com/envoy.config.cluster.v3.Cluster":{"sent":"1","acked":"0"}}}]"#;

const CLUSTERS: &str = r#"{"cluster_statuses":[{"name":"outbound|80||cart.shop.svc.cluster.local","host_statuses":[
 {"address":{"socket_address":{"address":"10.0.0.1","port_value":80}},"health_status":{"failed_outlier_check":true}},
 {"address":{"socket_address":{"address":"10.0.0.9","port_value":80}},"health_status":{}}]}]}"#;

/// A dump with an endpoint of each of these clusters.
fn dump(clusters: &[&str]) -> String {
    let endpoint = |cluster: &&str| {
        format!(
            r#"{{"metadata":{{"filter_metadata":{{"istio":{{"workload":"cart;shop;cart;v1;{cluster}"}}}}}}}}"#
        )
    };
    let endpoints: Vec<_> = clusters.iter().map(endpoint).collect();
    format!(
        r#"{{"configs":[{{"@type":"type.googleapis.com/envoy.admin.v3.EndpointsConfigDump","dynamic_endpoint_configs":[{{"endpoint_config":{{"cluster_name":"a","endpoints":[{{"lb_endpoints":[{}]}}]}}}}]}}]}}"#,
        endpoints.join(",")
    )
}

fn told(documents: &[(&str, &str)], most: usize) -> String {
    let mut builder = Builder::new();
    for (id, text) in documents {
        builder.add(DocId::new(*id), *id, text.as_bytes().to_vec());
    }
    let snapshot = builder.finish();
    let mesh = Mesh::build(&snapshot);
    let report = ladder::climb(
        &snapshot,
        &mesh,
        &Question {
            scope: Scope::Mesh,
            seen: None,
            threads: 1,
        },
    );
    let reading = MeshReading {
        is_up: true,
        read_at: Some(Time::from_seconds(7)),
        took: 0.5,
        failed: 3,
    };
    text(reading, "0", &families(&snapshot, &mesh, &report), most)
}

fn has(metrics: &str, line: &str) -> bool {
    metrics.lines().any(|told| told == line)
}

const PODS: (&str, &str) = ("k8s/pods.json", OBJECTS);
const SYNC: (&str, &str) = ("istiod/istiod-a/debug/syncz.json", SYNCZ);

#[test]
fn a_proxy_is_disconnected_once_every_istiod_was_asked() {
    let metrics = told(&[PODS, SYNC], 100);
    assert!(
        has(
            &metrics,
            "meshladder_proxy_connected{namespace=\"shop\",pod=\"cart-2\"} 0"
        ),
        "{metrics}"
    );
    assert!(
        has(
            &metrics,
            "meshladder_proxy_connected{namespace=\"shop\",pod=\"cart-1\"} 1"
        ),
        "{metrics}"
    );
    assert!(has(
        &metrics,
        "meshladder_proxy_sync{namespace=\"shop\",pod=\"cart-1\",type=\"CDS\",state=\"STALE\"} 1"
    ));
    let second = OBJECTS.replace("istiod-a", "istiod-b");
    let metrics = told(&[PODS, SYNC, ("k8s/more.yaml", &second)], 100);
    assert!(
        !metrics.contains("pod=\"cart-2\"} 0") && metrics.contains("pod=\"cart-1\"} 1"),
        "{metrics}"
    );
    assert!(!told(&[PODS], 100).contains("meshladder_proxy_connected"));
}

#[test]
fn of_two_streams_the_better_state_counts() {
    let other = SYNCZ.replace("\"acked\":\"0\"", "\"acked\":\"1\"");
    let metrics = told(&[SYNC, ("istiod/istiod-b/debug/syncz.json", &other)], 100);
    assert!(
        metrics.contains("state=\"SYNCED\"") && !metrics.contains("state=\"STALE\""),
        "{metrics}"
    );
}

#[test]
fn ghosts_are_told_when_the_objects_are_whole_and_of_one_cluster() {
    let (one, two) = (dump(&["east"]), dump(&["east", "west"]));
    let documents = |dump| {
        [
            PODS,
            ("k8s/services.json", SERVICE),
            ("k8s/endpointslices.discovery.k8s.io.json", SLICE),
            ("proxies/shop/cart-1/clusters.json", CLUSTERS),
            ("proxies/shop/cart-1/config_dump.json", dump),
        ]
    };
    let metrics = told(&documents(&one), 100);
    assert!(
        has(
            &metrics,
            "meshladder_proxy_ghost_endpoints{namespace=\"shop\",pod=\"cart-1\"} 1"
        ),
        "{metrics}"
    );
    assert!(
        has(
            &metrics,
            "meshladder_proxy_ejected_endpoints{namespace=\"shop\",pod=\"cart-1\"} 1"
        ),
        "{metrics}"
    );
    assert!(
        !told(&documents(&two), 100).contains("ghost"),
        "another cluster's endpoint is no ghost"
    );
    let without_slices: Vec<_> = documents(&one)
        .into_iter()
        .filter(|(id, _)| !id.contains("slices"))
        .collect();
    assert!(
        !told(&without_slices, 100).contains("ghost"),
        "absence is not concluded from what was not read"
    );
}

#[test]
fn no_series_is_told_twice_and_the_rest_is_counted() {
    let other = SYNC.0.replace("istiod/", "2/istiod/");
    let metrics = told(&[PODS, SYNC, (&other, SYNCZ)], 1);
    let names: Vec<_> = metrics
        .lines()
        .filter_map(|line| line.rsplit_once(' ').map(|(name, _)| name))
        .collect();
    let distinct: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(names.len(), distinct.len(), "{metrics}");
    assert!(
        has(
            &metrics,
            "meshladder_series_dropped{name=\"meshladder_proxy_connected\"} 1"
        ),
        "{metrics}"
    );
    assert!(
        has(&metrics, "meshladder_last_read_timestamp_seconds 7"),
        "{metrics}"
    );
}
