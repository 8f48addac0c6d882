//! Clusters: which endpoints requests reach, by health, priority, panic and locality.
//!
//! The endpoints are listeners of a second Envoy that answer with their names. Which one is picked
//! is random, so a cluster gets many requests: none may reach an endpoint that ours leaves out, and
//! each likely one must be reached.

use std::collections::{BTreeMap, BTreeSet};

use meshladder_capture::envoy::clusters::ClusterStatuses as Statuses;
use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_sim::DecisionRecord;
use meshladder_sim::cluster::{Clusters, EndpointPick, Health, HostSelection};
use serde_json::{Value, json};

use crate::harness::{
    Client, Coverage, Envoy, Part, Random, bootstrap, connection_manager, listener,
};

mod generate;

/// Requests to one cluster.
const A_CLUSTER: usize = 100;
/// Endpoints that there are to choose from.
const ENDPOINTS: usize = 10;
const OUTCOMES: [&str; 10] = [
    "first priority",
    "spill",
    "panic",
    "degraded",
    "lost",
    "UH empty",
    "UH",
    "locality without weight",
    "dump alone",
    "undecided",
];

#[test]
fn endpoints_agree_with_envoy() {
    let part = Part::begin("clusters", 8_000);
    let total = part.total.div_ceil(A_CLUSTER);
    let mut random = Random::new(part.seed);
    let upstream = upstream();
    let ports: Vec<_> = (0..ENDPOINTS)
        .map(|number| upstream.port(&format!("endpoint {number}")))
        .collect();
    let mut coverage = Coverage::default();
    let numbers: Vec<_> = (0..total).collect();
    for numbers in numbers.chunks(100) {
        let clusters: Vec<_> = numbers
            .iter()
            .map(|n| generate::cluster(&mut random, *n, &ports))
            .collect();
        run(&clusters, &ports, &mut coverage);
    }
    coverage.conclude("clusters", &[], &OUTCOMES);
}

