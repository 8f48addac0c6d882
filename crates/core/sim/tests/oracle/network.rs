//! Network filters: where they lead a connection, and what ends it first. Envoy's counters tell
//! what it did.

use std::net::{Ipv4Addr, TcpListener};

use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_sim::listener::{Arrival, ListenerPick, Listeners};
use meshladder_sim::network::{NetworkFilter, NetworkFilters, NetworkOutcome};
use meshladder_sim::request::{Connection, Tls};
use meshladder_sim::{DecisionRecord, Tri, chain::ChainChoice};
use serde_json::{Value, json};

use crate::chain::listener_filter;
use crate::harness::{Coverage, Envoy, bootstrap, cluster, connection_manager, listener};
use crate::wire;

const CLUSTERS: [&str; 3] = ["one", "two", "three"];

/// A listener's filters, the server name of the client's TLS, and what comes of it.
struct Case {
    name: &'static str,
    filters: Vec<Value>,
    sni: Option<&'static str>,
    expected: &'static str,
}

#[test]
fn network_filters_lead_where_envoy_goes() {
    let cases = cases();
    let listeners = cases
        .iter()
        .map(|case| bound(case.name, case.filters.clone()))
        .collect();
    // An endpoint that takes connections and says nothing.
    let up = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("there is a free port");
    let envoy = Envoy::start(&bootstrap(
        listeners,
        clusters(up.local_addr().expect("it is bound").port()),
    ));
    let mut coverage = Coverage::default();
    for case in &cases {
        let connection = connection(case.sni, envoy.port(case.name));
        let before = counters(&envoy, case.name);
        wire::exchange(
            connection.destination.into(),
            &wire::first_bytes(&connection),
        );
        let after = counters(&envoy, case.name);
        let grown: Vec<_> = after
            .iter()
            .zip(&before)
            .filter(|(a, b)| a.1 > b.1)
            .map(|(a, _)| a.0)
            .collect();
        assert_eq!(grown.join(", "), case.expected, "Envoy, {}", case.name);
        assert_eq!(
            ours(&envoy, case.name, &connection),
            case.expected,
            "ours, {}",
            case.name
        );
        coverage.hit(case.expected, true);
    }
    coverage.conclude(
        "network filters",
        &[],
        &["NC", "UH one", "UH two", "UH three", "denied", "http"],
    );
}

fn cases() -> Vec<Case> {
    let case = |name, filters, sni, expected| Case {
        name,
        filters,
        sni,
        expected,
    };
    vec![
        case(
            "missing cluster",
            vec![tcp_proxy("missing cluster", "nowhere")],
            None,
            "NC",
        ),
        case(
            "empty cluster",
            vec![tcp_proxy("empty cluster", "one")],
            None,
            "UH one",
        ),
        case(
            "denied, empty",
            vec![rbac("denied, empty", false), tcp_proxy("d", "one")],
            None,
            "UH one",
        ),
        case(
            "denied, missing",
            vec![
                rbac("denied, missing", false),
                tcp_proxy("denied, missing", "x"),
            ],
            None,
            "NC",
        ),
        case(
            "denied",
            vec![rbac("denied", false), tcp_proxy("t", "up")],
            None,
            "denied",
        ),
        case(
            "allowed",
            vec![rbac("allowed", true), tcp_proxy("a", "two")],
            None,
            "UH two",
        ),
        case(
            "by name",
            vec![sni_cluster(), tcp_proxy("by name", "one")],
            Some("three"),
            "UH three",
        ),
        case(
            "by no name",
            vec![sni_cluster(), tcp_proxy("by no name", "one")],
            None,
            "UH one",
        ),
        case(
            "HTTP denied",
            vec![rbac("HTTP denied", false), manager("HTTP denied")],
            None,
            "denied",
        ),
        case(
            "HTTP allowed",
            vec![rbac("HTTP allowed", true), manager("HTTP allowed")],
            None,
            "http",
        ),
    ]
}

