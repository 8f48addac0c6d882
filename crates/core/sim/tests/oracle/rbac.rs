//! RBAC policies: generated trees of permissions and principals, for HTTP and for TCP.
//!
//! Each set of policies is the per-route configuration of a virtual host. A PROXY protocol header
//! gives a connection any addresses; a request header becomes the filter state that holds the
//! caller's identity behind a waypoint.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

use meshladder_sim::filters::{FilterEnvironment, HttpFilters, Overrides, UpstreamState};
use meshladder_sim::rbac::{RbacDecision, RbacFilter};
use meshladder_sim::runtime::Runtime;
use meshladder_sim::state::MetadataLookup;
use meshladder_sim::{DecisionRecord, Request, RequestState};
use meshladder_text::json::Raw;
use meshladder_text::time::Time;
use serde_json::{Value, json};

use crate::ask::{self, Said, on_the_wire};
use crate::harness::{
    Client, Coverage, Envoy, Part, Random, bootstrap, cluster, connection_manager, listener,
};

mod generate;
mod identity;
mod properties;

use generate::{CONDITIONS, Policies};

const OUTCOMES: [&str; 5] = [
    "allowed by a policy",
    "denied by a policy",
    "denied by none",
    "logged",
    "without rules",
];
const SHADOWS: [&str; 2] = ["shadow allowed", "shadow denied"];

/// Requests to one Envoy; then come other policies.
const A_ROUND: usize = 3_000;

#[test]
fn policies_agree_with_envoy() {
    let part = Part::begin("RBAC", 9_000);
    let Part { total, seed } = part;
    let mut coverage = Coverage::default();
    for round in 0..total.div_ceil(A_ROUND) {
        let random = Random::new(seed.wrapping_add(round as u64));
        Round::start(random).run(A_ROUND.min(total - round * A_ROUND), &mut coverage);
    }
    coverage.conclude(
        "RBAC",
        &CONDITIONS,
        &[OUTCOMES.as_slice(), &SHADOWS].concat(),
    );
}

/// One Envoy with many generated policies.
struct Round {
    random: Random,
    policies: Vec<Policies>,
    config: Value,
    clients: BTreeMap<(usize, usize), Client>,
    ports: [u16; 2],
    _envoy: Envoy,
}

/// How the two listeners find the client's address.
const MANAGERS: [&str; 2] = [
    r#"{"use_remote_address": true}"#,
    r#"{"use_remote_address": false, "xff_num_trusted_hops": 1}"#,
];

impl Round {
    fn start(mut random: Random) -> Self {
        let policies: Vec<_> = (0..80).map(|_| Policies::generate(&mut random)).collect();
        let hosts: Vec<_> = policies
            .iter()
            .enumerate()
            .map(|(number, policies)| host(number, &policies.config))
            .collect();
        let listeners: Vec<_> = MANAGERS
            .iter()
            .enumerate()
            .map(|(number, more)| {
                let more = serde_json::from_str(more).expect("JSON");
                let manager = connection_manager(json!({"virtual_hosts": hosts}), filters(), &more);
                let mut listener = listener(&number.to_string(), vec![manager]);
                listener["listener_filters"] = proxy_protocol();
                listener
            })
            .collect();
        let config = json!(listeners);
        let envoy = Envoy::start(&bootstrap(listeners, vec![cluster("empty")]));
        let ports = [envoy.port("0"), envoy.port("1")];
        Self {
            random,
            policies,
            config,
            clients: BTreeMap::new(),
            ports,
            _envoy: envoy,
        }
    }

