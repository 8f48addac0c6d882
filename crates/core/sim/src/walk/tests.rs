use super::*;
use crate::request::Claims;
use crate::trace::EndKind;
use meshladder_capture::snapshot::{Builder, DocId};

const TYPES: &str = "type.googleapis.com/envoy.extensions.filters";

/// A dump with one listener on port 80, which leads to this connection manager.
fn dump(ips: &str, filters: &str, routes: &str, more: &str, clusters: &str) -> String {
    let manager = format!(
        r#"{{"@type": "{TYPES}.network.http_connection_manager.v3.HttpConnectionManager", {more}
            "http_filters": [{filters}{{"name": "router", "typed_config": {{"@type": "{TYPES}.http.router.v3.Router"}}}}],
            "route_config": {{"name": "80", "virtual_hosts": [{{"name": "all", "domains": ["*"], "routes": [{routes}]}}]}}}}"#
    );
    format!(
        r#"{{"configs": [
          {{"@type": "type.googleapis.com/envoy.admin.v3.BootstrapConfigDump",
            "bootstrap": {{"node": {{"id": "sidecar~x", "metadata": {{"INSTANCE_IPS": "{ips}"}}}}}}}},
          {{"@type": "type.googleapis.com/envoy.admin.v3.ClustersConfigDump", "static_clusters": [{clusters}]}},
          {{"@type": "type.googleapis.com/envoy.admin.v3.ListenersConfigDump", "static_listeners": [
            {{"last_updated": "2026-11-15T06:33:08.822Z", "listener": {{"name": "in",
              "address": {{"socket_address": {{"address": "0.0.0.0", "port_value": 80}}}},
              "filter_chains": [{{"filters": [{{"name": "http", "typed_config": {manager}}}]}}]}}}}]}}]}}"#
    )
}

fn cluster(name: &str, address: &str) -> String {
    format!(
        r#"{{"cluster": {{"name": "{name}", "type": "STATIC", "load_assignment": {{"endpoints": [{{"lb_endpoints": [
            {{"endpoint": {{"address": {{"socket_address": {{"address": "{address}", "port_value": 80}}}}}}}}]}}]}}}}}}"#
    )
}

/// A client with these routes and filters, and a server that denies a request with the header
/// `x-added: bad`.
fn snapshot(routes: &str, filters: &str, more: &str) -> Snapshot {
    let clusters = [cluster("one", "10.0.0.2"), cluster("two", "10.0.0.3")].join(",");
    let denies = format!(
        r#"{{"name": "rbac", "typed_config": {{"@type": "{TYPES}.http.rbac.v3.RBAC", "rules": {{"action": "DENY", "policies": {{
            "ns[shop]-policy[p]-rule[0]": {{"principals": [{{"any": true}}], "permissions": [
                {{"header": {{"name": "x-added", "string_match": {{"exact": "bad"}}}}}}]}}}}}}}}}},"#
    );
    let any = r#"{"name": "app", "match": {"prefix": "/"}, "route": {"cluster": "app"}}"#;
    let mut builder = Builder::new();
    let mut add = |pod: &str, text: String| {
        builder.add(
            DocId::new(format!("proxies/shop/{pod}/config_dump.json")),
            pod,
            text.into(),
        );
    };
    add("client", dump("10.0.0.1", filters, routes, more, &clusters));
    add(
        "server",
        dump("10.0.0.2", &denies, any, "", &cluster("app", "127.0.0.1")),
    );
    builder.finish()
}

fn ask(path: &str, headers: &[(&str, &str)]) -> Call {
    Call {
        from: Caller::Pod {
            namespace: "shop".to_owned(),
            name: "client".to_owned(),
        },
        to: Url::parse(&format!("http://10.0.0.9{path}")).expect("a URL"),
        method: "GET".to_owned(),
        headers: headers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect(),
        http: "1.1".to_owned(),
        sni: None,
        source_ip: None,
        principal: None,
        claims: Claims::None,
    }
}

fn ends(snapshot: &Snapshot, call: &Call) -> Vec<(EndKind, u16, String)> {
    let trace = trace(snapshot, &Mesh::default(), call, true);
    trace
        .branches
        .iter()
        .map(|branch| (branch.end.kind, branch.end.code, branch.end.details.clone()))
        .collect()
}

fn forwarded() -> (EndKind, u16, String) {
    (EndKind::Forwarded, 200, "via_upstream".to_owned())
}

#[test]
fn headers_that_a_route_adds_reach_the_next_proxy() {
    let route = |value: &str| {
        format!(
            r#"{{"name": "r", "match": {{"prefix": "/"}}, "route": {{"cluster": "one"}},
                "request_headers_to_add": [{{"header": {{"key": "x-added", "value": "{value}"}}}}]}}"#
        )
    };
    let denied = (
        EndKind::Denied,
        403,
        "rbac_access_denied_matched_policy[ns[shop]-policy[p]-rule[0]]".to_owned(),
    );
    assert_eq!(
        ends(&snapshot(&route("bad"), "", ""), &ask("/", &[])),
        [denied]
    );
    assert_eq!(
        ends(&snapshot(&route("good"), "", ""), &ask("/", &[])),
        [forwarded()]
    );
    let unknown = ends(&snapshot(&route("%REQ(x)%"), "", ""), &ask("/", &[]));
    assert_eq!(
        unknown[0].0,
        EndKind::Undecided,
        "the value that the formatter gives is not known"
    );
}