fn run(clusters: &[Value], ports: &[u16], coverage: &mut Coverage) {
    let names: Vec<_> = clusters
        .iter()
        .map(|cluster| cluster["name"].as_str().expect("a name").to_owned())
        .collect();
    let routes: Vec<_> = names
        .iter()
        .map(|name| json!({"match": {"path": format!("/{name}")}, "route": {"cluster": name}}))
        .collect();
    let table = json!({"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]});
    let manager = connection_manager(table, Vec::new(), &json!({}));
    let envoy = Envoy::start(&bootstrap(
        vec![listener("in", vec![manager])],
        clusters.to_vec(),
    ));
    let dump = envoy.admin("/config_dump?include_eds");
    let dump = Dump::index(&dump, &[Section::Clusters, Section::Endpoints]).expect("a config dump");
    let statuses = envoy.admin("/clusters?format=json");
    let statuses = Statuses::read(&statuses).expect("an answer of /clusters");
    let compiled = [
        Clusters::compile(&dump, Some(&statuses)),
        Clusters::compile(&dump, None),
    ];
    let mut client = Client::new(envoy.port("in"));
    for (name, config) in names.iter().zip(clusters) {
        let reached = reached(&mut client, name);
        for (which, clusters) in compiled.iter().enumerate() {
            let cluster = clusters.find(name).expect("the dump has it");
            let mut record = DecisionRecord::keeping();
            let selected = cluster.select(None, &mut record);
            if which == 1 && matches!(selected, HostSelection::Unknown(_)) {
                coverage.hit("undecided", true);
                continue;
            }
            check(&selected, &reached, ports, config);
            count(&selected, &record, which == 1, coverage);
        }
    }
}

/// How often each endpoint answered; `UH` stands for none.
fn reached(client: &mut Client, cluster: &str) -> BTreeMap<String, usize> {
    let mut reached = BTreeMap::new();
    for _ in 0..A_CLUSTER {
        let answer =
            client.send(format!("GET /{cluster} HTTP/1.1\r\nhost: a.test\r\n\r\n").as_bytes());
        let who = if answer.status == 200 {
            answer.body
        } else {
            answer.header("x-o-flags").to_owned()
        };
        *reached.entry(who).or_insert(0) += 1;
    }
    reached
}

fn check(
    selected: &HostSelection<'_, '_>,
    reached: &BTreeMap<String, usize>,
    ports: &[u16],
    config: &Value,
) {
    let (picks, lost) = match selected {
        HostSelection::Endpoints { picks, lost } => (&picks[..], *lost),
        HostSelection::None(_) => (&[][..], 100),
        other => panic!("undecided: {other:?}\n{config:#}"),
    };
    let name = |pick: &EndpointPick<'_, '_>| {
        let port = pick.endpoint.socket().expect("a socket").1;
        format!(
            "endpoint {}",
            ports
                .iter()
                .position(|p| *p == port)
                .expect("one of the endpoints")
        )
    };
    let mut may: BTreeSet<_> = picks.iter().map(name).collect();
    if lost > 0 {
        may.insert("UH".to_owned());
    }
    let only_envoy: Vec<_> = reached.keys().filter(|who| !may.contains(*who)).collect();
    assert!(
        only_envoy.is_empty(),
        "only Envoy reaches {only_envoy:?}\n{reached:?}\n{picks:#?}\n{config:#}"
    );

    // Endpoints of one priority and health share their load; the likely ones must have been met.
    let shares_load = |a: &EndpointPick<'_, '_>, b: &EndpointPick<'_, '_>| {
        a.endpoint.priority == b.endpoint.priority
            && (a.in_panic || a.endpoint.health == b.endpoint.health)
    };
    for pick in picks {
        let same: Vec<_> = picks
            .iter()
            .filter(|other| shares_load(pick, other))
            .collect();
        let hits: usize = same
            .iter()
            .filter_map(|pick| reached.get(&name(pick)))
            .sum();
        let expected = pick.percent as usize * A_CLUSTER / 100;
        let report =
            || format!("{hits} of {expected} requests: {same:#?}\n{reached:?}\n{config:#}");
        assert!(hits.abs_diff(expected) <= A_CLUSTER / 4, "{}", report());
        assert!(
            expected / same.len() < 20 || reached.contains_key(&name(pick)),
            "only ours: {}",
            report()
        );
    }
    let failed = reached.get("UH").copied().unwrap_or(0);
    assert!(
        failed.abs_diff(lost as usize) <= A_CLUSTER / 4,
        "{failed} of {lost} requests lost\n{config:#}"
    );
}

fn count(
    selected: &HostSelection<'_, '_>,
    record: &DecisionRecord,
    is_dump_alone: bool,
    coverage: &mut Coverage,
) {
    let mut hit = |name: &str, holds: bool| {
        if holds {
            coverage.hit(name, true);
        }
    };
    hit("dump alone", is_dump_alone);
    match selected {
        HostSelection::Endpoints { picks, lost } => {
            hit(
                "first priority",
                picks.iter().all(|pick| pick.endpoint.priority == 0),
            );
            hit("spill", picks.iter().any(|pick| pick.endpoint.priority > 0));
            hit("panic", picks.iter().any(|pick| pick.in_panic));
            hit(
                "degraded",
                picks
                    .iter()
                    .any(|pick| !pick.in_panic && pick.endpoint.health == Health::Degraded),
            );
            hit("lost", *lost > 0);
            let is_left_out = record
                .considered
                .iter()
                .any(|endpoint| endpoint.why == "its locality has no weight");
            hit("locality without weight", is_left_out);
        }
        HostSelection::None(why) => hit(
            if *why == "the cluster has no endpoints" {
                "UH empty"
            } else {
                "UH"
            },
            true,
        ),
        HostSelection::Original(..) | HostSelection::Unknown(_) => {}
    }
}

/// An Envoy whose listeners answer with their names.
fn upstream() -> Envoy {
    let listeners = (0..ENDPOINTS).map(|number| {
        let name = format!("endpoint {number}");
        let route =
            json!({"match": {"prefix": "/"}, "direct_response": {"status": 200, "body": {"inline_string": name}}});
        let table = json!({"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [route]}]});
        listener(&name, vec![connection_manager(table, Vec::new(), &json!({}))])
    });
    Envoy::start(&bootstrap(listeners.collect(), Vec::new()))
}
