//! Listeners and connections that are close to each other: few values, so that most of them meet.

use std::collections::BTreeSet;
use std::net::IpAddr;

use meshladder_sim::request::{Connection, Tls};
use serde_json::{Map, Value, json};

use crate::harness::Random;

const PORTS: [u16; 4] = [80, 8080, 443, 9000];
const ADDRESSES: [&str; 9] = [
    "10.0.0.1",
    "10.0.0.2",
    "10.1.0.1",
    "127.0.0.1",
    "127.0.0.6",
    "192.168.0.1",
    "::1",
    "fd00::1",
    "fd00:1::2",
];
const RANGES: [(&str, u8); 14] = [
    ("0.0.0.0", 0),
    ("10.0.0.0", 8),
    ("10.0.0.0", 16),
    ("10.0.0.1", 32),
    ("10.0.0.2", 31),
    ("10.1.0.0", 16),
    ("127.0.0.0", 8),
    ("127.0.0.1", 32),
    ("192.168.0.1", 24),
    ("::", 0),
    ("::1", 128),
    ("fd00::", 8),
    ("fd00::", 32),
    ("fd00::1", 128),
];
const SERVER_NAMES: [&str; 10] = [
    "a.example",
    "*.a.example",
    "*.example",
    "b.a.example",
    "*.b.a.example",
    "outbound_.80_._.a.svc",
    "B.Test",
    "*.TEST",
    "test",
    "localhost",
];
const ASKED_NAMES: [&str; 14] = [
    "a.example",
    "b.a.example",
    "c.b.a.example",
    "xa.example",
    "other.example",
    "example",
    "A.Example",
    "outbound_.80_._.a.svc",
    "b.test",
    "x.Test",
    "test",
    "nowhere",
    ".example",
    "a.example.",
];
const PROTOCOLS: [&str; 7] = [
    "http/1.0",
    "http/1.1",
    "h2c",
    "h2",
    "istio",
    "istio-peer-exchange",
    "istio-http/1.1",
];
const SOURCE_PORTS: [u16; 3] = [1000, 2000, 3000];

/// A listener without an address. Chains that would overlap with another one are left out, since
/// Envoy refuses them.
pub(super) fn listener(random: &mut Random, number: usize) -> Value {
    // A few levels a listener, so that the search gets to the deep ones.
    let levels: Vec<_> = (0..=random.below(4)).map(|_| random.below(9)).collect();
    let mut taken = BTreeSet::new();
    let mut chains = Vec::new();
    for chain in 0..random.below(14) + 2 {
        let criteria = criteria(random, &levels);
        let rows = rows(&criteria);
        if rows.iter().any(|row| taken.contains(row)) {
            continue;
        }
        taken.extend(rows);
        chains.push(answering(&format!("{number}/{chain}"), Some(criteria)));
    }
    let mut listener = json!({
        "name": format!("listener {number}"),
        "filter_chains": chains,
        "listener_filters": listener_filters(random),
    });
    if random.chance(40) {
        listener["default_filter_chain"] = answering(&format!("{number}/default"), None);
    }
    listener
}

/// A connection; its two addresses are of one family.
pub(super) fn connection(random: &mut Random) -> Connection {
    let destination = address(random);
    let source = loop {
        let source = address(random);
        if source.is_ipv6() == destination.is_ipv6() {
            break source;
        }
    };
    let tls = random.chance(60).then(|| Tls {
        sni: random
            .chance(80)
            .then(|| (*random.pick(&ASKED_NAMES)).to_owned()),
        alpn: (0..random.below(4))
            .map(|_| (*random.pick(&PROTOCOLS)).to_owned())
            .collect(),
        peer: None,
    });
    Connection {
        destination: (destination, *random.pick(&PORTS)),
        source: Some((source, *random.pick(&[1000, 2000, 3000, 4000]))),
        tls,
        plain_http: *random.pick(&[None, Some("http/1.0"), Some("http/1.1"), Some("h2c")]),
    }
}

/// A listener filter by its names.
pub(crate) fn listener_filter(name: &str, message: &str) -> Value {
    let url = format!("type.googleapis.com/envoy.extensions.filters.listener.{name}.v3.{message}");
    json!({"name": format!("envoy.filters.listener.{name}"), "typed_config": {"@type": url}})
}

