//! Every command on a running cluster.

use std::collections::BTreeMap;
use std::path::Path;

use meshladder_collect::live::{Purpose, Right};
use serde_json::Value;

use crate::expect::{expect_file, root};
use crate::fake::{Fake, Fault, State, TOKEN, Trouble, capture};
use crate::meshes::captures;
use crate::support::{Run, meshladder};

mod compare;
mod metrics;

const URL: &str = "http://catalog.shop.svc.cluster.local:8080/";

/// Runs a command on the fake.
fn on(fake: &Fake, words: &[&str]) -> Run {
    let kubeconfig = fake.kubeconfig().display().to_string();
    meshladder(
        &[
            words,
            &["--kubeconfig", &kubeconfig, "--request-timeout", "20s"],
        ]
        .concat(),
    )
}

/// Runs a command on the capture that the fake serves.
fn on_capture(words: &[&str]) -> Run {
    meshladder(&[words, &["-s", &capture().display().to_string()]].concat())
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.stdout)
        .unwrap_or_else(|error| panic!("{error}: {} {}", run.stdout, run.stderr))
}

fn codes(report: &Value) -> Vec<String> {
    let told = |finding: &Value| format!("{} {}", finding["code"], finding["subject"]);
    report["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .map(told)
        .collect()
}

#[test]
fn check_and_why_find_on_a_cluster_what_they_find_in_its_capture() {
    let fake = Fake::demo();
    let why = [
        "why",
        "--from",
        "shop/frontend",
        "--to",
        URL,
        "--seen",
        "200",
        "-o",
        "json",
    ];
    for words in [
        &["check", "-o", "json"][..],
        &["check", "deploy/frontend", "-n", "shop", "-o", "json"],
        &why,
    ] {
        let (live, captured) = (on(&fake, words), on_capture(words));
        assert_eq!(live.code, captured.code, "{words:?}: {}", live.stderr);
        let (live, captured) = (json(&live), json(&captured));
        assert_eq!(live["verdict"], captured["verdict"]);
        assert_eq!(codes(&live)[0], codes(&captured)[0], "{words:?}");
    }
}

#[test]
fn a_request_is_answered_from_the_proxies_on_its_way_only() {
    let fake = Fake::demo();
    let run = on(
        &fake,
        &[
            "trace",
            "--from",
            "tools/curl",
            "--to",
            "http://cart.shop:8080/",
            "-o",
            "json",
        ],
    );
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    let asked = fake.state.requests();
    let dumps: Vec<&String> = asked
        .iter()
        .filter(|line| line.contains("config_dump"))
        .collect();
    assert_eq!(dumps.len(), 2, "curl and cart: {dumps:?}");
}

#[test]
fn listings_of_one_proxy_need_no_list_of_objects() {
    let fake = Fake::demo();
    let pod = fake.state.objects["pods"].iter().find_map(|pod| {
        let name = pod["metadata"]["name"].as_str().expect("a name");
        name.starts_with("cart-").then(|| name.to_owned())
    });
    let pod = pod.expect("a pod of cart");
    let words = ["pc", "cluster", &format!("{pod}.shop")];
    let (live, captured) = (on(&fake, &words), on_capture(&words));
    assert_eq!(
        (live.code, &live.stdout),
        (0, &captured.stdout),
        "{}",
        live.stderr
    );
    let asked: Vec<String> = fake
        .state
        .requests()
        .into_iter()
        .filter(|line| line.starts_with("GET"))
        .collect();
    assert_eq!(asked.len(), 2, "the version and a port: {asked:?}");
    let by_workload = on(&fake, &["pc", "cluster", "deploy/cart", "-n", "shop"]);
    assert_eq!(
        by_workload.stdout, captured.stdout,
        "{}",
        by_workload.stderr
    );
}

#[test]
fn listings_are_the_same_on_a_cluster_and_on_its_capture() {
    let fake = Fake::demo();
    for words in [
        &["ps", "-o", "json"][..],
        &["pc", "endpoint", "deploy/cart", "-n", "shop"],
        &["pc", "log", "deploy/cart", "-n", "shop"],
        &["authz", "check", "deploy/payments", "-n", "shop"],
        &[
            "pc",
            "rootca-compare",
            "deploy/cart",
            "deploy/payments",
            "-n",
            "shop",
        ],
    ] {
        let (live, captured) = (on(&fake, words), on_capture(words));
        assert_eq!(
            (live.code, live.stdout),
            (captured.code, captured.stdout),
            "{words:?}: {}",
            live.stderr
        );
    }
}

#[test]
fn analyze_reads_objects_and_nothing_else() {
    let fake = Fake::demo();
    let run = on(&fake, &["analyze", "-o", "json"]);
    assert_eq!(
        codes(&json(&run)),
        codes(&json(&on_capture(&["analyze", "-o", "json"]))),
        "{}",
        run.stderr
    );
    assert!(
        fake.state
            .requests()
            .iter()
            .all(|line| !line.contains("portforward") && !line.contains("/log?"))
    );
}

#[test]
fn an_object_in_a_file_counts_instead_of_the_one_in_the_cluster() {
    let fake = Fake::demo();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("vs.yaml");
    let text = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: catalog, namespace: shop}\nspec:\n  hosts: [nowhere-at-all]\n  http: [{route: [{destination: {host: nowhere-at-all}}]}]\n";
    std::fs::write(&file, text).expect("a file");
    let path = file.display().to_string();
    let run = on(&fake, &["analyze", &path, "--use-kube", "-o", "json"]);
    let told = codes(&json(&run));
    let of_file: Vec<_> = told
        .iter()
        .filter(|line| line.contains("\"name\":\"catalog\""))
        .collect();
    assert!(
        of_file.iter().any(|line| line.contains("VirtualService")),
        "{told:?} {}",
        run.stderr
    );
    assert!(run.stdout.contains("nowhere-at-all"));
}

