//! The evaluator, held to the truth tables in `tests/data/sim`. The oracle holds a real Envoy to
//! the same ones.

use meshladder_sim::path::{PreparedRequest, RequestPreparation};
use meshladder_sim::request::{Claims, Connection};
use meshladder_sim::route::{RouteOutcome, RouteTable};
use meshladder_sim::runtime::Runtime;
use meshladder_sim::{DecisionRecord, Request, RequestState, Tri};
use meshladder_text::json::Raw;

mod truth;

use truth::{Case, Row};

#[test]
fn matchers_say_what_their_truth_tables_say() {
    let rows = truth::rows();
    assert!(rows.len() > 100, "only {} rows were read", rows.len());
    let wrong: Vec<_> = rows
        .iter()
        .flat_map(|row| row.cases.iter().filter_map(|case| disagreement(row, case)))
        .collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

fn disagreement(row: &Row, case: &Case) -> Option<String> {
    let said = say(&row.route_match, case);
    let what = || {
        format!(
            "{}: {}: {case:?}, got {}",
            row.place,
            row.route_match,
            said.word()
        )
    };
    (said != case.expected).then(what)
}

/// Whether a table with this one route takes the request.
fn say(route_match: &str, case: &Case) -> Tri {
    let route = format!(r#"{{"match": {route_match}, "direct_response": {{"status": 200}}}}"#);
    let table =
        format!(r#"{{"virtual_hosts": [{{"name": "v", "domains": ["*"], "routes": [{route}]}}]}}"#);
    let raw = |text| Raw::of(text).expect("JSON");
    let table = RouteTable::compile(raw(&table), &Runtime::default());
    let manager = RequestPreparation::compile(raw("{}"), &Runtime::default());
    let request = request(case);
    let PreparedRequest::Request(request) = manager.enter(&request) else {
        panic!("{case:?} was answered")
    };
    match table.route(
        &RequestState::new(&request),
        &mut DecisionRecord::dropping(),
    ) {
        RouteOutcome::Route(_) => Tri::Yes,
        RouteOutcome::NoRoute { .. } => Tri::No,
        RouteOutcome::Undecided { fact, .. } => Tri::Unknown(fact),
        other => panic!("{case:?}: {other:?}"),
    }
}

fn request(case: &Case) -> Request {
    let destination = ([10, 0, 0, 1].into(), 80);
    Request {
        connection: Connection {
            destination,
            source: None,
            tls: None,
            plain_http: Some("http/1.1"),
        },
        method: "GET".to_owned(),
        scheme: "http".to_owned(),
        authority: "a.test".to_owned(),
        path: case.path.clone(),
        headers: case.headers.clone(),
        claims: Claims::None,
        unknown_headers: Vec::new(),
    }
}
