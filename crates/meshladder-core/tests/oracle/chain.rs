//! Filter chains: which one takes a connection, and what the listener filters let it see.
//!
//! Each chain answers with its own name (`direct_response`). A PROXY protocol header gives a connection any addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use meshladder_core::doc::json::Raw;
use meshladder_core::envoy::dump::{Dump, Section};
use meshladder_core::sim::Record;
use meshladder_core::sim::chain::{FilterChains, Found};
use meshladder_core::sim::inspect::{ListenerFilters, Seen};
use meshladder_core::sim::request::Connection;
use serde_json::{Value, json};

use crate::harness::{Coverage, Envoy, Random, bootstrap, requests, say, seed};
use crate::wire;

mod generate;

/// The levels of the search, in the words of its reasons.
const LEVELS: [&str; 9] = [
    "destination port",
    "destination address",
    "server name",
    "transport protocol",
    "application protocol",
    "direct source address",
    "source type",
    "source address",
    "source port",
];

const OUTCOMES: [&str; 6] =
    ["chain", "default chain", "no chain", "more specific goes first", "does not come back", "undecided"];

/// Connections to one Envoy; then come other listeners.
const A_ROUND: usize = 2_000;

#[test]
fn filter_chains_agree_with_envoy() {
    let seed = seed();
    let total = requests(8_000);
    say(&format!("filter chains: {total} connections, MESHLADDER_SEED={seed}"));
    let mut coverage = Coverage::default();
    for round in 0..total.div_ceil(A_ROUND) {
        let random = Random::new(seed.wrapping_add(round as u64));
        Round::start(random).run(A_ROUND.min(total - round * A_ROUND), &mut coverage);
    }
    coverage.conclude("filter chains", &LEVELS, &OUTCOMES);
}

/// One Envoy with many generated listeners.
struct Round {
    random: Random,
    listeners: Vec<Value>,
    envoy: Envoy,
    has_ipv6: bool,
}

impl Round {
    fn start(mut random: Random) -> Self {
        let has_ipv6 = wire::has_ipv6();
        let listeners: Vec<_> = (0..40).map(|number| generate::listener(&mut random, number)).collect();
        let bound = listeners.iter().flat_map(|listener| {
            // The direct source is IPv4 or IPv6, by the address that is called.
            let addresses = [("v4", "127.0.0.1"), ("v6", "::1")];
            addresses.into_iter().take(if has_ipv6 { 2 } else { 1 }).map(|(family, address)| {
                let mut listener = listener.clone();
                listener["name"] = format!("{} {family}", listener["name"].as_str().expect("a name")).into();
                listener["address"] = json!({"socket_address": {"address": address, "port_value": 0}});
                let filters = listener["listener_filters"].as_array_mut().expect("a list");
                filters.insert(0, generate::listener_filter("proxy_protocol", "ProxyProtocol"));
                listener
            })
        });
        let envoy = Envoy::start(&bootstrap(bound.collect(), Vec::new()));
        Self { random, listeners, envoy, has_ipv6 }
    }

    fn run(mut self, connections: usize, coverage: &mut Coverage) {
        // The chains are read as Envoy writes them, the listener filters as we do: Envoy's have one more.
        let dump = self.envoy.admin("/config_dump");
        let dump = Dump::index(&dump, &[Section::Listeners]).expect("a config dump");
        let texts: Vec<_> = self.listeners.iter().map(Value::to_string).collect();
        let compiled: Vec<_> = (0..texts.len())
            .map(|number| {
                let name = format!("listener {number} v4");
                let written = dump.of(Section::Listeners).find(|listener| listener.name == name).expect("it is there");
                let chains = FilterChains::compile(written.raw.expect("a listener"));
                (ListenerFilters::compile(Raw::of(&texts[number]).expect("JSON")), chains)
            })
            .collect();
        let ports: Vec<_> = (0..texts.len())
            .map(|number| {
                ["v4", "v6"].map(|family| {
                    (family == "v4" || self.has_ipv6).then(|| self.envoy.port(&format!("listener {number} {family}")))
                })
            })
            .collect();
        for _ in 0..connections {
            let number = self.random.below(texts.len());
            let connection = generate::connection(&mut self.random);
            let is_v6 = self.has_ipv6 && self.random.chance(30);
            let direct: IpAddr = if is_v6 { Ipv6Addr::LOCALHOST.into() } else { Ipv4Addr::LOCALHOST.into() };
            let port = ports[number][usize::from(is_v6)].expect("the listener is bound");
            let answer = wire::exchange((direct, port).into(), &wire::opening(&connection));
            let envoy = String::from_utf8_lossy(&answer).into_owned();
            let (filters, chains) = &compiled[number];
            let ours = evaluate(filters, chains, &connection, direct, coverage);
            if ours.starts_with("undecided: which chain Envoy finds first") {
                coverage.hit("undecided", true);
                continue;
            }
            assert_eq!(ours, envoy, "ours and Envoy's\n{connection:#?}\nfrom {direct}\n{:#}", self.listeners[number]);
        }
    }
}

fn evaluate(
    filters: &ListenerFilters<'_>,
    chains: &FilterChains<'_>,
    connection: &Connection,
    direct: IpAddr,
    coverage: &mut Coverage,
) -> String {
    let seen = filters.inspect(connection, connection.destination.1, Seen::unseen(connection));
    let seen = Seen { direct_source: Some(direct), ..seen.expect("all filters are modelled") };
    let mut record = Record::keeping();
    let found = chains.find(&seen, &mut record);
    count(&record, coverage);
    match found {
        Found::Chain(chain) => {
            coverage.hit(if chain.is_default { "default chain" } else { "chain" }, true);
            chain.name.to_string()
        }
        Found::None => {
            coverage.hit("no chain", true);
            String::new()
        }
        Found::Undecided(fact) => format!("undecided: {fact}"),
    }
}

/// Counts by the reasons which level chose a chain, and which turned one down.
fn count(record: &Record, coverage: &mut Coverage) {
    for candidate in &record.considered {
        let is_chosen = candidate.matched.word() == "yes";
        for level in LEVELS {
            let names = |part: &str| part.strip_prefix(level).is_some_and(|rest| rest.starts_with(' '));
            if is_chosen && candidate.why.split(", ").any(names) {
                coverage.hit(level, true);
            } else if !is_chosen && (names(&candidate.why) || candidate.why.starts_with(&format!("takes any {level},")))
            {
                coverage.hit(level, false);
            }
        }
        for (text, name) in [("goes first", "more specific goes first"), ("does not come back", "does not come back")] {
            if candidate.why.ends_with(text) {
                coverage.hit(name, true);
            }
        }
    }
}
