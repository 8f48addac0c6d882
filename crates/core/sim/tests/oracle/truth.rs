//! The truth tables of `tests/data/sim` are Envoy's, not only ours.

use meshladder_sim::Tri;
use serde_json::{Value, json};

use crate::harness::{Client, Coverage, Envoy, bootstrap, connection_manager, listener};

#[path = "../it/sim/truth.rs"]
mod table;

use table::{Case, Row};

#[test]
fn the_truth_tables_hold_for_envoy() {
    // A row that answers only unknown may well be one that Envoy refuses.
    let decided = |row: &Row| {
        row.cases
            .iter()
            .any(|case| !matches!(case.expected, Tri::Unknown(_)))
    };
    let rows: Vec<_> = table::rows().into_iter().filter(decided).collect();
    let hosts: Vec<_> = rows
        .iter()
        .enumerate()
        .map(|(n, row)| virtual_host(n, row))
        .collect();
    let manager = connection_manager(json!({"virtual_hosts": hosts}), Vec::new(), &json!({}));
    let envoy = Envoy::start(&bootstrap(vec![listener("in", vec![manager])], Vec::new()));
    let mut client = Client::new(envoy.port("in"));
    let mut coverage = Coverage::default();
    let mut wrong = Vec::new();
    for (n, row) in rows.iter().enumerate() {
        for case in row
            .cases
            .iter()
            .filter(|case| !matches!(case.expected, Tri::Unknown(_)))
        {
            let answer = client.send(&bytes(n, case));
            coverage.hit(file(&row.place), answer.status == 200);
            if Tri::from(answer.status == 200) != case.expected {
                wrong.push(format!(
                    "{}: {}: {case:?}, Envoy says {}",
                    row.place, row.route_match, answer.status
                ));
            }
        }
    }
    let mut files: Vec<_> = rows.iter().map(|row| file(&row.place)).collect();
    files.dedup();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    coverage.conclude("truth tables", &files, &[]);
}

/// The table that a row stands in.
fn file(place: &str) -> &str {
    place.split(':').next().unwrap_or(place)
}

fn virtual_host(n: usize, row: &Row) -> Value {
    let route_match: Value = serde_json::from_str(&row.route_match).expect("a row is JSON");
    let route = json!({"match": route_match, "direct_response": {"status": 200}});
    json!({"name": row.place, "domains": [format!("r{n}.test")], "routes": [route]})
}

fn bytes(n: usize, case: &Case) -> Vec<u8> {
    let lines: String = case
        .headers
        .iter()
        .flat_map(|(name, value)| [name, ": ", value, "\r\n"])
        .collect();
    format!(
        "GET {} HTTP/1.1\r\nhost: r{n}.test\r\n{lines}\r\n",
        case.path
    )
    .into_bytes()
}
