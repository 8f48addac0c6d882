//! `describe` on the demo's capture, which is a real mesh.

use serde_json::Value;

use crate::expect::root;
use crate::support::{Run, meshladder};

fn describe(words: &[&str]) -> Run {
    let capture = root()
        .join("crates/meshladder/demo/canary-gets-no-traffic.tar.zst")
        .display()
        .to_string();
    meshladder(&[&["describe"], words, &["-s", &capture]].concat())
}

/// Every section with its facts, as `title: about says [by]`.
fn facts(words: &[&str]) -> Vec<String> {
    let run = describe(&[words, &["-o", "json"]].concat());
    let value: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"));
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let sections = value["sections"].as_array().cloned().unwrap_or_default();
    let lines = sections.iter().flat_map(|section| {
        let facts = section["facts"].as_array().cloned().unwrap_or_default();
        facts.into_iter().map(move |fact| {
            format!(
                "{}: {} {} [{}]",
                text(&section["title"]),
                text(&fact["about"]),
                text(&fact["says"]),
                text(&fact["by"]["name"])
            )
        })
    });
    lines.collect()
}

#[test]
fn a_pod_a_service_a_virtual_service_and_a_gateway_are_told_in_a_screen() {
    for (words, lines) in [
        (
            &["deploy/frontend", "-n", "shop"][..],
            &[
                "mTLS for callers: port 8080 STRICT: mutual TLS only [default]",
                "Exposed at gateways: https://shop.example.com:443 by VirtualService shop/shop-ingress [shop-gateway]",
            ][..],
        ),
        (
            &["svc", "catalog.shop"],
            &[
                "Endpoints: selector app=catalog selects 2 pods [catalog]",
                "Routing: decides everything: 90 % to catalog v1, 10 % to catalog v2 [catalog]",
            ],
        ),
        (
            &["virtualservice", "catalog", "-n", "shop"],
            &["For whom: gateways mesh (sidecars) [catalog]"],
        ),
        (
            &["gateway", "shop-gateway", "-n", "istio-ingress"],
            &["Servers: credential shop-cert [shop-cert]"],
        ),
    ] {
        let facts = facts(words);
        for line in lines {
            assert!(
                facts.contains(&(*line).to_owned()),
                "{line} is not in {facts:#?}"
            );
        }
        let text = describe(words);
        assert!(
            text.code == 0 && text.stdout.lines().count() < 50,
            "{text:?}"
        );
    }
}

#[test]
fn what_is_wrong_with_the_thing_is_part_of_it() {
    let facts = facts(&["deploy/frontend", "-n", "shop"]);
    let wrong = |fact: &&String| {
        fact.starts_with("What is wrong: ML0401 error NetworkPolicy shop/restrict-egress")
    };
    assert_eq!(facts.iter().filter(wrong).count(), 1, "{facts:#?}");
}

#[test]
fn what_has_no_description_is_said() {
    for (words, says) in [
        (&["pod", "nobody.shop"][..], "no `pod/nobody`"),
        (
            &["networkpolicy", "restrict-egress", "-n", "shop"],
            "has no description",
        ),
        (&["nonsense", "catalog"], "`nonsense` is no kind of object"),
    ] {
        let run = describe(words);
        assert!(
            run.code != 0 && run.stderr.contains(says),
            "{says}: {run:?}"
        );
    }
}
