use super::*;

const TYPES: &str = "type.googleapis.com/envoy.extensions.filters.network";

fn filter(kind: &str, message: &str, more: &str) -> String {
    format!(
        r#"{{"name":"envoy.filters.network.{kind}","typed_config":{{"@type":"{TYPES}.{kind}.v3.{message}"{more}}}}}"#
    )
}

fn tcp_proxy() -> String {
    filter("tcp_proxy", "TcpProxy", r#","cluster":"a""#)
}

/// Where filters lead, when RBAC filters answer `allows`.
fn evaluate(filters: &[String], server_name: &str, allows: &Tri) -> String {
    let doc = format!(r#"{{"filters":[{}]}}"#, filters.join(","));
    let compiled = NetworkFilters::compile(Raw::of(&doc).expect("JSON"));
    match compiled.evaluate(
        server_name,
        |_| allows.clone(),
        &mut DecisionRecord::dropping(),
    ) {
        NetworkOutcome::Http(_) => "http".to_owned(),
        NetworkOutcome::Tcp(tcp) => {
            let branches: Vec<_> = tcp
                .branches
                .iter()
                .map(|b| format!("{} {}/{}", b.cluster, b.weight, b.total))
                .collect();
            let denied = tcp.denied.map_or("", |_| ", denied");
            format!("{}{denied}", branches.join(", "))
        }
        NetworkOutcome::Answered(_) => "answered".to_owned(),
        NetworkOutcome::Denied(filter) => format!("denied by {}", filter.name),
        NetworkOutcome::Nothing => "nothing".to_owned(),
        NetworkOutcome::Undecided(fact) => format!("undecided: {fact}"),
    }
}

#[test]
fn the_last_filter_takes_the_connection() {
    let http = filter("http_connection_manager", "HttpConnectionManager", "");
    assert_eq!(evaluate(&[http], "", &Tri::Yes), "http");
    assert_eq!(evaluate(&[tcp_proxy()], "", &Tri::Yes), "a 1/1");
    assert_eq!(
        evaluate(&[filter("direct_response", "Config", "")], "", &Tri::Yes),
        "answered"
    );
    assert_eq!(evaluate(&[], "", &Tri::Yes), "nothing");
}

#[test]
fn weighted_clusters_are_branches() {
    let clusters = r#","weighted_clusters":{"clusters":[{"name":"a","weight":3},{"name":"b","weight":1},{"name":"c","weight":0}]}"#;
    assert_eq!(
        evaluate(&[filter("tcp_proxy", "TcpProxy", clusters)], "", &Tri::Yes),
        "a 3/4, b 1/4"
    );
}

#[test]
fn the_server_name_can_be_the_cluster() {
    let filters = [filter("sni_cluster", "SniCluster", ""), tcp_proxy()];
    assert_eq!(
        evaluate(&filters, "outbound_.80_._.b", &Tri::Yes),
        "outbound_.80_._.b 1/1"
    );
    assert_eq!(evaluate(&filters, "", &Tri::Yes), "a 1/1");
}

#[test]
fn rbac_denies_http_at_once_and_tcp_after_connecting() {
    let rbac = || filter("rbac", "RBAC", "");
    let http = || filter("http_connection_manager", "HttpConnectionManager", "");
    assert_eq!(
        evaluate(&[rbac(), http()], "", &Tri::No),
        "denied by envoy.filters.network.rbac"
    );
    assert_eq!(
        evaluate(&[rbac(), tcp_proxy()], "", &Tri::No),
        "a 1/1, denied"
    );
    assert_eq!(evaluate(&[rbac(), tcp_proxy()], "", &Tri::Yes), "a 1/1");
    assert_eq!(
        evaluate(&[rbac(), tcp_proxy()], "", &Tri::unknown("who calls")),
        "undecided: who calls"
    );
}

#[test]
fn filters_that_only_look_on_change_nothing() {
    let stats = r#"{"name":"istio.stats","typed_config":{"@type":"type.googleapis.com/stats.PluginConfig"}}"#;
    let filters = [
        filter("mysql_proxy", "MySQLProxy", ""),
        stats.to_owned(),
        tcp_proxy(),
    ];
    assert_eq!(evaluate(&filters, "", &Tri::Yes), "a 1/1");
    let typed_struct = format!(
        r#"{{"name":"x","typed_config":{{"@type":"type.googleapis.com/udpa.type.v1.TypedStruct","type_url":"{TYPES}.tcp_proxy.v3.TcpProxy","value":{{"cluster":"t"}}}}}}"#
    );
    assert_eq!(evaluate(&[typed_struct], "", &Tri::Yes), "t 1/1");
}

#[test]
fn filters_that_decide_in_their_own_way_are_named() {
    for kind in [
        "redis_proxy",
        "ext_authz",
        "connection_limit",
        "local_ratelimit",
        "thrift_proxy",
    ] {
        let expected = format!(
            "undecided: what the network filter envoy.filters.network.{kind} decides, which is not modelled"
        );
        assert_eq!(
            evaluate(&[filter(kind, "X", ""), tcp_proxy()], "", &Tri::Yes),
            expected
        );
    }
}
