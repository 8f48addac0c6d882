//! `diff` on captures of a real mesh.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::expect::root;
use crate::meshes::{capture, captures};
use crate::support::{Run, meshladder};

fn demo() -> String {
    root()
        .join("crates/meshladder/demo/canary-gets-no-traffic.tar.zst")
        .display()
        .to_string()
}

fn json(words: &[&str]) -> (Value, Run) {
    let run = meshladder(&[&["diff"], words, &["-o", "json"]].concat());
    let value = serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"));
    (value, run)
}

#[test]
fn a_capture_does_not_differ_from_itself() {
    let (diff, run) = json(&[&demo(), &demo()]);
    assert_eq!(
        (run.code, &diff["same"], &diff["changes"]),
        (0, &true.into(), &Value::Array(Vec::new()))
    );
    assert!(diff["compared"].as_u64() > Some(100), "{diff}");
    assert_eq!(diff["noise"], serde_json::json!({}), "{diff}");
}

/// The demo's proxies outside `shop` got the last push, those inside did not.
#[test]
fn two_proxies_differ_in_the_weights_that_only_one_got() {
    let run = meshladder(&[
        "diff",
        "deploy/frontend.shop",
        "deploy/curl.tools",
        "-s",
        &demo(),
    ]);
    assert_eq!(run.code, 1, "{run:?}");
    let line = "0 % goes to v2 of catalog.shop.svc.cluster.local:8080 on A, 10 % on B";
    assert!(run.stdout.contains(line), "{}", run.stdout);
    assert!(
        run.stdout.contains("made by VirtualService shop/catalog"),
        "{}",
        run.stdout
    );
}

#[test]
fn every_format_says_the_same() {
    let words = [
        "diff",
        "deploy/frontend.shop",
        "deploy/curl.tools",
        "-s",
        &demo(),
    ];
    for (format, start) in [
        ("markdown", "# A frontend"),
        ("html", "<!doctype html>"),
        ("json", "{"),
        ("text", "A frontend"),
    ] {
        let run = meshladder(&[&words[..], &["-o", format]].concat());
        assert!(run.stdout.starts_with(start), "{format}: {}", run.stdout);
        assert!(
            run.stdout.contains("VirtualService") && run.code == 1,
            "{format}: {run:?}"
        );
    }
}

#[test]
fn what_cannot_be_compared_is_said() {
    for (words, says) in [
        (&["diff", "deploy/frontend.shop"][..], "has no sibling"),
        (
            &["diff", "deploy/frontend.shop", "istiod"],
            "no view of istiod's",
        ),
        (
            &["diff", "deploy/nobody.shop", "deploy/curl.tools"],
            "no proxy for Deployment `nobody`",
        ),
        (
            &["diff", "revision/1-99", "revision/default"],
            "no proxy of revision `1-99`",
        ),
        (
            &["diff", "revision/1-99", "deploy/curl.tools"],
            "only be compared with another revision",
        ),
    ] {
        let run = meshladder(&[words, &["-s", &demo()]].concat());
        assert!(run.code > 1 && run.stderr.contains(says), "{says}: {run:?}");
    }
    let run = meshladder(&["diff", &demo(), "nowhere.tar.gz"]);
    assert!(
        run.code == 2
            && run
                .stderr
                .contains("there is no file `nowhere.tar.gz`, and no source"),
        "{run:?}"
    );
    let run = meshladder(&["diff", "deploy/payments.shop", "istiod", "-s", &demo()]);
    assert_eq!(run.stderr.matches("has 2 proxies").count(), 1, "{run:?}");
}

/// Incidents whose cause is no difference in objects: the request, the application, or an object
/// that `healthy` has too.
const NOT_IN_OBJECTS: &[&str] = &[
    "cart-502-app-answers-with-tls-bytes",
    "cart-503-almost-nothing-readable",
    "cart-503-app-closes-connection",
    "client-gives-up-first-dc",
    "curl-403-not-in-allow-list",
    "frontend-401-token-expired",
    "http10-batch-client-reset-passthrough",
    "https-ingress-reset-without-sni",
    "ingress-404-wrong-host-header",
    "ingress-426-http10-health-checker",
    "legacy-client-reset-by-strict-mtls",
    "payments-403-nothing-readable",
    "payments-503-comes-from-the-app",
    "payments-503-retries-exhausted",
    "scrape-by-pod-ip-503-strict",
    "wrong-port-503-passthrough",
    "healthy",
];

/// Two captures are two installations: cluster IPs, pod names and addresses differ in all of them.
#[test]
fn each_incident_differs_from_the_healthy_mesh_in_a_handful_of_objects_and_its_cause_is_among_them()
{
    let healthy = capture("healthy").bundle().display().to_string();
    let mut wrong = Vec::new();
    for capture in captures() {
        let name = &capture.id;
        let truth = truth(&capture.folder);
        let (diff, _) = json(&[&healthy, &capture.bundle().display().to_string()]);
        let changes = diff["changes"].as_array().expect("a list");
        let objects = changes
            .iter()
            .filter(|change| change["on"].as_array().is_some_and(Vec::is_empty))
            .count();
        if objects > 6 {
            wrong.push(format!("{name}: {objects} objects differ"));
        }
        let blamed: BTreeSet<String> = changes
            .iter()
            .flat_map(|change| change["objects"].as_array().expect("a list"))
            .map(object)
            .collect();
        let is_found = truth.iter().any(|object| blamed.contains(object));
        if is_found != (!truth.is_empty() && !NOT_IN_OBJECTS.contains(&name.as_str())) {
            wrong.push(format!("{name}: {truth:?} {blamed:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

fn object(object: &Value) -> String {
    let part = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
    format!("{}/{}/{}", part("kind"), part("namespace"), part("name"))
}

/// The objects to blame; any pod of a Deployment stands for the Deployment.
fn truth(mesh: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(mesh.join("incident.json")).expect("the incident is there");
    let incident: Value = serde_json::from_str(&text).expect("JSON");
    let objects = incident["truth"]["objects"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let name = |object: &Value| {
        object.as_str().map(|text| {
            text.split('#')
                .next()
                .unwrap_or(text)
                .replacen("Pod/", "Deployment/", 1)
        })
    };
    objects.iter().filter_map(name).collect()
}
