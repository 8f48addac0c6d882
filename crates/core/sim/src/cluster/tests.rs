use super::*;

const PANIC_OFF: &str = r#""common_lb_config":{"healthy_panic_threshold":{}}"#;

/// A dump with one cluster `c` and its endpoints, each `port health priority metadata`.
fn dump(cluster: &str, endpoints: &[(u16, &str, u64, &str)]) -> String {
    let groups: Vec<_> = endpoints
        .iter()
        .map(|(port, health, priority, metadata)| {
            format!(
                r#"{{"priority":{priority},"lb_endpoints":[{{"endpoint":{{"address":{{"socket_address":{{"address":"10.0.0.1","port_value":{port}}}}}}},"health_status":"{health}","metadata":{{"filter_metadata":{{"envoy.transport_socket_match":{metadata}}}}}}}]}}"#
            )
        })
        .collect();
    format!(
        r#"{{"configs":[
            {{"@type":"type.googleapis.com/envoy.admin.v3.ClustersConfigDump",
              "dynamic_active_clusters":[{{"cluster":{{"name":"c","type":"EDS","eds_cluster_config":{{"service_name":"s"}},{cluster}}}}}],
              "dynamic_warming_clusters":[{{"cluster":{{"name":"warming","type":"STATIC"}}}}]}},
            {{"@type":"type.googleapis.com/envoy.admin.v3.EndpointsConfigDump",
              "dynamic_endpoint_configs":[{{"endpoint_config":{{"cluster_name":"s","endpoints":[{}],
                "policy":{{"overprovisioning_factor":140}}}}}}]}}]}}"#,
        groups.join(",")
    )
}

/// `port percent` of every endpoint that `c` may pick, or why there is none.
fn select(doc: &str, statuses: Option<&str>) -> String {
    let dump = Dump::index(doc, &[Section::Clusters, Section::Endpoints]).expect("a dump");
    let statuses = statuses.map(|doc| Statuses::read(doc).expect("an answer of /clusters"));
    let clusters = Clusters::compile(&dump, statuses.as_ref());
    let cluster = clusters.find("c").expect("the cluster");
    match cluster.select(
        Some(([10, 9, 9, 9].into(), 99)),
        &mut DecisionRecord::dropping(),
    ) {
        HostSelection::Endpoints { picks, .. } => {
            let words = |pick: &EndpointPick<'_, '_>| {
                let panic = if pick.in_panic { "!" } else { "" };
                format!("{} {}{panic}", pick.endpoint.address.port(), pick.percent)
            };
            picks.iter().map(words).collect::<Vec<_>>().join(", ")
        }
        HostSelection::Original(ip, port) => format!("{ip}:{port}"),
        HostSelection::None(why) => format!("none: {why}"),
        HostSelection::Unknown(fact) => format!("unknown: {fact}"),
    }
}

#[test]
fn with_panic_off_only_healthy_endpoints_are_picked() {
    let some = [
        (1, "HEALTHY", 0, "{}"),
        (2, "UNHEALTHY", 0, "{}"),
        (3, "UNHEALTHY", 0, "{}"),
        (4, "UNHEALTHY", 0, "{}"),
    ];
    assert_eq!(select(&dump(PANIC_OFF, &some), None), "1 100");
    assert_eq!(
        select(&dump(PANIC_OFF, &some[1..]), None),
        "none: no endpoint is healthy"
    );
    assert_eq!(
        select(&dump(PANIC_OFF, &[]), None),
        "none: the cluster has no endpoints"
    );
}

