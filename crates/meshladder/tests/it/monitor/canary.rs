//! `canary` against a real Prometheus.

use serde_json::Value;

use super::server::{Prometheus, Series};
use crate::expect::root;
use crate::support::{Run, meshladder};

fn version(service: &str, reporter: &str, version: &str, per_minute: f64) -> Series {
    let labels = format!(
        "reporter=\"{reporter}\",source_workload=\"frontend\",source_workload_namespace=\"shop\",destination_service_namespace=\"shop\",destination_service_name=\"{service}\",destination_version=\"{version}\",response_flags=\"-\""
    );
    Series {
        labels,
        per_minute: [Some(per_minute), None, None],
    }
}

fn canary(url: &str, service: &str, words: &[&str]) -> Run {
    let all = [
        "canary",
        "--service",
        service,
        "-n",
        "shop",
        "--window",
        "10m",
        "--prometheus",
        url,
    ];
    meshladder(&[&all, words].concat())
}

#[test]
fn shares_are_judged_against_weights() {
    let prometheus = Prometheus::with(&[
        version("even", "source", "v1", 90.0),
        version("even", "source", "v2", 10.0),
        // The servers' count is not looked at while clients' proxies count.
        version("even", "destination", "v2", 100.0),
        version("starved", "source", "v1", 100.0),
        version("starved", "source", "unknown", 10.0),
        version("few", "source", "v1", 0.5),
        version("outside", "destination", "v1", 50.0),
        version("outside", "destination", "v2", 50.0),
    ]);
    let weights = ["--weights", "v1=90,v2=10"];
    let even = canary(&prometheus.url, "even", &weights);
    assert_eq!(even.code, 0, "{}{}", even.stdout, even.stderr);
    assert!(
        even.stdout
            .starts_with("traffic to even.shop matches the weights given: "),
        "{}",
        even.stdout
    );
    assert!(
        even.stderr.contains("counted by the source side"),
        "{}",
        even.stderr
    );

    let starved = canary(&prometheus.url, "starved", &weights);
    assert_eq!(starved.code, 1, "{}{}", starved.stdout, starved.stderr);
    let command = "meshladder why --from shop/frontend --to http://starved.shop:PORT/ --seen 200";
    assert!(
        starved.stderr.contains("v2 gets nothing") && starved.stderr.contains(command),
        "{}",
        starved.stderr
    );
    assert!(
        starved.stderr.contains("reached no version at all"),
        "{}",
        starved.stderr
    );

    let few = canary(&prometheus.url, "few", &weights);
    assert!(
        few.code == 5 && few.stdout.starts_with("too few requests to few.shop"),
        "{}{}",
        few.stdout,
        few.stderr
    );
    let none = canary(&prometheus.url, "nobody", &weights);
    assert!(
        none.code == 5 && none.stderr.contains("absent"),
        "{}",
        none.stderr
    );

    let outside = canary(
        &prometheus.url,
        "outside",
        &["--weights", "v1=50,v2=50", "-o", "json"],
    );
    let json: Value = serde_json::from_str(&outside.stdout).expect("JSON");
    assert_eq!(
        (&json["verdict"], &json["reporter"]),
        (&Value::from("matches"), &Value::from("destination"))
    );
    let (low, high) = (
        json["parts"][0]["low"].as_f64(),
        json["parts"][0]["high"].as_f64(),
    );
    assert!(low < Some(0.5) && high > Some(0.5), "{json}");
}

#[test]
fn what_is_missing_is_asked_for() {
    for words in [
        &[
            "canary",
            "--service",
            "a",
            "-n",
            "shop",
            "--prometheus",
            "http://127.0.0.1:1",
        ][..],
        &[
            "canary",
            "--service",
            "a",
            "-n",
            "shop",
            "--weights",
            "v1=1",
        ],
        &[
            "canary",
            "--service",
            "a",
            "--weights",
            "v1=1",
            "--prometheus",
            "http://127.0.0.1:1",
        ],
        &[
            "canary",
            "--service",
            "a",
            "-n",
            "shop",
            "--weights",
            "v1",
            "--prometheus",
            "http://127.0.0.1:1",
        ],
    ] {
        let told = meshladder(words);
        assert_eq!(
            (told.code, told.stdout.as_str()),
            (2, ""),
            "{words:?}: {}",
            told.stderr
        );
    }
}

/// The capture has a canary that gets nothing, and the reason in it.
#[test]
fn nothing_to_a_version_leads_into_why() {
    let capture = root().join("crates/meshladder/demo/canary-gets-no-traffic.tar.zst");
    let prometheus = Prometheus::with(&[version("catalog", "source", "v1", 100.0)]);
    let told = canary(
        &prometheus.url,
        "catalog",
        &["-s", &capture.display().to_string()],
    );
    assert_eq!(told.code, 1, "{}", told.stderr);
    assert!(
        told.stdout
            .contains("differs from the weights of VirtualService shop/catalog"),
        "{}",
        told.stdout
    );
    assert!(told.stdout.contains("NetworkPolicy"), "{}", told.stdout);
}
