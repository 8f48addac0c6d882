//! `authz check`, and `--principal` where only the server's dump is at hand.

use std::path::PathBuf;

use serde_json::Value;

use crate::expect::root;
use crate::support::{Run, meshladder};

const PAYMENTS: &str = "proxies/shop/payments-68f779d5c8-68m2z/config_dump.json";
const CART: &str = "cluster.local/ns/shop/sa/cart";

fn bundle() -> PathBuf {
    root().join("fixtures/meshes/authz/bundle")
}

fn check(words: &[&str]) -> Run {
    let bundle = bundle().display().to_string();
    meshladder(&[&["authz", "check", "-s", &bundle], words].concat())
}

fn json(words: &[&str]) -> Value {
    let run = check(&[words, &["-o", "json"]].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"))
}

/// Those objects without any dump, with a rule of its own lines.
const POLICY: &str = "\
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: pay, namespace: shop}
spec:
  selector: {matchLabels: {app: pay}}
  rules:
  - from:
    - source: {principals: [cluster.local/ns/shop/sa/cart]}
    to:
    - operation: {methods: [GET], paths: [/pay/*]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: pay, namespace: shop}
spec: {template: {metadata: {labels: {app: pay}}, spec: {containers: [{name: a}]}}}
";

#[test]
fn the_table_needs_a_dump_only_and_all_shows_more() {
    let dump = bundle().join(PAYMENTS).display().to_string();
    let run = meshladder(&["authz", "check", "--file", &dump]);
    let expected = "\
ACTION   AuthorizationPolicy         RULES
ALLOW    _anonymous_match_nothing_   1
ALLOW    payments.shop               1
";
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, expected),
        "{}",
        run.stderr
    );
    let all = meshladder(&["authz", "check", "-a", "--file", &dump]).stdout;
    assert!(
        all.contains("payments.shop               1       yes        0.0.0.0_8080"),
        "{all}"
    );
}

#[test]
fn a_denied_request_names_what_nearly_matched_and_what_the_caller_sees() {
    let run = check(&["--from", "tools/curl", "--to", "http://payments.shop:8080/"]);
    assert_eq!(run.code, 1, "{run:?}");
    for told in [
        "DENY: there are ALLOW policies for the workload, and none of them matches\n",
        "403 `RBAC: access denied`",
        "rbac_access_denied_matched_policy[none]",
        "principal `spiffe://cluster.local/ns/tools/sa/curl` is not `spiffe://cluster.local/ns/shop/sa/cart`",
        "authorizationpolicies.security.istio.io.json:",
    ] {
        assert!(run.stdout.contains(told), "{told} is in {}", run.stdout);
    }
}

#[test]
fn who_sends_plain_text_to_strict_is_told_the_object_that_says_so() {
    let run = check(&[
        "--from",
        "legacy/old-client",
        "--to",
        "http://payments.shop:8080/",
    ]);
    assert_eq!(run.code, 1, "{run:?}");
    for told in [
        "DENY: PeerAuthentication shop/default takes mutual TLS only",
        "a closed connection",
        "\"mode\": \"STRICT\"",
    ] {
        assert!(run.stdout.contains(told), "{told} is in {}", run.stdout);
    }
}

#[test]
fn the_deciding_rule_is_told_as_json_with_its_place() {
    let answer = json(&[
        "shop/catalog-v1",
        "--principal",
        CART,
        "--to",
        "http://catalog.shop:8080/debug/x",
    ]);
    assert_eq!(
        (answer["kind"].as_str(), answer["basis"].as_str()),
        (Some("AuthzCheck"), Some("dump"))
    );
    assert_eq!(answer["verdict"], "deny");
    assert_eq!(answer["by"]["name"], "catalog-no-debug");
    assert_eq!(answer["by"]["evidence"]["pointer"], "/items/1/spec/rules/0");
    assert_eq!(
        answer["callerSees"]["details"],
        "rbac_access_denied_matched_policy[ns[shop]-policy[catalog-no-debug]-rule[0]]"
    );
    assert_eq!(answer["objectsSay"], Value::Null);
}

#[test]
fn objects_alone_decide_with_the_lines_of_the_users_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("policy.yaml");
    std::fs::write(&file, POLICY).expect("a file");
    let file = file.display().to_string();
    for (words, code, told) in [
        (
            ["--principal", CART, "--to", "http://pay.shop:8080/pay/1"],
            0,
            "ALLOW: AuthorizationPolicy shop/pay rule[0]",
        ),
        (
            ["--principal", CART, "--to", "http://pay.shop:8080/refund"],
            1,
            "path `/refund` does not start with `/pay/`",
        ),
        (
            ["--principal", CART, "--to", "tcp://pay.shop:8080"],
            1,
            "a closed connection",
        ),
        (
            ["--header", "a: b", "--to", "http://pay.shop:8080/pay/1"],
            5,
            "it depends on the caller's identity",
        ),
    ] {
        let run = meshladder(&[&["authz", "check", "shop/pay", "-s", &file], &words[..]].concat());
        assert_eq!(run.code, code, "{words:?}: {run:?}");
        assert!(run.stdout.contains(told), "{told} is in {}", run.stdout);
    }
    let words = [
        "authz",
        "check",
        "deploy/pay",
        "-n",
        "shop",
        "--principal",
        CART,
        "--to",
        "http://x:1/pay/1",
        "-s",
        &file,
    ];
    let run = meshladder(&words);
    assert!(
        run.stdout.contains("policy.yaml:7\n   7 | - from:"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_proxy_that_does_not_have_what_the_objects_say_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("bundle");
    for entry in [
        "manifest.json",
        "k8s/pods.json",
        "k8s/services.json",
        "k8s/authorizationpolicies.security.istio.io.json",
        "k8s/peerauthentications.security.istio.io.json",
        "k8s/requestauthentications.security.istio.io.json",
        PAYMENTS,
    ] {
        let text = std::fs::read_to_string(bundle().join(entry)).expect("a document");
        let text = if entry.contains("authorizationpolicies") {
            text.replace("sa/cart", "sa/curl")
        } else {
            text
        };
        std::fs::create_dir_all(copy.join(entry).parent().expect("a folder")).expect("a folder");
        std::fs::write(copy.join(entry), text).expect("a file");
    }
    let copy = copy.display().to_string();
    let words = [
        "authz",
        "check",
        "-s",
        &copy,
        "--principal",
        CART,
        "--to",
        "http://payments.shop:8080/",
    ];
    let run = meshladder(&words);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.stdout.contains("The objects say otherwise: DENY"),
        "{}",
        run.stdout
    );
}

#[test]
fn a_lone_dump_answers_for_a_caller_that_is_named() {
    let dump = bundle().join(PAYMENTS).display().to_string();
    for (principal, code, told) in [
        (
            "spiffe://cluster.local/ns/shop/sa/sleep",
            1,
            "403 - rbac_access_denied_matched_policy[none]",
        ),
        (CART, 0, "200 - via_upstream"),
    ] {
        let words = [
            "trace",
            "-s",
            &dump,
            "--principal",
            principal,
            "-X",
            "POST",
            "--to",
            "http://payments.shop:8080/x",
        ];
        let run = meshladder(&words);
        assert_eq!(run.code, code, "{run:?}");
        assert!(run.stdout.contains(told), "{}", run.stdout);
    }
}

#[test]
fn wrong_words_are_told() {
    for (words, code, told) in [
        (
            &["--principal", "cart", "--to", "http://payments.shop:8080/"][..],
            2,
            "no identity",
        ),
        (&["--from", "tools/curl"], 2, "--to"),
        (
            &["shop/nobody", "--to", "http://payments.shop:8080/"],
            3,
            "no proxy for",
        ),
        (&["deploy/payments", "-n", "shop", "-o", "json"], 2, "--to"),
    ] {
        let run = check(words);
        assert_eq!(run.code, code, "{words:?}: {run:?}");
        assert!(run.stderr.contains(told), "{words:?}: {}", run.stderr);
    }
}