#[test]
fn half_of_the_endpoints_failing_is_panic_by_default() {
    let all = [(1, "UNHEALTHY", 0, "{}"), (2, "UNHEALTHY", 0, "{}")];
    assert_eq!(select(&dump(r#""x":0"#, &all), None), "1 100!, 2 100!");
}

#[test]
fn what_draining_hides_in_the_dump_is_told_by_clusters() {
    // One of two healthy is 70 of 100, unless the other one drains and does not count.
    let two = [
        (1, "HEALTHY", 0, "{}"),
        (2, "UNHEALTHY", 0, "{}"),
        (3, "HEALTHY", 1, "{}"),
    ];
    let doc = dump(PANIC_OFF, &two);
    assert_eq!(
        select(&doc, None),
        "unknown: which unhealthy endpoints are draining, as /clusters would tell"
    );
    let host = |port: u16, health: &str, priority: u64| {
        format!(
            r#"{{"address":{{"socket_address":{{"address":"10.0.0.1","port_value":{port}}}}},"health_status":{health},"priority":{priority}}}"#
        )
    };
    let statuses = |second: &str| {
        let healthy = r#"{"eds_health_status":"HEALTHY"}"#;
        let hosts = [host(1, healthy, 0), host(2, second, 0), host(3, healthy, 1)].join(",");
        format!(r#"{{"cluster_statuses":[{{"name":"c","host_statuses":[{hosts}]}}]}}"#)
    };
    let with = |second: &str| select(&doc, Some(&statuses(second)));
    assert_eq!(with(r#"{"eds_health_status":"DRAINING"}"#), "1 100");
    assert_eq!(with(r#"{"eds_health_status":"UNHEALTHY"}"#), "1 70, 3 30");
    assert_eq!(
        with(r#"{"eds_health_status":"HEALTHY","failed_outlier_check":true}"#),
        "1 70, 3 30"
    );
    assert_eq!(with(r#"{"eds_health_status":"HEALTHY"}"#), "1 100, 2 100");
}

#[test]
fn endpoints_that_nothing_tells_are_unknown() {
    let doc = dump(PANIC_OFF, &[]).replace("EndpointsConfigDump", "RoutesConfigDump");
    assert_eq!(select(&doc, None), "unknown: the endpoints of c");
    assert_eq!(
        select(&doc, Some(r#"{"cluster_statuses":[{"name":"c"}]}"#)),
        "none: the cluster has no endpoints"
    );
}

#[test]
fn an_original_destination_is_where_the_client_wanted_to_go() {
    let of = |more: &str| {
        let doc = format!(
            r#"{{"configs":[{{"@type":"type.googleapis.com/envoy.admin.v3.ClustersConfigDump","static_clusters":[
                {{"cluster":{{"name":"c","type":"ORIGINAL_DST"{more}}}}}]}}]}}"#
        );
        select(&doc, None)
    };
    assert_eq!(of(""), "10.9.9.9:99");
    assert_eq!(
        of(r#","original_dst_lb_config":{"upstream_port_override":15008}"#),
        "10.9.9.9:15008"
    );
    let by_header = of(r#","original_dst_lb_config":{"use_http_header":true}"#);
    assert!(
        by_header.starts_with("unknown: what a request header"),
        "{by_header}"
    );
}

#[test]
fn only_clusters_in_use_are_found() {
    let doc = dump(PANIC_OFF, &[]);
    let dump = Dump::index(&doc, &[Section::Clusters, Section::Endpoints]).expect("a dump");
    let clusters = Clusters::compile(&dump, None);
    assert!(clusters.find("warming").is_none());
    assert_eq!(
        clusters
            .iter()
            .map(|cluster| &*cluster.name)
            .collect::<Vec<_>>(),
        ["c"]
    );
}

#[test]
fn the_endpoints_metadata_chooses_the_transport() {
    let tls = r#"{"name":"envoy.transport_sockets.tls","typed_config":{"@type":"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext","sni":"outbound_.80_._.c","common_tls_context":{"alpn_protocols":["istio"],"tls_certificate_sds_secret_configs":[{"name":"default"}]}}}"#;
    let simple = r#"{"name":"envoy.transport_sockets.tls","typed_config":{"@type":"type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"}}"#;
    let matches = format!(
        r#""transport_socket_matches":[{{"match":{{"tlsMode":"istio"}},"transport_socket":{tls}}},{{"match":{{"tlsMode":"disabled"}}}}],"transport_socket":{simple}"#
    );
    let endpoints = [
        (1, "HEALTHY", 0, r#"{"tlsMode":"istio"}"#),
        (2, "HEALTHY", 0, r#"{"tlsMode":"disabled"}"#),
        (3, "HEALTHY", 0, "{}"),
    ];
    let doc = dump(&matches, &endpoints);
    let dump = Dump::index(&doc, &[Section::Clusters, Section::Endpoints]).expect("a dump");
    let clusters = Clusters::compile(&dump, None);
    let cluster = clusters.find("c").expect("the cluster");
    let mode = |endpoint| {
        TlsMode::of(cluster.transport(endpoint).expect("it is known")).map(TlsMode::word)
    };
    let modes: Vec<_> = cluster
        .endpoints
        .iter()
        .map(|endpoint| mode(Some(endpoint)))
        .collect();
    assert_eq!(modes, [Some("istio-mtls"), Some("none"), Some("simple")]);
    assert_eq!(mode(None), Some("simple"));

    // An endpoint that only /clusters knows has metadata that nobody knows.
    let statuses = r#"{"cluster_statuses":[{"name":"c","host_statuses":[{"address":{"socket_address":{"address":"10.0.0.2","port_value":1}}}]}]}"#;
    let statuses = Statuses::read(statuses).expect("an answer of /clusters");
    let clusters = Clusters::compile(&dump, Some(&statuses));
    let cluster = clusters.find("c").expect("the cluster");
    assert_eq!(
        cluster
            .transport(cluster.endpoints.first())
            .err()
            .as_deref(),
        Some("the metadata of the endpoint")
    );
}

#[test]
fn policies_of_their_own_are_named() {
    let one = [(1, "HEALTHY", 0, "{}")];
    let subset = select(&dump(r#""lb_subset_config":{}"#, &one), None);
    assert_eq!(
        subset,
        "unknown: what subset load balancing decides, which is not modelled"
    );
    let policy = |message: &str| {
        format!(
            r#""load_balancing_policy":{{"policies":[{{"typed_extension_config":{{"typed_config":{{"@type":"type.googleapis.com/envoy.extensions.load_balancing_policies.x.v3.{message}"}}}}}}]}}"#
        )
    };
    assert_eq!(select(&dump(&policy("LeastRequest"), &one), None), "1 100");
    let other = select(&dump(&policy("Subset"), &one), None);
    assert_eq!(
        other,
        "unknown: what the load balancing policy Subset decides, which is not modelled"
    );
}

#[test]
fn facts_for_display() {
    let doc = dump(
        r#""connect_timeout":"10s","circuit_breakers":{"thresholds":[{"priority":"HIGH","max_requests":1},{"max_requests":7}]},
           "upstream_bind_config":{"source_address":{"address":"127.0.0.6","port_value":0}},
           "typed_extension_protocol_options":{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions":{"explicit_http_config":{"http2_protocol_options":{}}}}"#,
        &[],
    );
    let dump = Dump::index(&doc, &[Section::Clusters, Section::Endpoints]).expect("a dump");
    let clusters = Clusters::compile(&dump, None);
    let cluster = clusters.find("c").expect("the cluster");
    assert_eq!(cluster.connect_timeout(), "10s");
    let limits = Thresholds {
        connections: 1024,
        pending_requests: 1024,
        requests: 7,
        retries: 3,
    };
    assert_eq!(cluster.thresholds(), limits);
    assert_eq!(cluster.source_address().as_deref(), Some("127.0.0.6"));
    assert_eq!(cluster.protocol(), Protocol::Http2);
    assert!(cluster.outlier_detection().is_none());
}
