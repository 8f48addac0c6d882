//! Nothing lost, nothing leaked, nothing believed: what documents hold or lack never becomes more
//! than it is.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Builder, Coverage, DocId, Snapshot};
use meshladder_collect::Source;
use meshladder_judge::describe::{Fact, describe};
use meshladder_judge::report::{Report, Topic, Verdict};
use meshladder_mesh::{Mesh, ObjectRef};

use crate::expect::root;
use crate::meshes::{Capture, capture};
use crate::support::{Run, meshladder, with_stdin};

/// A copy of a bundle of a healthy mesh.
fn healthy(folder: &Path) -> PathBuf {
    let to = folder.join("bundle");
    let from = root().join("fixtures/incidents/healthy/bundle.tar.zst");
    let [to_text, from] = [&to, &from].map(|path| path.to_string_lossy().into_owned());
    let run = meshladder(&["bundle", "pack", &to_text, "-s", &from]);
    assert_eq!(run.code, 0, "{run:?}");
    to
}

fn check(bundle: &Path) -> (Run, serde_json::Value) {
    let run = meshladder(&["check", "-o", "json", "-s", &bundle.to_string_lossy()]);
    let report = serde_json::from_str(&run.stdout).expect("the report is JSON");
    (run, report)
}

#[test]
fn a_document_that_is_cut_short_anywhere_gives_no_verdict_and_no_finding() {
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = healthy(folder.path());
    assert_eq!(check(&bundle).1["verdict"], "healthy");
    for kind in ["pods", "services", "endpointslices.discovery.k8s.io"] {
        let file = bundle.join(format!("k8s/{kind}.json"));
        let whole = fs::read(&file).expect("the fixture has it");
        for part in [0, 1, 3, 5, 9] {
            fs::write(&file, &whole[..whole.len() * part / 10]).expect("it can be written");
            let (run, report) = check(&bundle);
            let at = format!("{kind} cut to {part}0 %: {report:#}");
            assert_eq!(report["verdict"], "undecided", "{at}");
            assert_eq!(run.code, 5, "{at}");
            assert_eq!(report["findings"][0]["subject"]["kind"], "Coverage", "{at}");
            assert!(
                run.stderr.contains(&format!("{kind}.json")),
                "{}",
                run.stderr
            );
            let is_loud = |finding: &&serde_json::Value| {
                finding["severity"] != "info" && finding["subject"]["kind"] != "Coverage"
            };
            let findings = report["findings"].as_array().expect("a list");
            assert_eq!(findings.iter().find(is_loud), None, "{at}");
        }
        fs::write(&file, &whole).expect("it can be written");
    }
}