fn address(random: &mut Random) -> IpAddr {
    random.pick(&ADDRESSES).parse().expect("an address")
}

fn listener_filters(random: &mut Random) -> Vec<Value> {
    let mut filters = Vec::new();
    if random.chance(85) {
        filters.push(listener_filter("tls_inspector", "TlsInspector"));
    }
    if random.chance(70) {
        let at = random.below(filters.len() + 1);
        filters.insert(at, listener_filter("http_inspector", "HttpInspector"));
    }
    for filter in &mut filters {
        if random.chance(25) {
            filter["filter_disabled"] = predicate(random, 2);
        }
    }
    filters
}

fn predicate(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 2 } else { 5 }) {
        0 => {
            let start = *random.pick(&PORTS);
            json!({"destination_port_range": {"start": start, "end": start + *random.pick(&[1, 100, 8000])}})
        }
        1 => json!({"any_match": true}),
        2 => json!({"not_match": predicate(random, depth - 1)}),
        kind => {
            let rules: Vec<_> = (0..2).map(|_| predicate(random, depth - 1)).collect();
            json!({if kind == 3 { "or_match" } else { "and_match" }: {"rules": rules}})
        }
    }
}

/// A chain that answers with its name.
pub(crate) fn answering(name: &str, criteria: Option<Value>) -> Value {
    let mut chain = json!({
        "name": name,
        "filters": [{
            "name": "envoy.filters.network.direct_response",
            "typed_config": {
                "@type": "type.googleapis.com/envoy.extensions.filters.network.direct_response.v3.Config",
                "response": {"inline_string": name},
            },
        }],
    });
    if let Some(criteria) = criteria {
        chain["filter_chain_match"] = criteria;
    }
    chain
}

/// A `FilterChainMatch` that names something at some of the levels.
fn criteria(random: &mut Random, levels: &[usize]) -> Value {
    let mut criteria = Map::new();
    for level in levels {
        if random.chance(30) {
            continue;
        }
        let (field, value) = match level {
            0 => ("destination_port", json!(random.pick(&PORTS))),
            1 => ("prefix_ranges", several(random, range)),
            2 => (
                "server_names",
                several(random, |random| json!(random.pick(&SERVER_NAMES))),
            ),
            3 => (
                "transport_protocol",
                json!(random.pick(&["tls", "raw_buffer"])),
            ),
            4 => (
                "application_protocols",
                several(random, |random| json!(random.pick(&PROTOCOLS))),
            ),
            5 => ("direct_source_prefix_ranges", several(random, range)),
            6 => (
                "source_type",
                json!(random.pick(&["ANY", "SAME_IP_OR_LOOPBACK", "EXTERNAL"])),
            ),
            7 => ("source_prefix_ranges", several(random, range)),
            _ => (
                "source_ports",
                several(random, |random| json!(random.pick(&SOURCE_PORTS))),
            ),
        };
        criteria.insert(field.to_owned(), value);
    }
    Value::Object(criteria)
}

fn range(random: &mut Random) -> Value {
    let (address, length) = random.pick(&RANGES);
    json!({"address_prefix": address, "prefix_len": length})
}

fn several(random: &mut Random, mut one: impl FnMut(&mut Random) -> Value) -> Value {
    let mut values: Vec<_> = (0..=random.below(3)).map(|_| one(random)).collect();
    values.sort_by_key(Value::to_string);
    values.dedup();
    values.into()
}

/// Every combination of a match's values, written so that those which Envoy takes to be the same
/// are the same.
fn rows(criteria: &Value) -> Vec<String> {
    const FIELDS: [&str; 9] = [
        "destination_port",
        "prefix_ranges",
        "server_names",
        "transport_protocol",
        "application_protocols",
        "direct_source_prefix_ranges",
        "source_type",
        "source_prefix_ranges",
        "source_ports",
    ];
    let mut rows = vec![String::new()];
    for field in FIELDS {
        let values = match &criteria[field] {
            Value::Array(values) => values
                .iter()
                .map(|value| value.to_string().to_lowercase())
                .collect(),
            Value::Null => vec!["any".to_owned()],
            value if value == "ANY" => vec!["any".to_owned()],
            value => vec![value.to_string()],
        };
        rows = rows
            .iter()
            .flat_map(|row| values.iter().map(move |value| format!("{row}|{value}")))
            .collect();
    }
    rows
}