#[test]
fn each_branch_of_weighted_clusters_has_its_own_filter_settings() {
    let filter = format!(
        r#"{{"name": "rbac", "typed_config": {{"@type": "{TYPES}.http.rbac.v3.RBAC", "rules": {{"action": "ALLOW"}}}}}},"#
    );
    let none = format!(
        r#""typed_per_filter_config": {{"rbac": {{"@type": "{TYPES}.http.rbac.v3.RBACPerRoute"}}}}"#
    );
    let routes = format!(
        r#"{{"name": "r", "match": {{"prefix": "/"}}, "route": {{"weighted_clusters": {{"clusters": [
            {{"name": "one", "weight": 75, {none}}}, {{"name": "two", "weight": 25}}]}}}}}}"#
    );
    let denied = (
        EndKind::Denied,
        403,
        "rbac_access_denied_matched_policy[none]".to_owned(),
    );
    let snapshot = snapshot(&routes, &filter, "");
    assert_eq!(ends(&snapshot, &ask("/", &[])), [forwarded(), denied]);
    let trace = trace(&snapshot, &Mesh::default(), &ask("/", &[]), false);
    let weights: Vec<_> = trace.branches.iter().map(|branch| branch.weight).collect();
    assert_eq!(weights, [Some(0.75), Some(0.25)]);
}

#[test]
fn an_upgrade_that_is_not_configured_is_refused() {
    let route = r#"{"name": "r", "match": {"prefix": "/"}, "route": {"cluster": "two"}}"#;
    let upgrade = ask("/", &[("upgrade", "websocket"), ("connection", "upgrade")]);
    let refused = (EndKind::Answered, 403, "upgrade_failed".to_owned());
    assert_eq!(ends(&snapshot(route, "", ""), &upgrade), [refused]);
    let allowed = r#""upgrade_configs": [{"upgrade_type": "websocket"}],"#;
    assert_eq!(ends(&snapshot(route, "", allowed), &upgrade), [forwarded()]);
}

#[test]
fn each_hop_logs_its_own_answer() {
    let route = r#"{"name": "r", "match": {"prefix": "/a"}, "route": {"cluster": "one"}}"#;
    let snapshot = snapshot(route, "", "");
    let log = |path: &str| {
        trace(&snapshot, &Mesh::default(), &ask(path, &[]), false).hops[0]
            .log
            .clone()
    };
    let own = log("/b");
    assert_eq!(
        (own.code, &*own.details, &own.flags[..]),
        (404, "route_not_found", &["NR"][..])
    );
    let passed = log("/a");
    assert_eq!(
        (passed.code, &*passed.details, passed.cluster.as_deref()),
        (200, "via_upstream", Some("one"))
    );
}

#[test]
fn a_walk_that_is_kept_says_the_same_as_a_new_one() {
    let route = r#"{"name": "r", "match": {"prefix": "/a"}, "route": {"cluster": "one"}}"#;
    let snapshot = snapshot(route, "", "");
    let (mesh, documents) = (Mesh::default(), Documents::of(&snapshot));
    let walk = Walk::new(&documents, &mesh);
    for call in [
        ask("/a", &[]),
        ask("/b", &[]),
        ask("/a", &[("x-added", "bad")]),
        ask("/a", &[]),
    ] {
        let (kept, new) = (
            walk.trace(&call, Detail::Ends),
            trace(&snapshot, &mesh, &call, true),
        );
        assert_eq!(kept.outcome, new.outcome);
        assert_eq!(
            (kept.branches, &kept.hops[0].clusters),
            (new.branches, &new.hops[0].clusters)
        );
        assert!(kept.hops.iter().all(|hop| hop.steps.is_empty()));
    }
}

#[test]
fn a_call_to_a_service_s_own_address_is_led_on_to_its_pods() {
    const OBJECTS: &str = r"
apiVersion: v1
kind: Service
metadata: {name: server, namespace: shop}
spec: {clusterIP: 10.0.0.3, selector: {app: server}, ports: [{port: 80, targetPort: 80}]}
---
apiVersion: v1
kind: Pod
metadata: {name: server, namespace: shop, labels: {app: server}}
spec: {containers: [{name: app}, {name: istio-proxy}]}
status: {phase: Running, podIP: 10.0.0.2}
";
    // The second cluster's only endpoint is the Service's address.
    let route = r#"{"name": "r", "match": {"prefix": "/"}, "route": {"cluster": "two"},
        "request_headers_to_add": [{"header": {"key": "x-added", "value": "bad"}}]}"#;
    let dumps = snapshot(route, "", "");
    let mut builder = Builder::new();
    builder.add(DocId::new("k8s/all.yaml"), "all.yaml", OBJECTS.into());
    let mesh = Mesh::build(&builder.finish());
    let trace = trace(&dumps, &mesh, &ask("/", &[]), true);
    assert_eq!(
        trace.outcome.kind,
        EndKind::Denied,
        "{}",
        trace.outcome.because
    );
    assert_eq!(trace.hops.len(), 2);
}
