//! `trace` on the demo's capture, which is a real mesh.

use serde_json::Value;

use crate::expect::root;
use crate::support::{Run, meshladder};

fn trace(words: &[&str]) -> Run {
    let capture = root().join("crates/meshladder/demo/canary-gets-no-traffic.tar.zst").display().to_string();
    meshladder(&[&["trace", "-s", &capture], words].concat())
}

fn json(words: &[&str]) -> Value {
    let run = trace(&[words, &["-o", "json"]].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"))
}

#[test]
fn a_request_is_walked_through_both_proxies() {
    let trace = json(&["--from", "shop/frontend", "--to", "http://catalog.shop:8080/"]);
    let client = &trace["hops"][0];
    assert_eq!(client["direction"], "outbound");
    assert_eq!(client["virtualHost"], "catalog.shop.svc.cluster.local:8080");
    assert_eq!(client["clusters"][0]["name"], "outbound|8080|v1|catalog.shop.svc.cluster.local");
    assert_eq!(client["tls"], "istio-mtls");
    assert_eq!(trace["hops"][1]["direction"], "inbound");
    assert_eq!((trace["outcome"]["kind"].as_str(), trace["outcome"]["code"].as_u64()), (Some("forwarded"), Some(200)));
    let route = client["steps"].as_array().and_then(|steps| steps.iter().find(|s| s["stage"] == "route"));
    let evidence = &route.expect("a route step")["evidence"][0];
    assert!(evidence["pointer"].as_str().is_some_and(|p| p.contains("/virtual_hosts/")), "{evidence}");
}

#[test]
fn a_denied_request_names_the_policy_and_exits_1() {
    let run = trace(&["--from", "tools/curl", "--to", "http://payments.shop:8080/"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("403 - rbac_access_denied_matched_policy[none]"), "{}", run.stdout);
}

#[test]
fn what_cannot_be_known_is_undecided_and_exits_5() {
    let dump = root().join("fixtures/meshes/small/bundle").display().to_string();
    let run = meshladder(&["trace", "-s", &dump, "--from", "tools/curl", "--to", "http://catalog.shop:8080/"]);
    assert_eq!(run.code, 5, "{run:?}");
    assert!(run.stdout.contains("the config dump of shop/catalog-v1"), "{}", run.stdout);
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
