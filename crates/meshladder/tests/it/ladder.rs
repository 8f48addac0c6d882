//! `check`, `why`, `explain` and `flags` on the demo's capture, which is a real mesh.

use serde_json::Value;

use crate::expect::root;
use crate::support::{Run, meshladder, with_stdin};

const WHY: [&str; 7] = [
    "why",
    "--from",
    "shop/frontend",
    "--to",
    "http://catalog.shop.svc.cluster.local:8080/",
    "--seen",
    "200",
];

fn on_capture(words: &[&str]) -> Run {
    let capture = root()
        .join("crates/meshladder/demo/canary-gets-no-traffic.tar.zst")
        .display()
        .to_string();
    meshladder(&[words, &["-s", &capture]].concat())
}

fn json(words: &[&str]) -> Value {
    let run = on_capture(&[words, &["-o", "json"]].concat());
    serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"))
}

#[test]
fn the_first_line_is_the_cause_in_words_and_the_object_to_change_comes_first() {
    let run = on_capture(&WHY);
    let first = run.stdout.lines().next().unwrap_or_default();
    for part in [
        "NetworkPolicy shop/restrict-egress",
        "15012",
        "VirtualService shop/catalog",
        "v1",
    ] {
        assert!(first.contains(part), "{part} is not in: {first}");
    }
    assert_eq!(run.code, 1, "{run:?}");
    let report = json(&WHY);
    assert_eq!(
        (&report["verdict"], &report["brokenRung"]),
        (&"broken".into(), &"sync".into())
    );
    let subject = serde_json::json!({"kind": "NetworkPolicy", "namespace": "shop", "name": "restrict-egress"});
    assert_eq!(report["findings"][0]["subject"], subject);
    assert_eq!(report["rungs"].as_array().map(Vec::len), Some(11));
    assert_eq!(report["question"]["seen"]["code"], 200);
}

/// A flag tells that a proxy ended the request; whether the application answered is then no
/// question.
#[test]
fn the_logs_that_are_asked_for_are_of_those_who_may_have_answered() {
    for (seen, wanted) in [
        ("503/UH", "which of them ended it with 503 UH"),
        ("500", "whether its application answered 500"),
    ] {
        let report = json(&[&WHY[..6], &[seen]].concat());
        assert!(
            report["unknown"].to_string().contains(wanted),
            "{seen}: {}",
            report["unknown"]
        );
    }
}

/// The server's proxy lacks the last push too, but with it the policy would deny all the same.
#[test]
fn a_push_that_would_change_nothing_is_not_blamed() {
    let words = [
        "why",
        "--from",
        "tools/curl",
        "--to",
        "http://payments.shop:8080/pay",
        "--seen",
        "403",
    ];
    let report = json(&words);
    let subject =
        serde_json::json!({"kind": "AuthorizationPolicy", "namespace": "shop", "name": "payments"});
    assert_eq!(
        report["findings"][0]["subject"], subject,
        "{}",
        report["findings"]
    );
    assert_eq!(report["brokenRung"], "authorization");
}

/// From wherever one starts, the same object is to blame.
#[test]
fn a_mesh_a_namespace_a_workload_and_an_object_lead_to_the_same_cause() {
    for words in [
        &["check"][..],
        &["check", "-n", "shop"],
        &["check", "deploy/frontend", "-n", "shop"],
        &["check", "shop/frontend"],
        &["check", "virtualservice/catalog", "-n", "shop"],
    ] {
        let report = json(words);
        assert_eq!(
            report["findings"][0]["subject"]["name"], "restrict-egress",
            "{words:?}"
        );
    }
    let elsewhere = json(&["check", "deploy/curl", "-n", "tools"]);
    assert_eq!(elsewhere["verdict"], "healthy", "{}", elsewhere["findings"]);
}

#[test]
fn the_same_answer_is_drawn_in_every_format() {
    let markdown = on_capture(&[&WHY[..], &["-o", "markdown"]].concat()).stdout;
    assert!(
        markdown.starts_with("# NetworkPolicy shop/restrict-egress"),
        "{markdown}"
    );
    let html = on_capture(&[&WHY[..], &["-o", "html"]].concat()).stdout;
    assert!(
        html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"),
        "{html}"
    );
    for elsewhere in ["src=", "href=", "@import", "<script"] {
        assert!(
            !html.contains(elsewhere),
            "the page must stand alone, and has {elsewhere}"
        );
    }
    assert!(html.contains("&quot;"), "values of the mesh are escaped");
}