#[test]
fn what_cannot_be_read_leaves_the_verdict_open() {
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = healthy(folder.path());
    let packed = folder.path().join("whole.tar");
    let pack = [
        "bundle",
        "pack",
        &packed.to_string_lossy(),
        "-s",
        &bundle.to_string_lossy(),
    ];
    assert_eq!(meshladder(&pack).code, 0);
    let whole = fs::read(&packed).expect("it was written");
    for part in [30, 60, 90] {
        let cut = folder.path().join("cut.tar");
        fs::write(&cut, &whole[..whole.len() * part / 100]).expect("it can be written");
        assert_eq!(check(&cut).1["verdict"], "undecided", "cut to {part} %");
    }
    for (path, text) in [
        ("istiod", None),
        ("k8s/namespaces.json", Some("<html>502 Bad Gateway</html>")),
        (
            "k8s/pods.json",
            Some(r#"{"kind":"Status","message":"Unauthorized"}"#),
        ),
        (
            "manifest.json",
            Some(r#"{"format":"meshladder-bundle","version":1,"cov"#),
        ),
    ] {
        let kept = folder.path().join("kept");
        fs::rename(bundle.join(path), &kept).expect("it is there");
        match text {
            Some(text) => fs::write(bundle.join(path), text).expect("it can be written"),
            // Something that cannot be listed where a folder belongs.
            None => std::os::unix::fs::symlink("/nowhere", bundle.join("istiod")).expect("a link"),
        }
        let report = check(&bundle).1;
        assert_ne!(report["verdict"], "healthy", "without {path}");
        fs::remove_file(bundle.join(path)).expect("it is ours");
        fs::rename(&kept, bundle.join(path)).expect("it is put back");
    }
}

/// What nobody else may be handed: escape codes, reading directions, a carriage return.
const CODES: &str = "\u{1b}]52;c;aWQ=\u{7}\u{1b}[2J\r\u{9b}31m\u{202e}x";
/// What a shell would run.
const RUN: &str = "a$(touch ran)`touch ran`;touch ran|touch ran\n'touch ran'\"touch ran\" > ran &";
/// What Markdown and HTML would draw.
const DRAWN: &str =
    "![x](http://evil.test/a.png) [y](http://evil.test) <script>alert(1)</script> http://evil.test";

/// A mesh in which each name, host and annotation is that text, with much that is wrong.
fn named(text: &str, folder: &Path) -> PathBuf {
    let object = |kind: &str, api: &str, name: &str, spec: serde_json::Value| {
        serde_json::json!({
            "apiVersion": api, "kind": kind, "spec": spec,
            "metadata": {"name": name, "namespace": format!("shop{text}"), "annotations": {text: text}},
        })
    };
    let istio = "networking.istio.io/v1";
    let name = format!("cart{text}");
    let route = serde_json::json!({"hosts": [name, "b.test"], "gateways": [format!("gw{text}"), "mesh"],
        "http": [{"timeout": text, "match": [{"uri": {"prefix": text}}], "route": [{"destination": {"host": format!("gone{text}"), "subset": text}}]}]});
    let pod = serde_json::json!({"serviceAccountName": text, "nodeName": text,
        "containers": [{"name": format!("app{text}"), "image": text, "ports": [{"containerPort": 1}]}]});
    let objects = [
        (
            "services",
            object(
                "Service",
                "v1",
                &name,
                serde_json::json!({"selector": {"app": text}, "ports": [{"name": text, "port": 80, "targetPort": 9}]}),
            ),
        ),
        ("pods", object("Pod", "v1", &name, pod)),
        (
            "virtualservices.networking.istio.io",
            object("VirtualService", istio, &name, route),
        ),
        (
            "destinationrules.networking.istio.io",
            object(
                "DestinationRule",
                istio,
                &name,
                serde_json::json!({"host": name, "subsets": [{"name": text, "labels": {"version": text}}]}),
            ),
        ),
        (
            "gateways.networking.istio.io",
            object(
                "Gateway",
                istio,
                &format!("gw{text}"),
                serde_json::json!({"selector": {"istio": text}, "servers": [{"port": {"number": 443, "name": text, "protocol": "HTTPS"}, "hosts": [text], "tls": {"mode": "SIMPLE", "credentialName": text}}]}),
            ),
        ),
        (
            "sidecars.networking.istio.io",
            object(
                "Sidecar",
                istio,
                &name,
                serde_json::json!({"workloadSelector": {"labels": {"app": "nobody"}}, "egress": [{"hosts": [format!("./{text}")]}]}),
            ),
        ),
        (
            "authorizationpolicies.security.istio.io",
            object(
                "AuthorizationPolicy",
                "security.istio.io/v1",
                &name,
                serde_json::json!({"action": "DENY", "selector": {"matchLabels": {"app": text}}, "rules": [{"from": [{"source": {"principals": [text]}}]}]}),
            ),
        ),
        (
            "peerauthentications.security.istio.io",
            object(
                "PeerAuthentication",
                "security.istio.io/v1",
                &name,
                serde_json::json!({"selector": {"matchLabels": {"app": "x"}}, "mtls": {"mode": "STRICT"}}),
            ),
        ),
        (
            "namespaces",
            serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": format!("shop{text}"), "labels": {"istio-injection": "enabled"}}}),
        ),
        (
            "endpointslices.discovery.k8s.io",
            object(
                "EndpointSlice",
                "discovery.k8s.io/v1",
                &name,
                serde_json::json!({}),
            ),
        ),
    ];
    let bundle = folder.join("bundle");
    fs::create_dir_all(bundle.join("k8s")).expect("a folder");
    for (file, object) in objects {
        let list = serde_json::json!({"kind": "List", "apiVersion": "v1", "items": [object]});
        fs::write(bundle.join(format!("k8s/{file}.json")), list.to_string()).expect("a file");
    }
    let line = format!(
        "[2026-11-15T06:31:02.101Z] \"GET /{t} HTTP/1.1\" 503 UF {t} - \"-\" 0 91 3 - \"-\" \"{t}\" \"{t}\" \"cart:80\" \"10.0.0.4:8080\" outbound|80||cart{t} 10.0.0.8:1 10.96.0.1:80 10.0.0.8:2 {t} default\n",
        t = text.replace(['\n', '"'], "")
    );
    fs::create_dir_all(bundle.join("logs/shop/cart")).expect("a folder");
    fs::write(bundle.join("logs/shop/cart/istio-proxy.log"), line).expect("a file");
    fs::write(
        bundle.join("manifest.json"),
        r#"{"format":"meshladder-bundle","version":1,"takenAt":"2026-11-15T06:32:00Z","cluster":{"id":"a","network":""},"coverage":{}}"#,
    )
    .expect("a file");
    bundle
}

/// Every way to say something about a mesh.
fn sayings(text: &str, bundle: &Path) -> Vec<(String, Run)> {
    let source = bundle.to_string_lossy().into_owned();
    let name = format!("cart{text}");
    let namespace = format!("shop{text}");
    let mut all = Vec::new();
    let mut say = |words: &[&str]| {
        let mut words = words.to_vec();
        words.extend(["-s", &source]);
        all.push((words.join(" "), meshladder(&words)));
    };
    for output in ["text", "json", "markdown", "html", "runbook"] {
        say(&["check", "-v", "-o", output]);
        say(&[
            "why",
            "-v",
            "--from",
            "outside",
            "--to",
            "http://b.test/",
            "--seen",
            "503/UH",
            "-o",
            output,
        ]);
    }
    for output in [
        "log", "markdown", "github", "sarif", "junit", "json", "yaml",
    ] {
        say(&["analyze", "-o", output]);
    }
    for kind in ["pod", "service", "virtualservice", "gateway"] {
        say(&["describe", kind, &name, "-n", &namespace]);
    }
    for output in ["text", "json", "markdown"] {
        say(&["logs", "-o", output]);
    }
    say(&["logs", "--lines"]);
    say(&["diff", &source, &source]);
    say(&["bundle", "list"]);
    say(&["pc", "all", &name]);
    all
}

#[test]
fn no_name_of_a_mesh_reaches_the_terminal_as_a_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = named(CODES, folder.path());
    for (command, run) in sayings(CODES, &bundle) {
        for text in [&run.stdout, &run.stderr] {
            let obeyed = text.chars().find(|c| {
                c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{202a}'..='\u{202e}')
            });
            assert_eq!(obeyed, None, "{command}:\n{text}");
        }
        assert!(run.code != 70, "{command}: {run:?}");
    }
}

#[test]
fn no_name_of_a_mesh_is_drawn_as_markup() {
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = named(DRAWN, folder.path());
    for (command, run) in sayings(DRAWN, &bundle) {
        let is_html = command.contains("-o html");
        if !is_html && !command.contains("-o markdown") && !command.contains("-o runbook") {
            continue;
        }
        let mut is_code = false;
        for line in run.stdout.lines() {
            let inside = line.trim_start();
            // A block of HTML, which is escaped as that, up to the next empty line.
            if inside.starts_with("<details>") && !inside.contains("<script>") {
                continue;
            }
            if !is_html && inside.starts_with("```") {
                is_code = !is_code;
                continue;
            }
            let drawn =
                line.contains("<script>") || !is_html && outside_code(line).contains("](http:");
            assert!(is_code || !drawn, "{command}: {line}");
        }
    }
}

/// What of a line of Markdown is not between backticks.
fn outside_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

#[test]
fn no_proposed_command_runs_what_a_name_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = named(RUN, folder.path());
    let tools = folder.path().join("tools");
    fs::create_dir(&tools).expect("a folder");
    for tool in ["kubectl", "meshladder", "jq", "base64", "grep"] {
        let path = tools.join(tool);
        fs::write(&path, "#!/bin/sh\nexit 0\n").expect("a file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(&path, mode).expect("it is ours");
    }
    let mut said = sayings(RUN, &bundle);
    for capture in captures_of_repository() {
        let renamed = renamed(&capture, folder.path());
        let source = renamed.to_string_lossy().into_owned();
        for output in ["json", "runbook", "text"] {
            let words = ["check", "-v", "-o", output, "-s", &source];
            said.push((words.join(" "), meshladder(&words)));
        }
        let words = ["logs", "-s", &source];
        said.push((words.join(" "), meshladder(&words)));
    }
    let mut commands = Vec::new();
    for (words, run) in said {
        commands.extend(proposed(&words, &run.stdout));
    }
    assert!(commands.len() > 10, "{}", commands.join("\n"));
    let place = folder.path().join("place");
    fs::create_dir(&place).expect("a folder");
    for command in &commands {
        Command::new("/bin/sh")
            .args(["-c", command])
            .current_dir(&place)
            .env("PATH", format!("{}:/usr/bin:/bin", tools.display()))
            .output()
            .expect("the shell starts");
        let made: Vec<_> = fs::read_dir(&place)
            .expect("it is there")
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| name != "before.yaml" && name != "ticket.html")
            .collect();
        assert_eq!(made, Vec::<String>::new(), "{command}");
    }
}