    fn run(mut self, total: usize, coverage: &mut Coverage) {
        let text = self.config.to_string();
        let listeners: Vec<_> = Raw::of(&text).expect("JSON").elements().collect();
        let runtime = Runtime::default();
        let managers = listeners.iter().map(|listener| {
            let chain = listener.list("filter_chains").next().expect("a chain");
            chain
                .list("filters")
                .next()
                .expect("a filter")
                .get("typed_config")
                .expect("a manager")
        });
        let managers: Vec<_> = managers.collect();
        let chains: Vec<_> = managers
            .iter()
            .map(|raw| HttpFilters::compile(*raw, &runtime, &|_| None))
            .collect();
        let hosts: Vec<_> = managers[0]
            .get("route_config")
            .expect("routes")
            .list("virtual_hosts")
            .collect();
        let overrides: Vec<_> = hosts
            .iter()
            .map(|host| {
                Overrides::compile(
                    &[host.list("routes").next().expect("a route"), *host],
                    &runtime,
                )
            })
            .collect();
        for _ in 0..total {
            let (host, listener, address) = (
                self.random.below(hosts.len()),
                self.random.below(2),
                self.random.below(generate::ADDRESSES.len()),
            );
            let request = self.request(host, listener, address);
            let mut state = RequestState::new(&request);
            state.direct_remote = Ok(Ipv4Addr::LOCALHOST.into());
            state.route = hosts[host].list("routes").next();
            let environment = FilterEnvironment {
                now: Time::from_seconds(0),
                upstream: &|_| UpstreamState::Usable,
                cluster: Some("empty"),
            };
            let mut record = DecisionRecord::keeping();
            let walk =
                chains[listener].evaluate(&overrides[host], &mut state, &environment, &mut record);
            let ours = Said::by_walk(&walk);
            let answer = self.client(listener, address).send(&on_the_wire(&request));
            let envoys = Said::by_envoy(&answer);
            assert_eq!(
                ours,
                Ok(envoys),
                "{request:#?}\nagainst {}\n{record:#?}",
                self.policies[host].config
            );
            // A denial is sent before the metadata is written.
            if answer.status != 403 {
                shadow_agrees(
                    answer.header("x-o-rbac"),
                    &self.policies[host].config,
                    &state,
                    coverage,
                );
            }
            self.policies[host].count(&state, &answer, coverage);
        }
    }

    fn request(&mut self, host: usize, listener: usize, address: usize) -> Request {
        let (source, destination) = generate::ADDRESSES[address];
        let mut request = ask::request(generate::socket(source), generate::socket(destination));
        generate::shape(&mut request, &mut self.random);
        request.authority = format!("{host}.{}", request.authority);
        if listener == 1 {
            request.headers.push((
                "x-forwarded-for".to_owned(),
                (*self.random.pick(&generate::FORWARDED)).to_owned(),
            ));
        }
        request
    }

    fn client(&mut self, listener: usize, address: usize) -> &mut Client {
        let port = self.ports[listener];
        let preamble = generate::proxy_line(address);
        self.clients
            .entry((listener, address))
            .or_insert_with(|| Client::with_preamble(port, preamble.as_bytes()))
    }
}

/// The dynamic metadata that the filter wrote.
fn shadow_agrees(
    metadata: &str,
    config: &Value,
    state: &RequestState<'_>,
    coverage: &mut Coverage,
) {
    let metadata: Value =
        serde_json::from_str(if metadata.is_empty() { "{}" } else { metadata }).expect("JSON");
    for key in [
        "shadow_engine_result",
        "shadow_effective_policy_id",
        "enforced_engine_result",
        "enforced_effective_policy_id",
    ] {
        for prefix in ["", "p_"] {
            let key = format!("{prefix}{key}");
            let ours = match state
                .metadata
                .find("envoy.filters.http.rbac", &[key.clone().into()])
            {
                MetadataLookup::Value(meshladder_text::tree::Value::String(text)) => {
                    text.to_string()
                }
                _ => String::new(),
            };
            assert_eq!(
                ours,
                metadata[&key].as_str().unwrap_or_default(),
                "{key} in {metadata}, {config}"
            );
            if key.ends_with("shadow_engine_result") && !ours.is_empty() {
                coverage.hit(&format!("shadow {ours}"), true);
            }
        }
    }
}

