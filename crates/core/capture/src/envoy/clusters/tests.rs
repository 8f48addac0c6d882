use super::*;

const JSON: &str = r#"{"cluster_statuses":[
 {"name":"empty","added_via_api":true},
 {"host_statuses":[
   {"address":{"socket_address":{"address":"10.0.0.1","port_value":80}},"health_status":{"eds_health_status":"HEALTHY","failed_outlier_check":true},
    "stats":[{"name":"rq_success","value":"7"},{"name":"rq_error","value":"3"},{"type":"GAUGE","name":"cx_active"}],
    "weight":1,"locality":{"region":"r","zone":"z"}},
   {"address":{"pipe":{"path":"./XDS"}},"health_status":{"eds_health_status":"UNHEALTHY"},"priority":1}],
  "name":"a"},
 {"name":"b","host_statuses":[{"address":{"envoy_internal_address":{"server_listener_name":"l","endpoint_id":"e"}},
   "health_status":{"failed_active_health_check":true,"active_hc_timeout":true}}]}]}"#;

const TEXT: &str = "\
empty::observability_name::empty;
empty::default_priority::max_connections::1024
a::default_priority::max_connections::1024
a::10.0.0.1:80::rq_success::7
a::10.0.0.1:80::rq_error::3
a::10.0.0.1:80::health_flags::/failed_outlier_check
a::10.0.0.1:80::weight::1
a::10.0.0.1:80::region::r
a::10.0.0.1:80::zone::z
a::10.0.0.1:80::sub_zone::
a::./XDS::health_flags::/failed_eds_health
a::./XDS::priority::1
b::added_via_api::true
b::envoy://l/e::health_flags::/failed_active_hc/active_hc_timeout
b::[2001:db8::1]:443::health_flags::healthy
";

/// Cluster, address, health and why.
fn facts(doc: &str) -> Vec<(String, String, String, &'static str)> {
    let json = as_json(doc).expect("an answer of /clusters");
    assert_eq!(meshladder_text::json::check(&json), Ok(()));
    let clusters = ClusterStatuses::read(&json).expect("an answer of /clusters");
    assert_eq!(clusters.empty, ["empty"]);
    let fact = |h: &HostStatus<'_>| {
        (
            clusters.name(h).to_string(),
            h.address.to_string(),
            h.health().0.into_owned(),
            h.health().1,
        )
    };
    clusters.hosts.iter().map(fact).collect()
}

#[test]
fn json_and_text_say_the_same() {
    let expected = [
        ("a", "10.0.0.1:80", "EJECTED", "outlier detection"),
        ("a", "unix://./XDS", "UNHEALTHY", "istiod says so (EDS)"),
        (
            "b",
            "envoy://l/e",
            "UNHEALTHY",
            "active health check timed out",
        ),
    ]
    .map(|(c, a, h, why)| (c.to_owned(), a.to_owned(), h.to_owned(), why));
    assert_eq!(facts(JSON), expected);
    assert_eq!(facts(TEXT)[..3], expected);
}

#[test]
fn counters_weight_priority_and_locality_are_read_from_both_forms() {
    for doc in [JSON, TEXT] {
        let json = as_json(doc).expect("an answer of /clusters");
        let clusters = ClusterStatuses::read(&json).expect("an answer of /clusters");
        let host = &clusters.hosts[0];
        assert_eq!(
            (
                host.counter("rq_success"),
                host.counter("rq_error"),
                host.counter("none")
            ),
            (7, 3, 0)
        );
        assert_eq!(
            (host.weight(), host.locality().as_str(), host.priority()),
            (Some(1), "r/z", 0)
        );
        assert_eq!(clusters.hosts[1].priority(), 1);
        let statuses: Vec<_> = clusters
            .statuses
            .iter()
            .map(|s| s.string_at("name"))
            .collect();
        assert_eq!(
            (statuses[0].as_deref(), clusters.hosts[2].status),
            (Some("a"), 1)
        );
    }
}

#[test]
fn an_ipv6_host_is_told_from_its_cluster_in_text() {
    let json = as_json(TEXT).expect("an answer of /clusters");
    let clusters = ClusterStatuses::read(&json).expect("an answer of /clusters");
    assert_eq!(
        clusters.hosts[3].address,
        HostAddress::Socket("2001:db8::1".into(), 443)
    );
    assert_eq!(clusters.name(&clusters.hosts[3]), "b");
}

#[test]
fn what_is_no_answer_of_clusters_is_refused_and_a_cut_one_yields_its_start() {
    for doc in ["", "[]", "{\"a\":1}", "hello world", "a: 1"] {
        assert!(
            as_json(doc).is_err() || ClusterStatuses::read(doc).is_err(),
            "{doc:?}"
        );
    }
    assert!(ClusterStatuses::read("{}").is_ok_and(|c| c.hosts.is_empty()));
    let cut = &JSON[..JSON.find("\"pipe\"").expect("it is there")];
    let clusters = ClusterStatuses::read(cut).expect("the start of an answer");
    assert_eq!(clusters.hosts[0].address.to_string(), "10.0.0.1:80");
    assert_eq!(clusters.fault.map(|f| f.at), Some(cut.len()));
}