/// A capture of a real mesh in which a namespace has a name that no API server takes.
fn renamed(capture: &Capture, folder: &Path) -> PathBuf {
    let to = folder.join(&capture.id);
    let words = [
        to.to_string_lossy(),
        capture.bundle().to_string_lossy().into_owned().into(),
    ];
    let run = meshladder(&["bundle", "pack", &words[0], "-s", &words[1]]);
    assert_eq!(run.code, 0, "{run:?}");
    let mut folders = vec![to.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("it was written").flatten() {
            let name = entry
                .file_name()
                .to_string_lossy()
                .replace("shop", "sh$(touch ran)op");
            let path = folder.join(name);
            fs::rename(entry.path(), &path).expect("it is ours");
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).expect("it is text");
                fs::write(&path, text.replace("shop", "sh$(touch ran)op")).expect("it is ours");
            }
        }
    }
    to
}

/// The commands that an answer proposes.
fn proposed(words: &str, answer: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let report: serde_json::Value = serde_json::from_str(answer).unwrap_or_default();
    for finding in report["findings"].as_array().into_iter().flatten() {
        for fix in finding["fixes"].as_array().into_iter().flatten() {
            let text = fix["text"].as_str().or(fix["command"].as_str());
            commands.extend(text.filter(|_| fix["kind"] != "advice").map(str::to_owned));
        }
    }
    let mut block: Option<String> = None;
    for line in answer.lines().filter(|_| words.contains("runbook")) {
        match &mut block {
            Some(text) if line.starts_with("```") => {
                commands.push(std::mem::take(text));
                block = None;
            }
            Some(text) => text.extend([line, "\n"]),
            None if line.starts_with("```sh") => block = Some(String::new()),
            None => {}
        }
    }
    for line in answer.lines().map(str::trim) {
        let starts = ["kubectl ", "meshladder ", "ask: meshladder "];
        if let Some(start) = starts.iter().find(|start| line.starts_with(**start)) {
            commands.push(line[start.find("meshladder").unwrap_or(0)..].to_owned());
        }
    }
    commands
}

