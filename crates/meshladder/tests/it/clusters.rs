//! A mesh of two real clusters: one mesh, two networks, a gateway each.

use serde_json::Value;

use crate::expect::root;
use crate::support::{Run, meshladder};

const PAY: [&str; 4] = [
    "--from",
    "shop/frontend",
    "--to",
    "http://payments.shop:8080/pay",
];
const NARROW: &str = "payments-503-gateway-exposes-other-hosts";

fn bundle(id: &str, cluster: &str) -> String {
    let folder = root().join("fixtures/clusters").join(id);
    folder
        .join(format!("{cluster}.tar.zst"))
        .display()
        .to_string()
}

/// A command on both clusters of a capture.
fn on_pair(id: &str, words: &[&str]) -> Run {
    let east = format!("east={}", bundle(id, "east"));
    let west = format!("west={}", bundle(id, "west"));
    meshladder(&[words, &["-s", &east, "-s", &west]].concat())
}

fn json(id: &str, words: &[&str]) -> Value {
    let run = on_pair(id, &[words, &["-o", "json"]].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"))
}

#[test]
fn a_healthy_pair_is_quiet() {
    for words in [
        &["check"][..],
        &[&["why"], &PAY[..], &["--seen", "200"]].concat(),
    ] {
        let report = json("healthy-pair", words);
        assert_eq!(report["verdict"], "healthy", "{words:?}: {report:#}");
    }
}

#[test]
fn a_walk_goes_through_the_gateway_into_the_other_cluster() {
    let trace = json("healthy-pair", &[&["trace"], &PAY[..]].concat());
    let hops = trace["hops"].as_array().expect("hops");
    let told: Vec<_> = hops
        .iter()
        .map(|hop| (hop["cluster"].as_str(), hop["direction"].as_str()))
        .collect();
    let expected = [
        ("east", "outbound"),
        ("west", "gateway"),
        ("west", "inbound"),
    ];
    assert_eq!(
        told,
        expected.map(|(cluster, way)| (Some(cluster), Some(way)))
    );
    assert_eq!(trace["outcome"]["kind"], "forwarded");
    let doc = hops[1]["steps"][0]["evidence"][0]["doc"].as_str();
    assert!(
        doc.is_some_and(|doc| doc.starts_with("west/proxies/")),
        "{doc:?}"
    );
}

#[test]
fn the_object_to_change_is_told_with_its_cluster() {
    let report = json(NARROW, &[&["why"], &PAY[..], &["--seen", "503"]].concat());
    assert_eq!(report["question"]["cluster"], "east");
    let first = &report["findings"][0];
    assert_eq!(first["code"], "ML1206", "{report:#}");
    assert_eq!(first["subject"]["cluster"], "west");
    assert_eq!(first["subject"]["name"], "cross-network-gateway");
    assert_eq!(first["evidence"][0]["cluster"], "west");
}

#[test]
fn what_is_in_both_clusters_must_be_told_apart() {
    let curl = [
        "why",
        "--from",
        "tools/curl",
        "--to",
        "http://catalog.shop:8080/",
    ];
    let run = on_pair("healthy-pair", &curl);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("--cluster"), "{run:?}");
    let run = on_pair(
        "healthy-pair",
        &[&curl[..], &["--cluster", "west"]].concat(),
    );
    assert_eq!(run.code, 0, "{run:?}");
}

#[test]
fn with_one_of_two_clusters_the_other_is_what_is_missing() {
    let east = bundle("healthy-pair", "east");
    let run = meshladder(&[&["why"], &PAY[..], &["-s", &east, "-o", "json"]].concat());
    let report: Value = serde_json::from_str(&run.stdout).expect("a report");
    assert_eq!(report["verdict"], "undecided");
    let unknown = report["unknown"][0].as_str().unwrap_or_default();
    assert!(unknown.contains("cluster west"), "{report:#}");
    assert_eq!(report["question"]["cluster"], Value::Null);
}

#[test]
fn every_istiod_says_which_clusters_it_watches() {
    let run = on_pair("healthy-pair", &["remote-clusters"]);
    let lines: Vec<Vec<&str>> = run
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let secret = "istio-system/istio-remote-secret-west";
    assert_eq!(lines.len(), 5, "{run:?}");
    assert_eq!(lines[2][..3], ["west", secret, "synced"]);
}
