//! Listeners: a redirected connection is handed to the one for its address, as with Istio's
//! `virtualOutbound`.
//!
//! No iptables here: the PROXY protocol restores an address just as `original_dst` does.

use std::net::{IpAddr, Ipv4Addr};

use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_sim::DecisionRecord;
use meshladder_sim::chain::ChainChoice;
use meshladder_sim::listener::{Arrival, ListenerOutcome, Listeners, TrafficDirection};
use meshladder_sim::request::{Connection, Tls};
use serde_json::{Value, json};

use crate::chain::{answering, listener_filter};
use crate::harness::{Coverage, Envoy, Part, Random, bootstrap};
use crate::wire;

const V4: [&str; 4] = ["10.1.0.1", "10.1.0.2", "172.16.0.1", "0.0.0.0"];
const V6: [&str; 3] = ["fd00::1", "fd00::2", "::"];
const PORTS: [u16; 4] = [80, 81, 443, 15001];
const OUTCOMES: [&str; 6] = [
    "Exact",
    "Wildcard",
    "Stays",
    "Bound",
    "seen by the first listener",
    "IPv6 for IPv4",
];

/// Connections to one Envoy; then come other listeners.
const A_ROUND: usize = 300;

#[test]
fn hand_over_agrees_with_envoy() {
    let part = Part::begin("listeners", 3_000);
    let Part { total, seed } = part;
    let mut coverage = Coverage::default();
    for round in 0..total.div_ceil(A_ROUND) {
        let random = Random::new(seed.wrapping_add(round as u64));
        run(random, A_ROUND.min(total - round * A_ROUND), &mut coverage);
    }
    let outcomes = &OUTCOMES[..if wire::has_ipv6() { 6 } else { 5 }];
    coverage.conclude("listeners", &[], outcomes);
}

fn run(mut random: Random, connections: usize, coverage: &mut Coverage) {
    let envoy = Envoy::start(&bootstrap(listeners(&mut random), Vec::new()));
    let entry = envoy.port("entry");
    let dump = as_in_a_mesh(&envoy.admin("/config_dump"), entry);
    let dump = Dump::index(&dump, &[Section::Listeners]).expect("a config dump");
    let listeners = Listeners::compile(&dump);
    for _ in 0..connections {
        let connection = connection(&mut random, entry);
        let answer = wire::exchange(
            (Ipv4Addr::LOCALHOST, entry).into(),
            &wire::opening(&connection),
        );
        let ours = evaluate(&listeners, &connection, coverage);
        assert_eq!(
            ours,
            String::from_utf8_lossy(&answer),
            "ours and Envoy's\n{connection:#?}\n{listeners:#?}"
        );
    }
}

fn evaluate(listeners: &Listeners<'_>, connection: &Connection, coverage: &mut Coverage) -> String {
    let mut record = DecisionRecord::keeping();
    let ListenerOutcome::Taken(taken) =
        listeners.accept(TrafficDirection::Outbound, connection, &mut record)
    else {
        return "not taken".to_owned();
    };
    coverage.hit(&format!("{:?}", taken.how), true);
    let is_v4 = connection.destination.0.is_ipv4();
    if taken.how == Arrival::Wildcard
        && is_v4
        && taken
            .listener
            .addresses
            .iter()
            .all(|address| address.ip.is_ipv6())
    {
        coverage.hit("IPv6 for IPv4", true);
    }
    match taken.chain(connection, &mut record) {
        ChainChoice::Chain(chain) => {
            if chain.name.ends_with("tls") && taken.from.is_some() {
                coverage.hit("seen by the first listener", true);
            }
            chain.name.to_string()
        }
        ChainChoice::None => String::new(),
        ChainChoice::Undecided(fact) => format!("undecided: {fact}"),
    }
}

/// The listener that takes redirected connections, and unbound ones on some of the addresses.
fn listeners(random: &mut Random) -> Vec<Value> {
    let mut filters = vec![listener_filter("proxy_protocol", "ProxyProtocol")];
    if random.chance(50) {
        filters.push(listener_filter("tls_inspector", "TlsInspector"));
    }
    let entry = json!({
        "name": "entry",
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        "use_original_dst": true,
        "traffic_direction": "OUTBOUND",
        "listener_filters": filters,
        "filter_chains": chains("entry"),
    });
    let v6 = if wire::has_ipv6() { &V6[..] } else { &[] };
    let places = V4
        .iter()
        .chain(v6)
        .flat_map(|ip| PORTS.map(|port| (*ip, port)));
    let mut places: Vec<_> = places.filter(|_| random.chance(35)).collect();
    let mut listeners = vec![entry];
    while let Some(place) = places.pop() {
        let name = format!("{} {}", place.0, place.1);
        let mut listener = json!({
            "name": name,
            "address": address(random, place),
            "bind_to_port": false,
            "traffic_direction": "OUTBOUND",
            "filter_chains": chains(&name),
        });
        if random.chance(20) {
            let more = places
                .pop()
                .map(|place| json!({"address": address(random, place)}));
            listener["additional_addresses"] = more.into_iter().collect();
        }
        listeners.push(listener);
    }
    listeners
}

fn address(random: &mut Random, (ip, port): (&str, u16)) -> Value {
    let is_compat = ip == "::" && random.chance(50);
    json!({"socket_address": {"address": ip, "port_value": port, "ipv4_compat": is_compat}})
}

/// A chain for TLS and one for the rest, so that it shows what was seen.
fn chains(name: &str) -> Vec<Value> {
    let tls = json!({"transport_protocol": "tls"});
    vec![
        answering(&format!("{name} tls"), Some(tls)),
        answering(&format!("{name} plain"), Some(json!({}))),
    ]
}

fn connection(random: &mut Random, entry: u16) -> Connection {
    let is_self = random.chance(5);
    let pick = if random.chance(30) {
        random.pick(&["fd00::1", "fd00::2", "fd00::3"])
    } else {
        random.pick(&["10.1.0.1", "10.1.0.2", "10.1.0.3", "172.16.0.1"])
    };
    let ip: IpAddr = if is_self {
        Ipv4Addr::LOCALHOST.into()
    } else {
        pick.parse().expect("an address")
    };
    let source: IpAddr = if ip.is_ipv6() {
        "fd00::9".parse()
    } else {
        "10.9.9.9".parse()
    }
    .expect("an address");
    let port = if is_self {
        entry
    } else {
        *random.pick(&[80, 81, 443, 15001, 9999])
    };
    let tls = random.chance(50).then(|| Tls {
        sni: Some("a.example".to_owned()),
        ..Tls::default()
    });
    Connection {
        destination: (ip, port),
        source: Some((source, 4000)),
        tls,
        plain_http: Some("http/1.1"),
    }
}

/// A dump as it would be with iptables: without the filter that restores addresses here, and with a
/// fixed port.
fn as_in_a_mesh(dump: &str, entry: u16) -> String {
    let mut dump: Value = serde_json::from_str(dump).expect("JSON");
    for config in dump["configs"].as_array_mut().into_iter().flatten() {
        for listener in config["static_listeners"]
            .as_array_mut()
            .into_iter()
            .flatten()
        {
            let listener = &mut listener["listener"];
            if listener["name"] == "entry" {
                listener["address"]["socket_address"]["port_value"] = entry.into();
                listener["listener_filters"]
                    .as_array_mut()
                    .expect("a list")
                    .remove(0);
            }
        }
    }
    dump.to_string()
}