#[test]
fn a_snapshot_is_a_bundle_that_answers_like_the_cluster() {
    let fake = Fake::demo();
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["mesh.tar.zst", "mesh"] {
        let to = folder.path().join(name).display().to_string();
        let run = on(&fake, &["snapshot", &to, "--proxies", "all"]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert!(
            run.stderr.contains("documents of 13 proxies"),
            "{}",
            run.stderr
        );
        assert_eq!(meshladder(&["bundle", "verify", &to]).code, 0);
        let report = json(&meshladder(&["check", "-o", "json", "-s", &to]));
        assert_eq!(
            codes(&report)[0],
            codes(&json(&on_capture(&["check", "-o", "json"])))[0]
        );
    }
}

#[test]
fn a_snapshot_waits_for_what_it_is_told_to_watch_for() {
    let fake = Fake::demo();
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("mesh.tar.zst").display().to_string();
    let watch = |what: &str| {
        on(
            &fake,
            &[
                "snapshot",
                &to,
                "--watch-for",
                what,
                "--every",
                "10ms",
                "--proxies",
                "sample:2",
            ],
        )
    };
    assert_eq!(watch("nothing-known").code, 2);
    assert!(!Path::new(&to).exists());
    // The first look fails, as one in a night may.
    fake.state
        .fault(Fault::times("/version", Trouble::Status(409, None), 1));
    let run = watch("ML0401");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr.contains("looking again later") && run.stderr.contains("ML0401 appeared: "),
        "{}",
        run.stderr
    );
    assert!(Path::new(&to).exists());
}

#[test]
fn a_snapshot_that_cannot_be_written_is_not_begun() {
    let fake = Fake::demo();
    let run = on(&fake, &["snapshot", "/nowhere/at/all.tar.zst"]);
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(fake.state.requests().is_empty());
}

#[test]
fn who_may_do_little_gets_what_that_allows_and_is_told_the_rest() {
    let fake = Fake::with(State::demo().deny(&[
        "create pods/portforward",
        "create pods/exec",
        "get pods/log",
    ]));
    let run = on(&fake, &["check", "-o", "json"]);
    let report = json(&run);
    assert!(
        run.code != 70 && !report["findings"].as_array().expect("findings").is_empty(),
        "{}",
        run.stderr
    );
    let text = run.stdout.as_str();
    assert!(
        text.contains("no right to open ports of pods in namespace"),
        "{text}"
    );
    let listing = on(&fake, &["pc", "cluster", "deploy/cart", "-n", "shop"]);
    assert_eq!(listing.code, 1);
    assert!(
        listing.stderr.contains("pods/portforward"),
        "{}",
        listing.stderr
    );
}

#[test]
fn rights_are_printed_and_checked() {
    let fake = Fake::with(State::demo().deny(&["list secrets", "create pods/portforward"]));
    let printed = meshladder(&["rbac", "--for", "check"]);
    assert_eq!(printed.code, 0);
    assert!(
        printed.stdout.contains("kind: ClusterRole") && printed.stdout.contains("pods/portforward")
    );
    let checked = on(&fake, &["rbac", "--for", "check", "--check"]);
    assert_eq!(checked.code, 4, "{}{}", checked.stdout, checked.stderr);
    assert!(
        checked
            .stdout
            .contains("missing: list secrets in the whole cluster"),
        "{}",
        checked.stdout
    );
    assert!(
        checked
            .stdout
            .contains("missing: create, get pods/portforward"),
        "{}",
        checked.stdout
    );
    assert_eq!(checked.stdout.lines().count(), 2, "{}", checked.stdout);
}