fn host(number: usize, config: &Value) -> Value {
    json!({
        "name": number.to_string(),
        "domains": [format!("{number}.*")],
        "routes": [{
            "match": {"prefix": "/"},
            "route": {"cluster": "empty"},
            "metadata": {"filter_metadata": {"route": generate::metadata()}},
        }],
        "typed_per_filter_config": {"envoy.filters.http.rbac": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBACPerRoute",
            "rbac": config,
        }},
    })
}

fn filters() -> Vec<Value> {
    let peer = json!({"object_key": "io.istio.peer_principal", "factory_key": "envoy.string", "skip_if_empty": true,
        "format_string": {"text_format_source": {"inline_string": "%REQ(x-peer)%"}, "omit_empty_values": true}});
    vec![
        json!({"name": "state", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.set_filter_state.v3.Config",
            "on_request_headers": [peer]}}),
        json!({"name": "envoy.filters.http.rbac", "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.rbac.v3.RBAC",
            "rules": {"action": "ALLOW"}}}),
    ]
}

fn proxy_protocol() -> Value {
    json!([{"name": "proxy", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.filters.listener.proxy_protocol.v3.ProxyProtocol"}}])
}

/// Policies for any TCP: whether what was sent comes back tells whether the connection was
/// let through.
#[test]
fn policies_for_tcp_agree_with_envoy() {
    let part = Part::begin("RBAC for TCP", A_TCP_ROUND);
    let Part { total, seed } = part;
    let mut coverage = Coverage::default();
    for round in 0..total.div_ceil(A_TCP_ROUND) {
        tcp_round(Random::new(seed.wrapping_add(round as u64)), &mut coverage);
    }
    coverage.conclude("RBAC for TCP", &["TCP connection let through"], &[]);
}

const A_TCP_ROUND: usize = 480;

fn tcp_round(mut random: Random, coverage: &mut Coverage) {
    let policies: Vec<_> = (0..80).map(|_| Policies::for_tcp(&mut random)).collect();
    let echo = || {
        json!({"name": "echo", "typed_config": {
        "@type": "type.googleapis.com/envoy.extensions.filters.network.echo.v3.Echo"}})
    };
    let listeners = policies.iter().enumerate().map(|(number, policies)| {
        let mut config = policies.config.clone();
        config["@type"] =
            "type.googleapis.com/envoy.extensions.filters.network.rbac.v3.RBAC".into();
        config["stat_prefix"] = "tcp.".into();
        config
            .as_object_mut()
            .expect("an object")
            .remove("rules_stat_prefix");
        let rbac = json!({"name": "rbac", "typed_config": config});
        let mut listener = listener(&number.to_string(), vec![rbac, echo()]);
        listener["listener_filters"] = proxy_protocol();
        listener
    });
    let envoy = Envoy::start(&bootstrap(listeners.collect(), Vec::new()));
    for (number, policies) in policies.iter().enumerate() {
        let port = envoy.port(&number.to_string());
        let text = policies.config.to_string();
        let filter = RbacFilter::compile(Raw::of(&text).expect("JSON"));
        for (address, (source, destination)) in generate::ADDRESSES.into_iter().enumerate() {
            let request = ask::request(generate::socket(source), generate::socket(destination));
            let mut state = RequestState::tcp(&request);
            state.direct_remote = Ok(Ipv4Addr::LOCALHOST.into());
            let ours = match filter
                .evaluate(&mut state, &mut DecisionRecord::dropping())
                .enforced
            {
                Some(RbacDecision::Denied { .. }) => false,
                Some(RbacDecision::Allowed { .. }) | None => true,
                // Metadata that other filters may write.
                Some(RbacDecision::Undecided { .. }) => continue,
            };
            assert_eq!(
                ours,
                is_echoed(port, address),
                "{request:#?}\nagainst {text}"
            );
            coverage.hit("TCP connection let through", ours);
        }
    }
}

fn is_echoed(port: u16, address: usize) -> bool {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("Envoy listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .expect("a timeout can be set");
    stream
        .write_all(format!("{}x", generate::proxy_line(address)).as_bytes())
        .expect("Envoy reads");
    stream.read(&mut [0]).is_ok_and(|read| read == 1)
}
