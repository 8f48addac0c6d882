//! Filter chains: which one takes a connection, and what the listener filters let it see.
//!
//! Each chain answers with its own name (`direct_response`). A PROXY protocol header gives a
//! connection any addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_sim::DecisionRecord;
use meshladder_sim::chain::{ChainChoice, FilterChains};
use meshladder_sim::inspect::{InspectedConnection, ListenerFilters};
use meshladder_sim::request::Connection;
use meshladder_text::json::Raw;
use serde_json::{Value, json};

use crate::harness::{Coverage, Envoy, Part, Random, bootstrap};
use crate::wire;

mod generate;

pub(crate) use generate::{answering, listener_filter};

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

const OUTCOMES: [&str; 6] = [
    "chain",
    "default chain",
    "no chain",
    "more specific goes first",
    "does not come back",
    "undecided",
];

/// Connections to one Envoy; then come other listeners.
const A_ROUND: usize = 2_000;

#[test]
fn filter_chains_agree_with_envoy() {
    let part = Part::begin("filter chains", 8_000);
    let Part { total, seed } = part;
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
}

impl Round {
    fn start(mut random: Random) -> Self {
        let listeners: Vec<_> = (0..40)
            .map(|number| generate::listener(&mut random, number))
            .collect();
        let bound = listeners
            .iter()
            .flat_map(|listener| directs().map(|direct| bound(listener.clone(), direct)));
        let envoy = Envoy::start(&bootstrap(bound.collect(), Vec::new()));
        Self {
            random,
            listeners,
            envoy,
        }
    }

    fn run(mut self, connections: usize, coverage: &mut Coverage) {
        let dump = self.envoy.admin("/config_dump");
        let dump = Dump::index(&dump, &[Section::Listeners]).expect("a config dump");
        let texts: Vec<_> = self.listeners.iter().map(Value::to_string).collect();
        let probes: Vec<_> = texts
            .iter()
            .flat_map(|text| directs().map(|direct| Probe::new(text, direct, &dump, &self.envoy)))
            .collect();
        for _ in 0..connections {
            let probe = &probes[self.random.below(probes.len())];
            let connection = generate::connection(&mut self.random);
            let answer = wire::exchange(
                (probe.direct, probe.port).into(),
                &wire::opening(&connection),
            );
            let ours = probe.evaluate(&connection, coverage);
            if ours.starts_with("undecided: which chain Envoy finds first") {
                coverage.hit("undecided", true);
                continue;
            }
            let envoy = String::from_utf8_lossy(&answer);
            assert_eq!(
                ours, envoy,
                "ours and Envoy's\n{connection:#?}\nfrom {}\n{}",
                probe.direct, probe.text
            );
        }
    }
}

/// The addresses that connections can really come from. Each listener is bound to all of them.
fn directs() -> impl Iterator<Item = IpAddr> {
    let v6 = wire::has_ipv6().then_some(IpAddr::from(Ipv6Addr::LOCALHOST));
    std::iter::once(IpAddr::from(Ipv4Addr::LOCALHOST)).chain(v6)
}

/// A generated listener on an address, with the filter that reads PROXY headers.
fn bound(mut listener: Value, direct: IpAddr) -> Value {
    listener["name"] = name(&listener, direct).into();
    listener["address"] =
        json!({"socket_address": {"address": direct.to_string(), "port_value": 0}});
    let filters = listener["listener_filters"].as_array_mut().expect("a list");
    filters.insert(0, listener_filter("proxy_protocol", "ProxyProtocol"));
    listener
}

fn name(listener: &Value, direct: IpAddr) -> String {
    format!("{} on {direct}", listener["name"].as_str().expect("a name"))
}

/// A listener to connect to, and ours beside it. The chains are read as Envoy writes them, the
/// listener filters as they were generated: Envoy's have one more.
struct Probe<'a> {
    text: &'a str,
    direct: IpAddr,
    port: u16,
    filters: ListenerFilters<'a>,
    chains: FilterChains<'a>,
}

impl<'a> Probe<'a> {
    fn new(text: &'a str, direct: IpAddr, dump: &Dump<'a>, envoy: &Envoy) -> Self {
        let name = name(&serde_json::from_str(text).expect("JSON"), direct);
        let written = dump
            .of(Section::Listeners)
            .find(|listener| listener.name == name)
            .expect("it is there");
        let filters = ListenerFilters::compile(Raw::of(text).expect("JSON"));
        let chains = FilterChains::compile(written.raw.expect("a listener"));
        Self {
            text,
            direct,
            port: envoy.port(&name),
            filters,
            chains,
        }
    }

    fn evaluate(&self, connection: &Connection, coverage: &mut Coverage) -> String {
        let seen = self.filters.inspect(
            connection,
            connection.destination.1,
            InspectedConnection::unseen(connection),
        );
        let seen = InspectedConnection {
            direct_source: Some(self.direct),
            ..seen.expect("all filters are modelled")
        };
        let mut record = DecisionRecord::keeping();
        let found = self.chains.find(&seen, &mut record);
        count(&found, &record, coverage);
        let ours = words(&found);
        // Without its source a connection is undecided, or goes the same way.
        let nowhere = InspectedConnection {
            source: None,
            direct_source: None,
            ..seen
        };
        let blind = words(&self.chains.find(&nowhere, &mut DecisionRecord::dropping()));
        assert!(
            blind == ours || blind.starts_with("undecided"),
            "{blind} without a source, {ours} with it"
        );
        ours
    }
}

fn words(found: &ChainChoice<'_, '_>) -> String {
    match found {
        ChainChoice::Chain(chain) => chain.name.to_string(),
        ChainChoice::None => String::new(),
        ChainChoice::Undecided(fact) => format!("undecided: {fact}"),
    }
}

/// Counts by the reasons which level chose a chain, and which turned one down. The chosen one is
/// the only one that matched.
fn count(found: &ChainChoice<'_, '_>, record: &DecisionRecord, coverage: &mut Coverage) {
    let matched: Vec<_> = record
        .considered
        .iter()
        .filter(|c| c.matched.word() == "yes")
        .map(|c| c.at)
        .collect();
    match found {
        ChainChoice::Chain(chain) => {
            assert_eq!(matched, [chain.at]);
            coverage.hit(
                if chain.is_default {
                    "default chain"
                } else {
                    "chain"
                },
                true,
            );
        }
        ChainChoice::None => coverage.hit("no chain", true),
        ChainChoice::Undecided(_) => assert!(matched.is_empty()),
    }
    for candidate in &record.considered {
        let is_chosen = matched.contains(&candidate.at);
        for level in LEVELS {
            let names = |part: &str| {
                part.strip_prefix(level)
                    .is_some_and(|rest| rest.starts_with(' '))
            };
            let is_pushed_aside = || candidate.why.starts_with(&format!("takes any {level},"));
            if is_chosen && candidate.why.split(", ").any(names) {
                coverage.hit(level, true);
            } else if !is_chosen && (names(&candidate.why) || is_pushed_aside()) {
                coverage.hit(level, false);
            }
        }
        for (text, name) in [
            ("goes first", "more specific goes first"),
            ("does not come back", "does not come back"),
        ] {
            if candidate.why.ends_with(text) {
                coverage.hit(name, true);
            }
        }
    }
}