#[test]
fn the_page_lists_the_rights_that_are_printed() {
    let purposes = [
        Purpose::Check,
        Purpose::Analyze,
        Purpose::ProxyStatus,
        Purpose::ProxyConfig,
        Purpose::Snapshot,
        Purpose::LogLevel,
        Purpose::Diff,
        Purpose::Monitor,
        Purpose::Canary,
        Purpose::Flags,
    ];
    assert_eq!(Purpose::Check.rights(), Purpose::Describe.rights());
    let told = |right: &Right| {
        let dot = if right.group.is_empty() { "" } else { "." };
        format!(
            "`{}` {}{dot}{}",
            right.verbs.join("`, `"),
            right.resource,
            right.group
        )
    };
    let mut rows: BTreeMap<(String, String), ([&str; 10], &str)> = BTreeMap::new();
    for (column, purpose) in purposes.into_iter().enumerate() {
        for right in purpose.rights() {
            let row = rows
                .entry((right.resource.clone(), told(&right)))
                .or_insert(([""; 10], right.without));
            row.0[column] = if right.in_istio { "istio" } else { "x" };
        }
    }
    let mut table = "| right | `check`, `why`, `trace`, `authz`, `describe` | `analyze` | `ps` | `pc` | `snapshot` | `log-level` | `diff` | `monitor serve` | `canary` | `flags --prometheus` | without it you lose |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n".to_owned();
    for ((_, right), (marks, without)) in rows {
        table.extend([format!("| {right} | {} | {without} |\n", marks.join(" | "))]);
    }
    let page = std::fs::read_to_string(root().join("docs/live.md")).expect("the page");
    let (before, rest) = page.split_once("<!-- rights -->\n").expect("a mark");
    let (_, after) = rest.split_once("<!-- /rights -->").expect("a mark");
    expect_file(
        "docs/live.md",
        &format!("{before}<!-- rights -->\n{table}<!-- /rights -->{after}"),
    );
}

#[test]
fn no_credential_is_told_anywhere() {
    let mut state = State::demo();
    if let Some(secrets) = state.objects.get_mut("secrets") {
        for secret in secrets {
            secret["data"] = serde_json::json!({"password": "aHVudGVyMi12YWx1ZQ=="});
            secret["stringData"] = serde_json::json!({"password": "hunter2-value"});
        }
    }
    let fake = Fake::with(state);
    fake.state
        .fault(Fault::always("/serviceaccounts", Trouble::Html));
    fake.state.fault(Fault::always("/nodes", Trouble::Nonsense));
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("mesh").display().to_string();
    for words in [
        &["check", "-v"][..],
        &["snapshot", &to],
        &["ps"],
        &["analyze"],
    ] {
        let run = on(&fake, words);
        for text in [&run.stdout, &run.stderr] {
            assert!(
                !text.contains("hunter2") && !text.contains("aHVudGVyM") && !text.contains(TOKEN),
                "{words:?} {text}"
            );
        }
    }
    each_file(Path::new(&to), &mut |path, text| {
        assert!(
            !text.contains("hunter2") && !text.contains("aHVudGVyM"),
            "{}",
            path.display()
        );
    });
}

fn each_file(folder: &Path, look: &mut dyn FnMut(&Path, &str)) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        if entry.path().is_dir() {
            each_file(&entry.path(), look);
        } else {
            look(
                &entry.path(),
                &String::from_utf8_lossy(&std::fs::read(entry.path()).expect("a file")),
            );
        }
    }
}

#[test]
fn two_thousand_proxies_are_kept_on_disk_not_in_memory() {
    let fake = Fake::with(State::made_up(2000, 100_000));
    let folder = tempfile::tempdir().expect("a folder");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_meshladder"))
        .args([
            "snapshot",
            "--proxies",
            "all",
            "--timeout",
            "10m",
            "--kubeconfig",
        ])
        .args([fake.kubeconfig(), folder.path().join("mesh.tar.zst")])
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the binary starts");
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    while child.try_wait().expect("the child can be asked").is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let kib = text.lines().find_map(|line| {
            line.strip_prefix("VmHWM:")?
                .trim()
                .strip_suffix(" kB")?
                .parse()
                .ok()
        });
        peak = peak.max(kib.unwrap_or(0_u64));
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    assert!(child.wait().expect("it ended").success());
    assert!(peak < 192 << 10, "{peak} KiB for 200 MB of dumps");
}

