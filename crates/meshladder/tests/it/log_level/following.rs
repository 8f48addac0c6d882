//! `logs` of running pods.

use std::io::Write;

use super::Running;
use crate::fake::{Fake, State};
use crate::support::meshladder;

const OK: &str = r#"[2026-11-15T06:31:13.665Z] "GET /a HTTP/1.1" 200 - via_upstream - "-" 0 544 1 1 "-" "curl/7.88.1" "3beaf3e2-ebd6-404f-8367-b4e8ab7c1cd2" "cart:8080" "10.244.1.6:8080" outbound|8080||cart.shop.svc.cluster.local 10.244.1.5:59752 10.96.242.121:8080 10.244.1.5:45678 - default"#;

fn failed() -> String {
    OK.replace("/a HTTP", "/b HTTP")
        .replace("200 - via_upstream", "503 UH no_healthy_upstream")
}

/// A pod whose log is a file.
fn cluster(folder: &std::path::Path) -> Fake {
    let log = folder.join("log");
    std::fs::write(&log, format!("2026-11-15T06:31:00Z\tinfo\tready\n{OK}\n")).expect("a file");
    let mut state = State::made_up(1, 10);
    state.growing.insert("shop/cart-00000".to_owned(), log);
    Fake::with(state)
}

#[test]
fn the_end_of_a_running_pod_s_log_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let fake = cluster(folder.path());
    let kubeconfig = fake.kubeconfig().display().to_string();
    let run = meshladder(&[
        "logs",
        "cart-00000",
        "-n",
        "shop",
        "--lines",
        "--kubeconfig",
        &kubeconfig,
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stdout.contains("/a") && run.stdout.contains("200"),
        "{}",
        run.stdout
    );
    let none = meshladder(&["logs", "web-1", "-n", "shop", "--kubeconfig", &kubeconfig]);
    assert_eq!(none.code, 3, "{}", none.stderr);
    assert!(
        none.stderr
            .contains("there is no file `web-1`, and no running proxy"),
        "{}",
        none.stderr
    );
}

/// The demo's proxies in `shop` are cut off from istiod, which is what is behind whatever they do
/// wrong.
#[test]
fn why_is_asked_of_the_cluster_that_the_log_is_of() {
    let folder = tempfile::tempdir().expect("a folder");
    let log = folder.path().join("log");
    let line = failed()
        .replace("\"cart:8080\"", "\"catalog.shop:8080\"")
        .replace("||cart.", "|v1|catalog.");
    std::fs::write(&log, format!("{line}\n")).expect("a file");
    let mut state = State::demo();
    state
        .growing
        .insert("shop/frontend-5fcdbd4dbc-dp7qs".to_owned(), log);
    let fake = Fake::with(state);
    let kubeconfig = fake.kubeconfig().display().to_string();
    let run = meshladder(&[
        "logs",
        "deploy/frontend",
        "-n",
        "shop",
        "--why",
        "--kubeconfig",
        &kubeconfig,
    ]);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(
        run.stdout
            .contains("why: NetworkPolicy shop/restrict-egress"),
        "{}",
        run.stdout
    );
    let dumps = fake
        .state
        .requests()
        .iter()
        .filter(|line| line.contains("catalog-v1") && line.contains("dump"))
        .count();
    assert!(dumps > 0, "the server's proxy is asked as well");
}

#[test]
fn lines_are_told_as_they_are_written_and_summed_up_at_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let fake = cluster(folder.path());
    let file = |name: &str| folder.path().join(name);
    let create = |name: &str| std::fs::File::create(file(name)).expect("a file");
    let child = std::process::Command::new(env!("CARGO_BIN_EXE_meshladder"))
        .args([
            "logs",
            "cart-00000.shop",
            "--follow",
            "--for",
            "10m",
            "--kubeconfig",
        ])
        .arg(fake.kubeconfig())
        .env("NO_COLOR", "1")
        .stdout(create("out"))
        .stderr(create("err"))
        .spawn()
        .expect("the binary starts");
    let mut running = Running {
        child,
        out: file("out"),
        err: file("err"),
    };
    let out = file("out");
    let has = |text: &str| std::fs::read_to_string(&out).is_ok_and(|all| all.contains(text));
    running.until("the first line is told", || has("/a"));
    let mut log = std::fs::OpenOptions::new()
        .append(true)
        .open(file("log"))
        .expect("the log");
    writeln!(log, "{}", failed()).expect("the log takes lines");
    running.until("the next line is told", || has("/b"));
    assert!(!has("2 requests"), "the summary comes last");
    running.signal("-INT");
    let run = running.end();
    assert_eq!(
        run.code, 1,
        "something failed: {} {}",
        run.stdout, run.stderr
    );
    let (lines, summary) = run
        .stdout
        .split_at(run.stdout.find("2 requests").expect("a summary"));
    assert!(lines.contains("/a") && lines.contains("UH"), "{lines}");
    assert!(summary.contains("UH"), "{summary}");
}
