//! `describe` and `diff` on a running cluster.

use std::path::PathBuf;

use super::{json, on, on_capture};
use crate::fake::{Fake, State, capture};
use crate::support::{Run, meshladder};

#[test]
fn a_thing_is_described_as_in_the_capture() {
    let fake = Fake::demo();
    for words in [
        &["describe", "deploy/frontend", "-n", "shop"][..],
        &["describe", "svc", "catalog.shop"],
        &["describe", "virtualservice", "catalog", "-n", "shop"],
        &["describe", "gateway", "shop-gateway", "-n", "istio-ingress"],
    ] {
        let (live, captured) = (on(&fake, words), on_capture(words));
        assert_eq!(live.code, captured.code, "{words:?}: {}", live.stderr);
        // What the ladder adds it may add from proxies that were not read here; what comes first is
        // the same.
        let [live, captured] = [&live, &captured]
            .map(|run| run.stdout.split_once("What is wrong\n").expect("a section"));
        assert_eq!(live.0, captured.0, "{words:?}");
        let first = |text: &str| {
            text.split_whitespace()
                .take(4)
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(first(live.1), first(captured.1), "{words:?}");
    }
}

#[test]
fn of_others_only_what_they_say_of_endpoints_is_read() {
    let fake = Fake::demo();
    // The context's namespace is shop.
    let run = on(&fake, &["describe", "svc", "cart"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout.contains("HEALTHY for 13 of 13 callers"),
        "{}",
        run.stdout
    );
    let asked = fake.state.requests();
    let of = |path: &str| {
        asked
            .iter()
            .filter(|line| line.starts_with("PORT") && line.contains(path))
            .count()
    };
    assert_eq!(
        (of("/config_dump"), of("/clusters"), of("/debug/syncz")),
        (1, 13, 1),
        "{asked:?}"
    );
    let other = on(&fake, &["describe", "svc", "nobody"]);
    assert!(
        other.code == 1 && other.stderr.contains("no `svc/nobody` in namespace `shop`"),
        "{}",
        other.stderr
    );
}

#[test]
fn proxies_are_compared_as_in_the_capture() {
    let fake = Fake::demo();
    for words in [
        &[
            "diff",
            "deploy/frontend.shop",
            "deploy/curl.tools",
            "-o",
            "json",
        ][..],
        &["diff", "deploy/payments", "-n", "shop", "-o", "json"],
        &["diff", "deploy/frontend", "-n", "shop"],
    ] {
        let (live, captured) = (on(&fake, words), on_capture(words));
        assert_eq!(
            (live.code, live.stdout),
            (captured.code, captured.stdout),
            "{words:?}: {}",
            live.stderr
        );
    }
    let dumps = fake
        .state
        .requests()
        .iter()
        .filter(|line| line.contains("/config_dump"))
        .count();
    assert_eq!(dumps, 2 + 2 + 1);
}

/// A dump of a pod of the demo, and where the fake's istiod would keep its view of it.
fn dump_and_view(state: &State, pod: &str) -> (String, PathBuf) {
    let pods = std::fs::read_dir(state.root.join("proxies/shop"))
        .expect("the proxies")
        .flatten();
    let name = pods
        .filter_map(|entry| entry.file_name().into_string().ok())
        .find(|name| name.starts_with(pod));
    let name = name.expect("a pod");
    let dump = std::fs::read_to_string(
        state
            .root
            .join(format!("proxies/shop/{name}/config_dump.json")),
    );
    let istiod = std::fs::read_dir(state.root.join("istiod"))
        .expect("the istiods")
        .flatten()
        .next();
    let folder = istiod.expect("an istiod").path().join("debug/config_dump");
    std::fs::create_dir_all(&folder).expect("a folder");
    (
        dump.expect("a dump"),
        folder.join(format!("{name}.shop.json")),
    )
}

#[test]
fn a_proxy_is_compared_with_what_its_istiod_would_send() {
    let state = State::demo();
    let (dump, view) = dump_and_view(&state, "cart-");
    let fake = Fake::with(state);
    let diff = || {
        on(
            &fake,
            &["diff", "deploy/cart", "istiod", "-n", "shop", "-o", "json"],
        )
    };
    let none = diff();
    assert!(
        none.code == 3 && none.stderr.contains("istiod's view of cart-"),
        "{}{}",
        none.stdout,
        none.stderr
    );
    std::fs::write(&view, &dump).expect("a file");
    let same = diff();
    assert_eq!(
        (same.code, &json(&same)["same"]),
        (0, &true.into()),
        "{}",
        same.stderr
    );
    std::fs::write(
        &view,
        dump.replace("ROUND_ROBIN", "RANDOM")
            .replace("LEAST_REQUEST", "RANDOM"),
    )
    .expect("a file");
    let other = diff();
    assert_eq!(other.code, 1, "{}{}", other.stdout, other.stderr);
    let by_pod = view.file_stem().expect("a name").to_str().expect("text");
    let asked = fake.state.requests().len();
    assert_eq!(
        on(&fake, &["diff", by_pod, "istiod", "-o", "json"]).stdout,
        other.stdout
    );
    let asked = fake.state.requests().split_off(asked);
    let lists: Vec<&String> = asked
        .iter()
        .filter(|line| line.contains("limit=500"))
        .collect();
    assert_eq!(
        lists,
        ["GET /api/v1/namespaces/istio-system/pods?limit=500"],
        "only the istiods are looked for"
    );
}

#[test]
fn a_proxy_is_compared_with_a_dump_of_it_and_with_what_it_was_in_a_bundle() {
    let state = State::demo();
    let (dump, _) = dump_and_view(&state, "cart-");
    let fake = Fake::with(state);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("dump.json");
    std::fs::write(&file, &dump).expect("a file");
    let (file, bundle) = (file.display().to_string(), capture().display().to_string());
    for other in [&file, &bundle] {
        let run = on(
            &fake,
            &["diff", "deploy/cart", other, "-n", "shop", "-o", "json"],
        );
        let told = json(&run);
        assert_eq!(
            (run.code, &told["same"], &told["noise"]),
            (0, &true.into(), &serde_json::json!({})),
            "{}",
            run.stderr
        );
        assert!(
            told["b"]
                .as_str()
                .is_some_and(|name| name.contains(other.as_str())),
            "{}",
            told["b"]
        );
    }
    let run = on(&fake, &["diff", &bundle, "deploy/curl.tools", "-o", "json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let wrong = on(&fake, &["diff", &bundle, "istiod"]);
    assert!(
        wrong.code == 2 && wrong.stderr.contains("a capture can only"),
        "{}",
        wrong.stderr
    );
}

/// A pod of a StatefulSet is called the same in every mesh; the root that it trusts tells which one
/// it is of.
#[test]
fn dumps_of_a_pod_of_a_stateful_set_are_of_one_mesh_where_their_roots_are() {
    let (dump, view) = dump_and_view(&State::demo(), "cart-");
    let pod = view
        .file_name()
        .and_then(|name| name.to_str())
        .and_then(|name| name.split('.').next())
        .expect("a pod");
    let before = dump.replace(pod, "cart-0");
    // The listener of a Service with an address of its own.
    let listener = before
        .split("\"name\": \"10.")
        .nth(1)
        .and_then(|rest| rest.split_once('_'))
        .expect("a listener")
        .0;
    let after = before.replace(&format!("10.{listener}_"), "10.99.99.99_");
    let after = after.replace(&format!("\"10.{listener}\""), "\"10.99.99.99\"");
    assert_ne!(before, after);
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let elsewhere = after.replace("\"CLUSTER_ID\": \"Kubernetes\"", "\"CLUSTER_ID\": \"west\"");
    assert_ne!(after, elsewhere);
    let (before, after, elsewhere) = (file("a", &before), file("b", &after), file("c", &elsewhere));
    let run = meshladder(&["diff", &before, &after]);
    assert!(
        run.code == 1 && run.stdout.contains("10.99.99.99"),
        "{}{}",
        run.stdout,
        run.stderr
    );
    let run = meshladder(&["diff", &before, &elsewhere]);
    assert_eq!(
        run.code, 0,
        "addresses of Services are noise between two: {}",
        run.stdout
    );
}

/// The demo with one of the two pods of payments on another revision.
fn two_revisions() -> State {
    let mut state = State::demo();
    let pods = state.objects.get_mut("pods").expect("pods");
    let payments = pods.iter_mut().filter(|pod| {
        pod["metadata"]["name"]
            .as_str()
            .is_some_and(|name| name.starts_with("payments-"))
    });
    let second = payments.last().expect("two pods");
    let status = second["metadata"]["annotations"]["sidecar.istio.io/status"]
        .as_str()
        .expect("a status")
        .to_owned();
    let mut status: serde_json::Value = serde_json::from_str(&status).expect("JSON");
    status["revision"] = "canary".into();
    second["metadata"]["annotations"]["sidecar.istio.io/status"] = status.to_string().into();
    state
}

#[test]
fn revisions_are_compared_by_a_workload_that_has_proxies_of_both() {
    let fake = Fake::with(two_revisions());
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = folder.path().join("mesh").display().to_string();
    assert_eq!(
        on(&fake, &["snapshot", &bundle, "--proxies", "all"]).code,
        0
    );
    let before = fake.state.requests().len();
    let live = on(
        &fake,
        &["diff", "revision/default", "revision/canary", "-o", "json"],
    );
    let saved = meshladder(&[
        "diff",
        "revision/default",
        "revision/canary",
        "-o",
        "json",
        "-s",
        &bundle,
    ]);
    for run in [&live, &saved] {
        assert_eq!(
            (run.code, &json(run)["same"]),
            (0, &true.into()),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr.contains("Deployment shop/payments: payments-"),
            "{}",
            run.stderr
        );
    }
    assert_eq!(live.stdout, saved.stdout);
    let asked = fake.state.requests().split_off(before);
    assert_eq!(
        asked
            .iter()
            .filter(|line| line.contains("/config_dump"))
            .count(),
        2,
        "one of each"
    );
    let refused = |run: &Run, words: &str| {
        assert!(run.code > 1 && run.stderr.contains(words), "{}", run.stderr);
    };
    refused(
        &on(&fake, &["diff", "revision/default", "revision/none"]),
        "there are canary, default",
    );
    refused(
        &on(&fake, &["diff", "revision/default", "deploy/cart"]),
        "only be compared with another revision",
    );
}
