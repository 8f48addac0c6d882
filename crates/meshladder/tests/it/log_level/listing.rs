//! Levels shown, audited and reset; and what needs a yes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::routing::get;
use serde_json::{Value, json};

use super::Bed;
use crate::fake::State as Cluster;

fn set(bed: &Bed, pod: usize, query: &str) {
    let head =
        format!("POST /logging?{query} HTTP/1.1\r\nhost: admin\r\ncontent-length: 0\r\n\r\n");
    super::Client::new(bed.ports[pod]).send(head.as_bytes());
}

/// An istiod whose ControlZ tells two scopes.
fn with_scopes(mut state: Cluster) -> Cluster {
    let folder = tempfile::tempdir().expect("a folder").keep();
    std::fs::create_dir_all(folder.join("istiod/istiod-1")).expect("a folder");
    let scopes = json!([{"name": "ads", "output_level": "debug"}, {"name": "model", "output_level": "info"}]);
    std::fs::write(
        folder.join("istiod/istiod-1/scopej.json"),
        scopes.to_string(),
    )
    .expect("a file");
    state.root = folder;
    state
}

#[test]
fn levels_are_shown_by_pod_with_what_differs() {
    let bed = Bed::with(2, |state| state);
    set(&bed, 1, "rbac=debug");
    let run = bed.run(&["log-level", "-n", "shop"]);
    let expected = "POD               LEVEL     EXCEPT\ncart-00000.shop   warning   misc:error\ncart-00001.shop   warning   misc:error,rbac:debug\n";
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, expected),
        "{}",
        run.stderr
    );
    let run = bed.run(&["log-level", "cart-00001.shop", "-o", "json"]);
    let told: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(
        (&told["pods"][0]["pod"], &told["pods"][0]["levels"]["rbac"]),
        (&json!("cart-00001.shop"), &json!("debug"))
    );
}

