//! Identities from real certificates: one Envoy is the client of another listener of its own.

use meshladder_sim::filters::{FilterEnvironment, HttpFilters, Overrides, UpstreamState};
use meshladder_sim::rbac::RbacRule;
use meshladder_sim::request::Tls;
use meshladder_sim::runtime::Runtime;
use meshladder_sim::{DecisionRecord, RequestState, Tri};
use meshladder_text::json::Raw;
use meshladder_text::time::Time;
use serde_json::{Value, json};

use super::{filters, generate, host};
use crate::ask::{self, Said, on_the_wire};
use crate::certificate::Certificate;
use crate::harness::{
    Client, Coverage, Envoy, Part, Random, bootstrap, cluster, connection_manager, listener,
};

/// What clients present; the last one presents nothing.
const CLIENTS: [Option<&[&str]>; 5] = [
    Some(&["spiffe://cluster.local/ns/shop/sa/cart"]),
    Some(&["spiffe://td/ns/tools/sa/curl"]),
    Some(&[
        "spiffe://other/ns/x/sa/y",
        "spiffe://cluster.local/ns/shop/sa/cart-2",
    ]),
    Some(&[]),
    None,
];

#[test]
fn identities_agree_with_envoy() {
    let part = Part::begin("identities", 2_000);
    let mut random = Random::new(part.seed);
    let leaves: Vec<_> = (0..60).map(|_| principal(&mut random)).collect();
    let hosts: Vec<_> = leaves
        .iter()
        .enumerate()
        .map(|(number, leaf)| host(number, &policy(leaf)))
        .collect();
    let manager = connection_manager(
        json!({"virtual_hosts": hosts}),
        filters(),
        &json!({"use_remote_address": true}),
    );
    let text = manager.to_string();
    let socket = format!("@meshladder-oracle-{}", std::process::id());
    let envoy = Envoy::start(&configuration(manager, &socket));
    let mut clients: Vec<_> = (0..CLIENTS.len())
        .map(|number| Client::new(envoy.port(&number.to_string())))
        .collect();

    let manager = Raw::of(&text)
        .expect("JSON")
        .get("typed_config")
        .expect("a manager");
    let runtime = Runtime::default();
    let chain = HttpFilters::compile(manager, &runtime, &|_| None);
    let hosts: Vec<_> = manager
        .get("route_config")
        .expect("routes")
        .list("virtual_hosts")
        .collect();
    let mut coverage = Coverage::default();
    for _ in 0..part.total {
        let (number, client) = (random.below(hosts.len()), random.below(CLIENTS.len()));
        let mut request = ask::request(
            generate::socket("127.0.0.1:1"),
            generate::socket("127.0.0.1:80"),
        );
        let peer = CLIENTS[client].map(|uris| uris.iter().map(|uri| (*uri).to_owned()).collect());
        request.connection.tls = Some(Tls {
            peer,
            sni: Some("b.test".to_owned()),
            ..Tls::default()
        });
        request.authority = format!("{number}.test");
        let mut state = RequestState::new(&request);
        let overrides = Overrides::compile(&[hosts[number]], &runtime);
        let environment = FilterEnvironment {
            now: Time::from_seconds(0),
            upstream: &|_| UpstreamState::Usable,
            cluster: Some("empty"),
        };
        let walk = chain.evaluate(
            &overrides,
            &mut state,
            &environment,
            &mut DecisionRecord::dropping(),
        );
        let answer = clients[client].send(&on_the_wire(&request));
        let context = || format!("{:?} against {}", CLIENTS[client], leaves[number]);
        assert_eq!(
            Said::by_walk(&walk),
            Ok(Said::by_envoy(&answer)),
            "{}",
            context()
        );
        let leaf = leaves[number].to_string();
        let name = leaves[number]
            .as_object()
            .and_then(|leaf| leaf.keys().next())
            .expect("a principal")
            .clone();
        let rule = RbacRule::principal(Raw::of(&leaf).expect("JSON"));
        coverage.hit(&name, rule.matches(&state) == Tri::Yes);
    }
    coverage.conclude("identities", &["authenticated", "and_ids"], &[]);
}

fn principal(random: &mut Random) -> Value {
    const NAMES: [&str; 7] = [
        "spiffe://cluster.local/ns/shop/sa/cart",
        "spiffe://cluster.local/ns/shop/sa/cart-2",
        "spiffe://td/ns/tools/sa/curl",
        "spiffe://",
        "",
        "/sa/cart",
        "spiffe://other/ns/x/sa/y",
    ];
    let name = *random.pick(&NAMES);
    let kinds = ["exact", "prefix", "suffix", "contains"];
    let matcher = match random.below(8) {
        0 => {
            json!({"safe_regex": {"regex": random.pick(&[".*", ".+", "spiffe://.*/ns/shop/.*", ".*/sa/c.*"])}})
        }
        1 | 2 if !name.is_empty() => json!({*random.pick(&kinds[1..]): name}),
        _ => json!({"exact": name}),
    };
    match random.below(10) {
        0 => json!({"authenticated": {}}),
        1 => {
            json!({"and_ids": {"ids": [{"authenticated": {}}, {"not_id": {"authenticated": {"principal_name": matcher}}}]}})
        }
        _ => json!({"authenticated": {"principal_name": matcher}}),
    }
}

fn policy(principal: &Value) -> Value {
    json!({"rules": {"action": "ALLOW", "policies": {"identity": {
        "permissions": [{"requested_server_name": {"suffix": ".test"}}], "principals": [principal]}}}})
}

/// A TLS listener with the policies, and a plain one in front of it for each client.
fn configuration(manager: Value, socket: &str) -> Value {
    let server = Certificate::with_uris(&["spiffe://cluster.local/ns/shop/sa/server"]);
    let pipe = json!({"pipe": {"path": socket}});
    let mut inside = listener("inside", vec![manager]);
    inside["address"] = pipe.clone();
    inside["listener_filters"] = json!([{"name": "tls", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.filters.listener.tls_inspector.v3.TlsInspector"}}]);
    inside["filter_chains"][0]["transport_socket"] = json!({"name": "tls", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext",
        "common_tls_context": tls_context(Some(&server), &server)}});
    let mut listeners = vec![inside];
    let mut clusters = vec![cluster("empty")];
    for (number, uris) in CLIENTS.iter().enumerate() {
        let certificate = uris.map(Certificate::with_uris);
        let name = number.to_string();
        let route = json!({"match": {"prefix": "/"}, "route": {"cluster": name}});
        let table =
            json!({"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]});
        listeners.push(listener(
            &name,
            vec![connection_manager(table, Vec::new(), &json!({}))],
        ));
        let mut to_inside = cluster(&name);
        to_inside["load_assignment"]["endpoints"] =
            json!([{"lb_endpoints": [{"endpoint": {"address": pipe}}]}]);
        to_inside["transport_socket"] = json!({"name": "tls", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
            "sni": "b.test",
            "common_tls_context": tls_context(certificate.as_ref(), &server)}});
        clusters.push(to_inside);
    }
    bootstrap(listeners, clusters)
}

fn tls_context(certificate: Option<&Certificate>, trusted: &Certificate) -> Value {
    let certificates: Vec<_> = certificate
        .iter()
        .map(|certificate| {
            json!({"certificate_chain": {"inline_string": certificate.chain}, "private_key": {"inline_string": certificate.key}})
        })
        .collect();
    json!({
        "tls_certificates": certificates,
        "validation_context": {"trusted_ca": {"inline_string": trusted.chain}, "trust_chain_verification": "ACCEPT_UNTRUSTED"},
    })
}
