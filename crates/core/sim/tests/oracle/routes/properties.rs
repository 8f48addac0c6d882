//! What must hold of any table and request, whatever Envoy does.

use meshladder_sim::route::{RouteOutcome, RouteTable, RouteTarget};
use meshladder_sim::runtime::Runtime;
use meshladder_sim::{DecisionRecord, Request, RequestState};
use meshladder_text::json::Raw;
use serde_json::{Value, json};

use super::{requests, tables};
use crate::harness::{Random, seed};

const TABLES: usize = 40;
const REQUESTS: usize = 60;

/// A table, and requests near what it matches.
struct Sample {
    table: Value,
    requests: Vec<Request>,
}

fn samples(random: &mut Random) -> Vec<Sample> {
    let sample = |random: &mut Random| {
        let table = tables::generate(random);
        let text = table.to_string();
        let compiled = compile(&text);
        let requests = (0..REQUESTS)
            .map(|_| requests::generate(random, &table, &compiled).request(80))
            .collect();
        Sample { table, requests }
    };
    (0..TABLES).map(|_| sample(random)).collect()
}

fn compile(text: &str) -> RouteTable<'_> {
    RouteTable::compile(Raw::of(text).expect("JSON"), &Runtime::default())
}

/// What a table does with a request, without places in the dump; none when it is not decided.
fn outcome(table: &RouteTable<'_>, request: &Request) -> Option<String> {
    describe(&table.route(&RequestState::new(request), &mut DecisionRecord::dropping()))
}

/// What both tables do with the requests is the same.
fn assert_same<'r>(one: &Value, other: &Value, requests: impl IntoIterator<Item = &'r Request>) {
    let texts = [one.to_string(), other.to_string()];
    let [one, other] = [&texts[0], &texts[1]].map(|text| compile(text));
    for request in requests {
        assert_eq!(
            outcome(&one, request),
            outcome(&other, request),
            "{request:?}\n{}\n{}",
            texts[0],
            texts[1]
        );
    }
}

fn describe(routed: &RouteOutcome<'_, '_>) -> Option<String> {
    Some(match routed {
        RouteOutcome::Undecided { .. } => return None,
        RouteOutcome::NoRoute { virtual_host } => {
            format!("no route in {:?}", virtual_host.map(|host| &host.name))
        }
        RouteOutcome::RequireTls {
            virtual_host,
            location,
        } => format!("{} requires TLS: {location}", virtual_host.name),
        RouteOutcome::Branches(branches) => {
            let each = branches
                .iter()
                .map(|(share, routed)| Some(format!("{share:?} {}", describe(routed)?)));
            each.collect::<Option<Vec<_>>>()?.join("; ")
        }
        RouteOutcome::Route(decision) => {
            let target = match &decision.target {
                RouteTarget::Clusters(branches) => {
                    let each = branches
                        .iter()
                        .map(|branch| format!("{}*{}", branch.cluster, branch.weight));
                    each.collect::<Vec<_>>().join(",")
                }
                other => format!("{other:?}"),
            };
            format!(
                "{}/{}: {target}",
                decision.virtual_host.name, decision.route.name
            )
        }
    })
}

#[test]
fn stating_an_unknown_header_never_flips_what_was_decided() {
    let mut random = Random::new(seed());
    let (mut decided, mut undecided) = (0, 0);
    for Sample { table, requests } in samples(&mut random) {
        let text = table.to_string();
        let compiled = compile(&text);
        for request in requests {
            let name = random.word(&["user-agent", "content-type"]);
            let headers = request
                .headers
                .iter()
                .filter(|(n, _)| n != name)
                .cloned()
                .collect();
            let open = Request {
                headers,
                ..request.clone()
            };
            match outcome(&compiled, &open) {
                None => undecided += 1,
                before => {
                    decided += 1;
                    assert_eq!(outcome(&compiled, &request), before, "{open:?}\n{text}");
                }
            }
        }
    }
    assert!(
        decided > 1000 && undecided > 10,
        "{decided} were decided, {undecided} were not"
    );
}

#[test]
fn the_order_of_virtual_hosts_does_not_matter() {
    let mut random = Random::new(seed());
    for Sample { table, requests } in samples(&mut random) {
        let mut turned = table.clone();
        let hosts = turned["virtual_hosts"]
            .as_array_mut()
            .expect("there are virtual hosts");
        let by = random.below(hosts.len());
        hosts.rotate_left(by);
        assert_same(&table, &turned, &requests);
    }
}

#[test]
fn taking_away_a_route_that_did_not_match_changes_nothing() {
    let mut random = Random::new(seed());
    let mut removed = 0;
    for Sample { table, requests } in samples(&mut random) {
        let text = table.to_string();
        let compiled = compile(&text);
        for request in requests.iter().take(5) {
            let mut record = DecisionRecord::keeping();
            let _ = compiled.route(&RequestState::new(request), &mut record);
            let losers: Vec<_> = record
                .considered
                .iter()
                .filter(|c| c.matched == false.into())
                .collect();
            if losers.is_empty() {
                continue;
            }
            let at = random.pick(&losers).at;
            let mut smaller = table.clone();
            for (h, host) in compiled.virtual_hosts.iter().enumerate() {
                if let Some(r) = host
                    .routes
                    .iter()
                    .position(|route| route.raw.offset() == at)
                {
                    smaller["virtual_hosts"][h]["routes"]
                        .as_array_mut()
                        .expect("there are routes")
                        .remove(r);
                    removed += 1;
                }
            }
            assert_same(&table, &smaller, [request]);
        }
    }
    assert!(removed > 50, "only {removed} routes were taken away");
}

#[test]
fn a_route_that_never_matches_may_stand_anywhere() {
    let mut random = Random::new(seed());
    for Sample { table, requests } in samples(&mut random) {
        let mut larger = table.clone();
        for host in larger["virtual_hosts"]
            .as_array_mut()
            .expect("there are virtual hosts")
        {
            let routes = host["routes"].as_array_mut().expect("there are routes");
            let never = json!({"match": {"path": "/never/here"}, "route": {"cluster": "c0"}});
            routes.insert(random.below(routes.len() + 1), never);
        }
        assert_same(&table, &larger, &requests);
    }
}