#[test]
fn an_audit_lists_what_is_not_at_its_default_and_a_reset_ends_that() {
    let bed = Bed::with(2, with_scopes);
    let before = bed.levels();
    set(&bed, 0, "rbac=debug");
    let run = bed.run(&["log-level", "--audit", "-A"]);
    let rows: Vec<Vec<&str>> = run
        .stdout
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    let expected = [
        ["POD", "COMPONENT", "LEVEL", "DEFAULT"],
        ["cart-00000.shop", "rbac", "debug", "warning"],
        ["istiod-1.istio-system", "ads", "debug", "info"],
    ];
    assert_eq!(
        (run.code, rows),
        (1, expected.map(|row| row.to_vec()).to_vec()),
        "{}",
        run.stderr
    );
    let run = bed.run(&["log-level", "--audit", "-A", "-o", "json"]);
    let told: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(
        (
            told["examined"].as_u64(),
            told["not_at_default"].as_array().map(Vec::len)
        ),
        (Some(3), Some(2))
    );
    let run = bed.run(&["log-level", "-n", "shop", "--reset"]);
    assert_eq!((run.code, bed.levels()), (0, before), "{}", run.stderr);
    assert!(
        run.stderr.contains("cart-00000.shop: rbac debug → warning"),
        "{}",
        run.stderr
    );
    let run = bed.run(&["log-level", "--audit", "-n", "shop"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
}

type Scopes = Arc<Mutex<BTreeMap<String, Value>>>;

/// A ControlZ that keeps what it is told, and where it listens. It ends with the runtime.
fn controlz(scopes: &Scopes) -> (tokio::runtime::Runtime, SocketAddr) {
    let all = |State(scopes): State<Scopes>| async move {
        Value::Array(
            scopes
                .lock()
                .expect("nobody panicked")
                .values()
                .cloned()
                .collect(),
        )
        .to_string()
    };
    let put = |State(scopes): State<Scopes>, Path(name): Path<String>, body: String| async move {
        let told: Value = serde_json::from_str(&body).expect("JSON");
        let mut scopes = scopes.lock().expect("nobody panicked");
        let Some(scope) = scopes
            .get_mut(&name)
            .filter(|_| told["name"] == name.as_str())
        else {
            return StatusCode::BAD_REQUEST;
        };
        *scope = told;
        StatusCode::ACCEPTED
    };
    let routes = Router::new()
        .route("/scopej/", get(all))
        .route("/scopej/{name}", axum::routing::put(put));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a thread");
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    let app = routes.with_state(Arc::clone(scopes));
    runtime.spawn(async move { axum::serve(listener, app).await });
    (runtime, address)
}

#[test]
fn a_reset_sets_the_scopes_of_istiod_back_too() {
    let scope = |name: &str, level: &str| {
        let all = json!({"name": name, "description": "d", "output_level": level, "stack_trace_level": "none", "log_callers": false});
        (name.to_owned(), all)
    };
    let scopes: Scopes = Arc::new(Mutex::new(
        [
            scope("ads", "debug"),
            scope("model", "info"),
            scope("wle", "none"),
        ]
        .into(),
    ));
    let level = |name: &str| scopes.lock().expect("nobody panicked")[name]["output_level"].clone();
    let (_runtime, address) = controlz(&scopes);
    let bed = Bed::with(1, |mut state| {
        state
            .real
            .insert("istio-system/istiod-1:9876".to_owned(), address);
        state
    });
    let audit = bed.run(&["log-level", "--audit", "-A"]);
    assert_eq!(
        (audit.code, audit.stdout.lines().count()),
        (1, 3),
        "{}{}",
        audit.stdout,
        audit.stderr
    );
    let run = bed.run(&["log-level", "-A", "--reset"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr
            .contains("istiod-1.istio-system: ads debug → info"),
        "{}",
        run.stderr
    );
    assert_eq!(
        [level("ads"), level("model"), level("wle")],
        ["info", "info", "info"]
    );
    assert_eq!(
        scopes.lock().expect("nobody panicked")["ads"]["stack_trace_level"],
        "none",
        "the rest stays"
    );
    let audit = bed.run(&["log-level", "--audit", "-A"]);
    assert_eq!(
        (audit.code, audit.stdout.as_str()),
        (0, ""),
        "{}",
        audit.stderr
    );
    // What is refused is told as that.
    *scopes.lock().expect("nobody panicked") =
        [("ads".to_owned(), scope("other", "debug").1)].into();
    let refused = bed.run(&["log-level", "-A", "--reset"]);
    assert_eq!(refused.code, 5, "{}", refused.stderr);
    assert!(
        refused
            .stderr
            .contains("istiod-1.istio-system: its scopes cannot be set: "),
        "{}",
        refused.stderr
    );
}

/// Who is killed cannot set anything back: that is what the audit is for.
#[test]
fn what_a_killed_run_left_on_is_found_and_reset() {
    let bed = Bed::new();
    let before = bed.levels();
    let mut running = bed.raised(&[]);
    running.signal("-KILL");
    let status = running.child.wait().expect("it ends");
    assert_eq!(
        (status.code(), bed.has("admin: debug")),
        (None, true),
        "nobody was there to set it back"
    );
    let audit = bed.run(&["log-level", "--audit", "-A"]);
    assert_eq!(audit.code, 1, "{}", audit.stderr);
    assert!(
        audit
            .stdout
            .lines()
            .any(|line| line.starts_with("cart-00000.shop   admin       debug")),
        "{}",
        audit.stdout
    );
    let reset = bed.run(&["log-level", "cart-00000.shop", "--reset"]);
    assert_eq!((reset.code, bed.levels()), (0, before), "{}", reset.stderr);
    let audit = bed.run(&["log-level", "--audit", "-n", "shop"]);
    assert!(!audit.stdout.contains("cart-00000"), "{}", audit.stdout);
}

#[test]
fn what_is_not_known_is_said() {
    let bed = Bed::with(1, |state| {
        state.deny(&["create pods/portforward", "create pods/exec"])
    });
    let run = bed.run(&["log-level", "--audit", "-A"]);
    assert_eq!(run.code, 5, "{}", run.stderr);
    assert!(
        run.stderr.contains("cart-00000.shop: no right")
            && run.stderr.contains("its scopes are not known")
    );
}

#[test]
fn what_is_dear_needs_a_yes_and_nothing_is_changed_before() {
    let bed = Bed::with(2, |state| state);
    let mut state = Cluster::made_up(7, 10);
    state
        .objects
        .insert("deployments.apps".to_owned(), Vec::new());
    let many = crate::fake::Fake::with(state);
    let before = bed.levels();
    let flood = bed.run(&["log-level", "cart-00000.shop", "--level", "all:debug"]);
    assert_eq!(flood.code, 2);
    assert!(
        flood
            .stderr
            .contains("all components of 1 pod would be set: cart-00000.shop"),
        "{}",
        flood.stderr
    );
    let all = bed.run(&["log-level", "-n", "shop", "--level", "rbac:debug"]);
    assert_eq!(all.code, 2, "{}", all.stderr);
    let words: Vec<String> = (0..7)
        .map(|number| format!("cart-{number:05}.shop"))
        .collect();
    let mut command = vec!["log-level", "--level", "rbac:debug", "--kubeconfig"];
    let kubeconfig = many.kubeconfig().display().to_string();
    command.push(&kubeconfig);
    command.extend(words.iter().map(String::as_str));
    let run = crate::support::meshladder(&command);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(
        run.stderr.contains("7 pods would be set") && run.stderr.contains("--yes"),
        "{}",
        run.stderr
    );
    assert!(
        many.state
            .requests()
            .iter()
            .all(|line| !line.contains("logging"))
    );
    assert_eq!(bed.levels(), before);
    for wrong in ["rbac:loud", ""] {
        assert_eq!(
            bed.run(&["log-level", "cart-00000.shop", "--level", wrong])
                .code,
            2,
            "{wrong}"
        );
    }
    let unknown = bed.run(&["log-level", "cart-00000.shop", "--level", "rbca:debug"]);
    assert!(
        unknown.code == 3 && unknown.stderr.contains("has no component rbca"),
        "{}",
        unknown.stderr
    );
    assert_eq!(bed.levels(), before);
}

#[test]
fn pc_log_shows_sets_and_resets_as_istioctl_does() {
    let bed = Bed::with(2, |state| state);
    let shown = bed.run(&["pc", "log", "cart-00000.shop"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(
        shown
            .stdout
            .starts_with("cart-00000.shop:\nactive loggers:\n  a2a: warning\n"),
        "{}",
        shown.stdout
    );
    let set = bed.run(&[
        "pc",
        "log",
        "-n",
        "shop",
        "--selector",
        "app=cart",
        "--level",
        "rbac:debug,jwt=info",
    ]);
    assert_eq!(set.code, 0, "{}", set.stderr);
    assert_eq!(bed.levels().matches("rbac: debug\n").count(), 2);
    assert_eq!(
        set.stdout.matches("  rbac: debug\n").count(),
        2,
        "the answer after the change"
    );
    let all = bed.run(&["pc", "log", "cart-00001.shop", "--level", "info"]);
    assert_eq!(
        (all.code, all.stdout.contains("warning")),
        (0, false),
        "{}",
        all.stderr
    );
    let reset = bed.run(&["pc", "log", "cart-00001.shop", "--reset"]);
    assert_eq!(
        (reset.code, reset.stdout.matches("warning").count() > 60),
        (0, true),
        "{}",
        reset.stderr
    );
    for (words, told) in [
        (&["pc", "log"][..], "which proxy?"),
        (
            &["pc", "log", "cart-00000.shop", "--level", "none"],
            "`none` is no log level",
        ),
        (
            &["pc", "log", "cart-00000.shop", "--level", "rbca:debug"],
            "no component rbca",
        ),
        (
            &["pc", "log", "--selector", "app=web", "-n", "shop"],
            "no running proxy fits app=web",
        ),
    ] {
        let run = bed.run(words);
        assert!(
            run.code == 1 && run.stderr.contains(told),
            "{words:?}: {}",
            run.stderr
        );
    }
}