#[test]
fn the_exit_code_heeds_what_is_to_fail() {
    assert_eq!(on_capture(&["check", "deploy/curl", "-n", "tools"]).code, 0);
    assert_eq!(
        on_capture(&["check", "deploy/curl", "-n", "tools", "--fail-on", "info"]).code,
        1
    );
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    for (words, code, told) in [
        (
            &["check", "deploy/frontnd", "-n", "shop"][..],
            3,
            "no `deploy/frontnd` in namespace `shop`",
        ),
        (
            &["check", "virtualservice/cat", "-n", "shop"],
            3,
            "did you mean",
        ),
        (
            &["check", "shop/frontnd"],
            3,
            "no `frontnd` in namespace `shop`",
        ),
        (
            &["why", "--from", "shop/frontnd", "--to", "http://a"],
            3,
            "no proxy for `frontnd` in namespace `shop`",
        ),
        (
            &["trace", "--from", "shop/frontnd", "--to", "http://a"],
            3,
            "no proxy for `frontnd` in namespace `shop`",
        ),
        (
            &["authz", "check", "frontnd.shop"],
            3,
            "no proxy for `frontnd` in namespace `shop`",
        ),
        (&["why", "--from", "shop/frontend"], 2, "--to URL"),
        (
            &["why", "--to", "http://a", "--seen", "UH"],
            2,
            "starts with a status",
        ),
        (
            &["explain", "no-such-thing"],
            2,
            "nothing is known of `no-such-thing`",
        ),
        (
            &["explain", "503", "nonsense-word"],
            2,
            "nothing is known of `nonsense-word`",
        ),
        (&["flags", "ZZ"], 2, "no flag `ZZ`"),
    ] {
        let run = on_capture(words);
        assert_eq!(run.code, code, "{run:?}");
        assert!(run.stderr.contains(told), "{run:?}");
    }
}

/// A folder with a VirtualService and nothing else does not show that its host does not exist.
#[test]
fn of_a_namespace_that_is_not_there_nothing_is_said() {
    for command in ["check", "analyze"] {
        let run = on_capture(&[command, "-n", "shpo"]);
        assert_eq!(run.code, 3, "{run:?}");
        assert!(run.stdout.is_empty(), "{run:?}");
        for part in ["no namespace `shpo`", "did you mean shop?"] {
            assert!(run.stderr.contains(part), "{part} in {}", run.stderr);
        }
    }
    assert_eq!(on_capture(&["check", "-n", "shop"]).code, 1);
}

#[test]
fn what_was_not_given_is_not_held_against_what_was() {
    const YAML: &[u8] = b"apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: a, namespace: b}\nspec:\n  hosts: [c]\n  http: [{route: [{destination: {host: c}}]}]\n";
    let run = with_stdin(&["check", "-s", "-", "-o", "json"], YAML);
    let report: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|e| panic!("{e}: {run:?}"));
    assert_eq!(
        (run.code, &report["findings"][0]["subject"]["kind"]),
        (5, &"Coverage".into()),
        "{}",
        run.stdout
    );
}

#[test]
fn codes_flags_and_details_are_explained_offline() {
    for (words, told) in [
        (
            &["explain", "ML0401"][..],
            "# ML0401 network-policy-blocks-istiod",
        ),
        (&["explain", "ist0173"], "ML0701 subset-selects-no-pods"),
        (&["explain", "UF,URX"], "every try failed to connect"),
        (&["explain", "503", "UH"], "# UH NoHealthyUpstream"),
        (&["explain", "grpc", "14"], "grpc-status 14 UNAVAILABLE"),
        (
            &[
                "explain",
                "rbac_access_denied_matched_policy[ns[a]-policy[b]-rule[0]]",
            ],
            "AuthorizationPolicy a/b, rule 0",
        ),
        (&["flags", "UH"], "NoHealthyUpstream"),
        (&["flags"], "UnconditionalDropOverload"),
    ] {
        let run = meshladder(words);
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.stdout.contains(told), "{run:?}");
    }
}