#[test]
fn no_planted_secret_comes_out_of_any_command() {
    let bundle = root().join("fixtures/secrets");
    let folder = tempfile::tempdir().expect("a folder");
    let source = bundle.to_string_lossy().into_owned();
    let mut outputs: Vec<(String, String)> = Vec::new();
    for (command, run) in sayings("", &bundle) {
        outputs.push((command, run.stdout + &run.stderr));
    }
    let log = bundle.join("logs/shop/frontend/istio-proxy.log");
    let text = fs::read(&log).expect("the fixture has it");
    let log = log.to_string_lossy().into_owned();
    for words in [
        &["logs", &log][..],
        &["logs", &log, "--lines"],
        &["logs", &log, "--malformed"],
        &["logs", &log, "-o", "json"],
    ] {
        let run = meshladder(words);
        outputs.push((words.join(" "), run.stdout + &run.stderr));
        let mut words = words.to_vec();
        words[1] = "-";
        let run = with_stdin(&words, &text);
        outputs.push((words.join(" "), run.stdout + &run.stderr));
    }
    for listing in ["cluster", "route", "listener", "all", "secret", "bootstrap"] {
        for output in ["short", "json", "yaml"] {
            let run = meshladder(&["pc", listing, "frontend.shop", "-o", output, "-s", &source]);
            outputs.push((
                format!("pc {listing} -o {output}"),
                run.stdout + &run.stderr,
            ));
        }
    }
    for word in [
        "Authorization: Bearer PLANTED0123456789",
        "x-api-key: PLANTED01234",
    ] {
        for output in ["json", "text", "runbook"] {
            let run = meshladder(&[
                "why",
                "--from",
                "shop/frontend",
                "--to",
                "http://cart:8080/",
                "-H",
                word,
                "-o",
                output,
                "-s",
                &source,
            ]);
            outputs.push((format!("why -H -o {output}"), run.stdout + &run.stderr));
        }
    }
    for name in ["packed", "packed.tar"] {
        let to = folder.path().join(name);
        let run = meshladder(&["bundle", "pack", &to.to_string_lossy(), "-s", &source]);
        outputs.push((name.to_owned(), run.stdout + &run.stderr));
    }
    let packed = fs::read(folder.path().join("packed.tar")).expect("it was written");
    outputs.push((
        "the archive".to_owned(),
        String::from_utf8_lossy(&packed).into_owned(),
    ));
    for (command, text) in outputs {
        let leaked = text
            .lines()
            .find(|line| line.contains("PLANTED") || line.contains("UExBTlRFR"));
        assert_eq!(leaked, None, "{command}");
    }
}