/// What ours says, in the words of [`counters`].
fn ours(envoy: &Envoy, name: &str, connection: &Connection) -> String {
    let dump = envoy.admin("/config_dump");
    let dump = Dump::index(&dump, &[Section::Listeners]).expect("a config dump");
    let listeners = Listeners::compile(&dump);
    let mut record = DecisionRecord::keeping();
    // Envoy's dump has port 0, so the listener is taken by its name.
    let taken = ListenerPick {
        listener: listeners.find(name).expect("it is there"),
        how: Arrival::Bound,
        from: None,
    };
    let ChainChoice::Chain(chain) = taken.chain(connection, &mut record) else {
        return "no chain".to_owned();
    };
    let seen = taken.inspect(connection).expect("all is modelled");
    let filters = NetworkFilters::compile(chain.raw);
    let allows = |filter: &NetworkFilter<'_>| {
        Tri::from(
            filter
                .config
                .is_some_and(|config| config.text().contains("\"any\"")),
        )
    };
    match filters.evaluate(&seen.server_name, allows, &mut record) {
        NetworkOutcome::Http(_) => "http".to_owned(),
        NetworkOutcome::Tcp(tcp) => match (&*tcp.branches[0].cluster, tcp.denied) {
            (empty, _) if CLUSTERS.contains(&empty) => format!("UH {empty}"),
            ("up", Some(_)) => "denied".to_owned(),
            ("up", None) => "up".to_owned(),
            _ => "NC".to_owned(),
        },
        NetworkOutcome::Denied(_) => "denied".to_owned(),
        other => format!("{other:?}"),
    }
}

/// What Envoy has counted, by what it means.
fn counters(envoy: &Envoy, name: &str) -> Vec<(&'static str, u64)> {
    let stats = envoy.admin("/stats");
    let value = |stat: &str| {
        let line = stats
            .lines()
            .find_map(|line| line.strip_prefix(stat)?.strip_prefix(": "));
        line.and_then(|value| value.parse().ok()).unwrap_or(0)
    };
    let name = name.replace(' ', "_");
    let name = &name;
    vec![
        ("NC", value(&format!("tcp.{name}.downstream_cx_no_route"))),
        ("UH one", value("cluster.one.upstream_cx_none_healthy")),
        ("UH two", value("cluster.two.upstream_cx_none_healthy")),
        ("UH three", value("cluster.three.upstream_cx_none_healthy")),
        ("denied", value(&format!("{name}.rbac.denied"))),
        ("http", value(&format!("http.{name}.downstream_rq_total"))),
    ]
}

fn bound(name: &str, filters: Vec<Value>) -> Value {
    let mut listener = listener(name, filters);
    listener["listener_filters"] = json!([listener_filter("tls_inspector", "TlsInspector")]);
    listener
}

fn clusters(up: u16) -> Vec<Value> {
    let address = json!({"socket_address": {"address": "127.0.0.1", "port_value": up}});
    let mut reachable = cluster("up");
    reachable["load_assignment"]["endpoints"] =
        json!([{"lb_endpoints": [{"endpoint": {"address": address}}]}]);
    CLUSTERS
        .iter()
        .map(|name| cluster(name))
        .chain([reachable])
        .collect()
}

fn connection(sni: Option<&str>, port: u16) -> Connection {
    let tls = sni.map(|sni| Tls {
        sni: Some(sni.to_owned()),
        ..Tls::default()
    });
    let source = Some(([127, 0, 0, 1].into(), 4000));
    Connection {
        destination: ([127, 0, 0, 1].into(), port),
        source,
        tls,
        plain_http: Some("http/1.1"),
    }
}

fn filter(kind: &str, message: &str, mut config: Value) -> Value {
    config["@type"] =
        format!("type.googleapis.com/envoy.extensions.filters.network.{kind}.v3.{message}").into();
    json!({"name": format!("envoy.filters.network.{kind}"), "typed_config": config})
}

fn tcp_proxy(prefix: &str, cluster: &str) -> Value {
    filter(
        "tcp_proxy",
        "TcpProxy",
        json!({"stat_prefix": prefix.replace(' ', "_"), "cluster": cluster}),
    )
}

fn sni_cluster() -> Value {
    filter("sni_cluster", "SniCluster", json!({}))
}

/// Lets everything pass or nothing.
fn rbac(prefix: &str, allows: bool) -> Value {
    let policies = if allows {
        json!({"all": {"permissions": [{"any": true}], "principals": [{"any": true}]}})
    } else {
        json!({})
    };
    filter(
        "rbac",
        "RBAC",
        json!({"stat_prefix": format!("{}.", prefix.replace(' ', "_")), "rules": {"policies": policies}}),
    )
}

fn manager(prefix: &str) -> Value {
    let route = json!({"match": {"prefix": "/"}, "direct_response": {"status": 200}});
    let table = json!({"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]});
    let more = json!({"stat_prefix": prefix.replace(' ', "_")});
    connection_manager(table, Vec::new(), &more)
}
