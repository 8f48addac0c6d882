//! `trace` on the demo's capture, which is a real mesh.

use serde_json::Value;

use crate::expect::root;
use crate::support::{Run, meshladder, with_stdin};

fn trace(words: &[&str]) -> Run {
    let capture = root()
        .join("crates/meshladder/demo/canary-gets-no-traffic.tar.zst")
        .display()
        .to_string();
    meshladder(&[&["trace", "-s", &capture], words].concat())
}

fn json(words: &[&str]) -> Value {
    let run = trace(&[words, &["-o", "json"]].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"))
}

#[test]
fn a_request_is_walked_through_both_proxies() {
    let trace = json(&[
        "--from",
        "shop/frontend",
        "--to",
        "http://catalog.shop:8080/",
    ]);
    let client = &trace["hops"][0];
    assert_eq!(client["direction"], "outbound");
    assert_eq!(client["virtualHost"], "catalog.shop.svc.cluster.local:8080");
    assert_eq!(
        client["clusters"][0]["name"],
        "outbound|8080|v1|catalog.shop.svc.cluster.local"
    );
    assert_eq!(client["tls"], "istio-mtls");
    assert_eq!(trace["hops"][1]["direction"], "inbound");
    assert_eq!(
        (
            trace["outcome"]["kind"].as_str(),
            trace["outcome"]["code"].as_u64()
        ),
        (Some("forwarded"), Some(200))
    );
    let route = client["steps"]
        .as_array()
        .and_then(|steps| steps.iter().find(|s| s["stage"] == "route"));
    let evidence = &route.expect("a route step")["evidence"][0];
    assert!(
        evidence["pointer"]
            .as_str()
            .is_some_and(|p| p.contains("/virtual_hosts/")),
        "{evidence}"
    );
}

#[test]
fn a_denied_request_names_the_policy_and_exits_1() {
    let run = trace(&["--from", "tools/curl", "--to", "http://payments.shop:8080/"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        run.stdout
            .contains("403 - rbac_access_denied_matched_policy[none]"),
        "{}",
        run.stdout
    );
}

#[test]
fn what_cannot_be_known_is_undecided_and_exits_5() {
    let dump = root()
        .join("fixtures/meshes/small/bundle")
        .display()
        .to_string();
    let run = meshladder(&[
        "trace",
        "-s",
        &dump,
        "--from",
        "tools/curl",
        "--to",
        "http://catalog.shop:8080/",
    ]);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(
        run.stdout.contains("the config dump of shop/catalog-v1"),
        "{}",
        run.stdout
    );
}

#[test]
fn wrong_words_are_told() {
    for (words, told) in [
        (&["--from", "tools/curl"][..], "--to"),
        (&["--to", "ftp://x"], "http, https or tcp"),
        (&["--to", "http://x", "-H", "nonsense"], "no header"),
        (&["--to", "http://x", "--jwt-claim", "nonsense"], "no claim"),
    ] {
        let run = trace(words);
        assert_eq!(run.code, 2, "{words:?}: {run:?}");
        assert!(run.stderr.contains(told), "{words:?}: {}", run.stderr);
    }
}

fn many(lines: &str, words: &[&str]) -> Run {
    let capture = root()
        .join("crates/meshladder/demo/canary-gets-no-traffic.tar.zst")
        .display()
        .to_string();
    with_stdin(
        &[&["trace", "-s", &capture, "--requests", "-"], words].concat(),
        lines.as_bytes(),
    )
}

#[test]
fn many_requests_end_as_each_does_alone() {
    let urls = [
        "http://catalog.shop:8080/",
        "http://payments.shop:8080/",
        "http://cart.shop:8080/x",
        "http://a.example/",
    ];
    let lines = urls.map(|url| format!("{{\"to\":\"{url}\"}}\n")).concat();
    let run = many(&lines, &["--from", "tools/curl"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("4 requests in "), "{}", run.stderr);
    let outcomes: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(outcomes.len(), urls.len());
    for (number, (url, outcome)) in urls.iter().zip(&outcomes).enumerate() {
        let alone = json(&["--from", "tools/curl", "--to", url]);
        assert_eq!(outcome["line"], number + 1);
        for key in ["kind", "code", "flags", "details"] {
            assert_eq!(outcome[key], alone["outcome"][key], "{key} of {url}");
        }
        let names = |of: &Value| -> Vec<_> {
            of["clusters"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|cluster| cluster["name"].clone())
                .collect()
        };
        assert_eq!(names(outcome), names(&alone["hops"][0]), "{url}");
    }
}

#[test]
fn a_bad_line_is_told_with_its_number_and_the_rest_goes_on() {
    let lines = "{\"to\":\"http://catalog.shop:8080/\",\"from\":\"shop/frontend\",\"id\":\"a\"}\n\nnonsense\n{\"to\":\"http://catalog.shop:8080/\",\"from\":\"shop/nobody\"}\n{\"to\":\"http://catalog.shop:8080/\"}\n";
    let run = many(lines, &["--from", "shop/frontend"]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(
        run.stderr.contains("stdin:3: not a JSON object"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("stdin:4: "), "{}", run.stderr);
    let outcomes: Vec<Value> = run
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let kinds: Vec<_> = outcomes
        .iter()
        .map(|o| {
            (
                o["line"].as_u64(),
                o["kind"].as_str(),
                o["error"].is_string(),
            )
        })
        .collect();
    let good = |line| (Some(line), Some("forwarded"), false);
    let bad = |line| (Some(line), None, true);
    assert_eq!(kinds, [good(1), bad(3), bad(4), good(5)]);
    assert_eq!(outcomes[0]["id"], "a");
}

#[test]
fn the_candidates_of_many_requests_are_told_when_asked() {
    let run = many(
        "{\"to\":\"http://catalog.shop:8080/\"}\n",
        &["--from", "shop/frontend", "--verbose"],
    );
    let trace: Value = serde_json::from_str(run.stdout.trim_end()).expect("one line of JSON");
    let steps = trace["hops"][0]["steps"].as_array().expect("steps");
    assert!(
        steps.iter().any(|step| step["considered"]
            .as_array()
            .is_some_and(|all| all.len() > 1)),
        "{trace}"
    );
}

#[test]
fn every_step_points_at_what_decided_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = folder.path().join("bundle");
    let capture = root().join("crates/meshladder/demo/canary-gets-no-traffic.tar.zst");
    let run = meshladder(&[
        "bundle".as_ref(),
        "pack".as_ref(),
        bundle.as_os_str(),
        "-s".as_ref(),
        capture.as_os_str(),
    ]);
    assert_eq!(run.code, 0, "{run:?}");
    let mut dumps = std::collections::BTreeMap::new();
    let mut objects = std::collections::BTreeSet::new();
    for from in ["tools/curl", "shop/frontend", "shop/cart", "outside"] {
        for url in [
            "http://catalog.shop:8080/",
            "http://payments.shop:8080/a",
            "http://a.example/",
            "tcp://10.9.9.9:9",
        ] {
            let trace = json(&["--from", from, "--to", url]);
            for step in trace["hops"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|hop| hop["steps"].as_array())
                .flatten()
            {
                let evidence = step["evidence"].as_array().expect("a list");
                assert!(!evidence.is_empty(), "{from} to {url}: {step}");
                objects.extend(step["object"].as_str().map(str::to_owned));
                for at in evidence {
                    let doc = at["doc"].as_str().expect("a document").to_owned();
                    let dump = dumps.entry(doc.clone()).or_insert_with(|| -> Value {
                        let text = std::fs::read_to_string(bundle.join(&doc))
                            .expect("it is in the bundle");
                        serde_json::from_str(&text).expect("JSON")
                    });
                    let pointer = at["pointer"].as_str().expect("a pointer");
                    let there = dump
                        .pointer(pointer)
                        .unwrap_or_else(|| panic!("{doc} has no {pointer}: {step}"));
                    assert!(there.is_object(), "{pointer}: {there}");
                    assert!(
                        !step["chosen"].as_str().unwrap_or_default().is_empty(),
                        "{step}"
                    );
                }
            }
        }
    }
    for object in [
        "VirtualService shop/catalog",
        "DestinationRule shop/catalog",
        "Service shop/payments",
    ] {
        assert!(
            objects.contains(object),
            "{object} is not among {objects:?}"
        );
    }
}

#[test]
fn stdin_cannot_be_source_and_requests() {
    let run = meshladder(&["trace", "-s", "-", "--requests", "-"]);
    assert_eq!((run.code, run.stdout.as_str()), (2, ""), "{run:?}");
}