#[test]
fn the_files_that_kubeconfig_names_are_merged_and_those_that_are_not_there_ignored() {
    let fake = Fake::demo();
    let text = std::fs::read_to_string(fake.kubeconfig()).expect("a kubeconfig");
    let (clusters, contexts) = text.split_once("contexts:").expect("contexts");
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("a"), clusters).expect("a file");
    std::fs::write(
        path("b"),
        format!("apiVersion: v1\nkind: Config\ncontexts:{contexts}"),
    )
    .expect("a file");
    let all = std::env::join_paths([path("a"), path("missing"), path("b")]).expect("paths");
    let run = std::process::Command::new(env!("CARGO_BIN_EXE_meshladder"))
        .arg("ps")
        .env("KUBECONFIG", all)
        .output();
    assert_eq!(run.expect("the binary starts").status.code(), Some(0));
}

#[test]
fn ctrl_c_stops_at_once_and_what_was_read_is_kept() {
    let fake = Fake::demo();
    fake.state
        .fault(Fault::always("PORT shop/", Trouble::Silence));
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("mesh.tar.zst");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_meshladder"))
        .args([
            "snapshot",
            "--proxies",
            "all",
            "--request-timeout",
            "10m",
            "--timeout",
            "10m",
            "--kubeconfig",
        ])
        .args([&fake.kubeconfig(), &to])
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the binary starts");
    while !fake
        .state
        .requests()
        .iter()
        .any(|line| line.starts_with("PORT shop/"))
    {
        assert!(
            child.try_wait().expect("the child can be asked").is_none(),
            "it ended by itself"
        );
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    let kill = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(kill.expect("kill starts").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let kept = json(&meshladder(&[
        "bundle",
        "list",
        "-o",
        "json",
        &to.display().to_string(),
    ]));
    assert!(
        kept["documents"]
            .as_array()
            .is_some_and(|all| all.len() > 40),
        "{kept}"
    );
    assert!(
        kept["coverage"]
            .to_string()
            .contains("interrupted before it could be read"),
        "{}",
        kept["coverage"]
    );
}

/// So many of the captured incidents are served and asked about, where there are more.
const SERVED: usize = 12;

#[test]
fn an_incident_is_judged_on_a_cluster_as_in_its_capture() {
    let captures = captures();
    let every = std::env::var("MESHLADDER_LIVE_EVERY")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(captures.len().div_ceil(SERVED));
    let mut wrong = Vec::new();
    for capture in captures.iter().step_by(every) {
        let (folder, bundle) = (&capture.folder, capture.bundle());
        let text = std::fs::read_to_string(folder.join("incident.json")).expect("an incident");
        let incident: Value = serde_json::from_str(&text).expect("JSON");
        let captured = crate::fixes::words(&incident["ask"], &bundle);
        let asked: Vec<&str> = captured
            .iter()
            .map(String::as_str)
            .take_while(|word| *word != "-s")
            .collect();
        let fake = Fake::with(State::captured(&bundle));
        let first = |run: &Run| {
            let report = json(run);
            format!("{} {:?}", report["verdict"], codes(&report).first())
        };
        let (live, captured) = (first(&on(&fake, &asked)), first(&meshladder(&captured)));
        if live != captured {
            wrong.push(format!("{}: {live} instead of {captured}", capture.id));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_is_wrong_with_the_way_to_a_cluster_is_told_with_what_to_try() {
    let fake = Fake::demo();
    let run = on(&fake, &["check", "--context", "nope"]);
    assert_eq!(run.code, 3);
    assert!(
        run.stderr.contains("no context `nope`") && run.stderr.contains("hint:"),
        "{}",
        run.stderr
    );
    let none = meshladder(&["check"]);
    assert_eq!(none.code, 2);
    assert!(
        none.stderr.contains("no source to read") && none.stderr.contains("-s"),
        "{}",
        none.stderr
    );
    for words in [
        &["log-level"][..],
        &["snapshot", "mesh.tar.zst"],
        &["rbac", "--check"],
        &["flags", "--prometheus"],
    ] {
        let none = meshladder(words);
        assert_eq!(none.code, 2);
        assert!(
            none.stderr.contains("no cluster to ask") && !none.stderr.contains("-s"),
            "{}",
            none.stderr
        );
    }
}