#[test]
fn a_log_tells_the_same_on_any_number_of_threads() {
    let mut log = String::new();
    for n in 0..6000 {
        writeln!(
            log,
            "[2026-11-15T06:31:02.101Z] \"GET /p{n} HTTP/1.1\" 503 UF upstream_reset - \"-\" 0 91 3 - \"-\" \"curl/8\" \"id-{n}\" \"cart:8080\" \"10.0.{}.{}:8080\" outbound|8080||cart.shop.svc.cluster.local 10.0.0.8:1 10.96.0.1:8080 10.0.0.8:2 - default {}",
            n / 250,
            n % 250,
            "x".repeat(300)
        )
        .expect("a String");
    }
    let told: Vec<String> = ["1", "2", "5", "16"]
        .iter()
        .map(|threads| {
            with_stdin(
                &["logs", "-", "-o", "json", "--threads", threads],
                log.as_bytes(),
            )
            .stdout
        })
        .collect();
    assert!(told[0].contains("503"));
    assert!(told.iter().all(|other| *other == told[0]));
}

/// The same Snapshot to somebody who may not read a kind.
fn without(snapshot: &Snapshot, kind: Kind) -> Snapshot {
    let mut builder = Builder::new();
    for (name, meta) in snapshot.sources() {
        builder.source(name, meta.cloned().unwrap_or_default());
    }
    for id in snapshot.ids().filter(|id| id.split().1 != kind.path()) {
        let document = snapshot.open(id).expect("it was read before");
        builder.add(
            id.clone(),
            document.origin,
            document.text.as_bytes().to_vec(),
        );
    }
    builder.note(
        kind.into(),
        Coverage::Denied("no right to list them".to_owned()),
    );
    builder.finish()
}

/// What is said of some pods, Services, VirtualServices and Gateways, apart from findings.
fn described(snapshot: &Snapshot) -> BTreeMap<ObjectRef, BTreeSet<(String, String)>> {
    let mesh = Mesh::build(snapshot);
    let report = Report {
        question: Topic::Mesh,
        about: String::new(),
        cluster: None,
        clusters: BTreeMap::new(),
        taken_at: None,
        verdict: Verdict::Healthy,
        findings: Vec::new(),
        rungs: Vec::new(),
        coverage: Vec::new(),
        unknown: Vec::new(),
    };
    let mut said = BTreeMap::new();
    for kind in [
        Kind::Pod,
        Kind::Service,
        Kind::VirtualService,
        Kind::Gateway,
    ] {
        for object in mesh.objects.of_kind(kind).iter().take(12) {
            let told =
                describe(snapshot, &mesh, &object.id, &report).expect("it has a description");
            let facts = told.sections.into_iter().flat_map(|section| {
                let fact =
                    move |fact: Fact| (format!("{}: {}", section.title, fact.about), fact.says);
                section.facts.into_iter().map(fact)
            });
            said.insert(object.id.clone(), facts.collect());
        }
    }
    said
}

#[test]
fn who_may_not_read_a_kind_is_told_nothing_of_its_absence() {
    let mut compared = 0;
    for capture in captures_of_repository() {
        let snapshot = meshladder_collect::open(
            &[Source::from(capture.bundle())],
            &meshladder_collect::Options::default(),
        )
        .expect("the fixture can be read");
        let all = described(&snapshot);
        for kind in Kind::ALL {
            if !snapshot.has(&DocId::new(kind.path())) {
                continue;
            }
            for (object, facts) in described(&without(&snapshot, *kind)) {
                let known = all.get(&object).expect("it was there before");
                for (about, says) in facts.iter().filter(|fact| !known.contains(fact)) {
                    // Less of what was said before is no new claim.
                    let is_less = |(of, said): &(String, String)| {
                        of == about && said.starts_with(says.as_str())
                    };
                    let is_open = says.contains("unknown") || known.iter().any(is_less);
                    assert!(
                        is_open,
                        "{} without {}: {object}: {about}: {says}",
                        capture.id,
                        kind.name()
                    );
                }
                compared += 1;
            }
        }
    }
    assert!(compared > 500, "{compared}");
}

fn captures_of_repository() -> Vec<Capture> {
    [
        "healthy",
        "payments-green-still-denies",
        "catalog-v2-pods-refused-by-stale-webhook",
    ]
    .map(capture)
    .into()
}
