//! `logs`, on our own capture, on every capture there is, and as users call it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use meshladder_capture::access_log::LogField;
use meshladder_capture::snapshot::{Coverage, Need, Part, Shape, Snapshot};
use meshladder_judge::logs::{Chunk, Collector, Event, LineFilter, LogFormats};
use serde_json::Value;

use crate::expect::root;
use crate::meshes::{capture, captures};
use crate::reports::open;
use crate::support::{meshladder, with_stdin};

const DEMO: &str = "crates/meshladder/demo/canary-gets-no-traffic.tar.zst";

const CLIENT: &str = r#"[2026-11-15T06:31:02.101Z] "GET /a HTTP/1.1" 503 - via_upstream - "-" 0 95 3 3 "-" "curl" "id-1" "cart.shop:8080" "10.0.0.9:8080" outbound|8080||cart.shop.svc.cluster.local 10.0.0.2:42 10.96.0.1:8080 10.0.0.2:58 - default
"#;
const SERVER: &str = r#"[2026-11-15T06:31:02.103Z] "GET /a HTTP/1.1" 503 UF upstream_reset_before_response_started{remote_connection_failure|delayed_connect_error:_Connection_refused} - "delayed_connect_error:_Connection_refused" 0 95 1 - "-" "curl" "id-1" "cart.shop:8080" "10.0.0.9:8080" inbound|8080|| 127.0.0.6:33 10.0.0.9:8080 10.0.0.2:42 outbound_.8080_._.cart.shop.svc.cluster.local default
"#;
const AGENT: &str = "2026-11-15T06:30:49.298228Z\tinfo\tStarting\n";

/// Status, flags and request id, as a line has them; without our own reader: what stands behind the
/// request's quotes.
fn plain(line: &str) -> (String, String, String) {
    let behind = line.split_once("\" ").expect("a quoted request").1;
    let mut words = behind.split(' ');
    let code = words.next().expect("a status").to_owned();
    let flags = words.next().expect("flags").to_owned();
    let quoted: Vec<&str> = line.split('"').collect();
    // From the end: the rest, the upstream's address, the authority and the request's id.
    let id = quoted[quoted.len() - 6].to_owned();
    (code, flags, id)
}

/// Every line that a proxy of the capture logged, as our reader has it.
fn read(snapshot: &Snapshot) -> (BTreeSet<(String, String, String)>, u64, u64) {
    let (filter, formats) = (LineFilter::default(), LogFormats::default());
    let mut found = BTreeSet::new();
    let mut collector = Collector::new(&formats, &filter);
    let mut expected = 0;
    for id in snapshot.ids().filter(|id| id.shape() == Shape::Log) {
        let text = snapshot.open(id).expect("a log").text;
        let is_request = |line: &&str| line.starts_with("[20") && line.contains("Z] \"");
        expected += text.lines().filter(is_request).count() as u64;
        collector.each(
            Chunk {
                source: 0,
                first_line: 1,
                text: &text,
            },
            |event| match event {
                Event::Line { record, .. } => {
                    let flags: Vec<&str> = record.flags().collect();
                    let flags = if flags.is_empty() {
                        "-".to_owned()
                    } else {
                        flags.join(",")
                    };
                    let id = record.get(LogField::RequestId);
                    let id = if id.is_empty() { "-" } else { id };
                    found.insert((record.code().to_string(), flags, id.to_owned()));
                }
                Event::Malformed { text, .. } => panic!("malformed: {text}"),
            },
        );
    }
    let stats = collector.finish();
    (found, stats.requests + stats.connections, expected)
}

#[test]
fn every_line_of_every_capture_is_read_and_agrees_with_what_was_observed() {
    for capture in captures() {
        let folder = &capture.folder;
        let snapshot = open(&capture.bundle());
        let (found, count, expected) = read(&snapshot);
        assert_eq!(
            count,
            expected,
            "{}: requests read, and lines that look like one",
            folder.display()
        );
        // Not every incident is about requests.
        let Ok(observed) = fs::read_to_string(folder.join("observed.json")) else {
            continue;
        };
        // In some captures logs may not be read.
        if snapshot.coverage(&Need::Part(Part::Logs)) != Coverage::Complete {
            continue;
        }
        let observed: Value = serde_json::from_str(&observed).expect("JSON");
        for request in observed["requests"].as_array().expect("requests") {
            let servers = request["serverLogs"]
                .as_object()
                .into_iter()
                .flat_map(|logs| logs.values());
            let logs = std::iter::once(&request["clientLog"]).chain(servers);
            for line in logs
                .filter_map(Value::as_array)
                .flatten()
                .filter_map(Value::as_str)
            {
                assert!(found.contains(&plain(line)), "{}: {line}", folder.display());
            }
        }
    }
}

#[test]
fn our_own_capture_is_read_without_loss() {
    let (found, count, expected) = read(&open(&root().join(DEMO)));
    assert!(
        count == expected && !found.is_empty(),
        "{count} of {expected}"
    );
}

fn json(words: &[&str], stdin: &str) -> Value {
    let run = with_stdin(&[&["logs", "-o", "json"], words].concat(), stdin.as_bytes());
    serde_json::from_str(&run.stdout).unwrap_or_else(|why| panic!("{why}: {run:?}"))
}

#[test]
fn both_hops_of_a_request_become_one_cause() {
    let text = format!("{AGENT}{CLIENT}{SERVER}");
    let run = with_stdin(&["logs", "-"], text.as_bytes());
    assert_eq!(run.code, 1, "{run:?}");
    for part in [
        "2 requests in 1 log",
        "1. 1 × 503 UF",
        "the server's proxy answered itself",
        "nothing listens on that port",
        "also seen as: 1 × 503 - via_upstream, outbound|8080||cart.shop.svc.cluster.local at the client",
        "stdin:3",
        "meshladder why --from CLIENT --to http://cart.shop:8080/a --seen 503",
    ] {
        assert!(run.stdout.contains(part), "{part} is not in {}", run.stdout);
    }
    let told = json(&["-"], &text);
    assert_eq!(
        (&told["kind"], &told["requests"], &told["other"]),
        (&"Logs".into(), &2.into(), &1.into())
    );
    assert_eq!(told["causes"].as_array().map(Vec::len), Some(1));
    let at = told["causes"][0]["group"]
        .as_u64()
        .and_then(|at| usize::try_from(at).ok())
        .expect("a place");
    let group = &told["groups"][at];
    assert_eq!(
        (&group["flags"][0], &group["by"], &group["side"]),
        (&"UF".into(), &"this-proxy".into(), &"server".into())
    );
    assert_eq!(group["examples"][0]["line"], 3);
    let markdown = with_stdin(&["logs", "-", "-o", "markdown"], text.as_bytes()).stdout;
    assert!(
        markdown.starts_with("# Access logs\n") && markdown.contains("| 1 | 503 | UF |"),
        "{markdown}"
    );
}

#[test]
fn lines_are_decoded_and_filters_hold_on_every_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("access.log");
    fs::write(&file, format!("{CLIENT}{SERVER}{AGENT}")).expect("a file");
    let path = file.display().to_string();
    for (words, ids) in [
        (&[][..], 2),
        (&["--flag", "UF"], 1),
        (&["--not-flag", "UF"], 1),
        (&["--flag", "-"], 1),
        (&["--code", "500-504", "--method", "get"], 2),
        (&["--not-code", "5xx"], 0),
        (&["--cluster", "inbound|"], 1),
        (&["--details", "via_upstream"], 1),
        (
            &[
                "--upstream",
                "10.0.0.9",
                "--path",
                "/a",
                "--request-id",
                "id-1",
            ],
            2,
        ),
        (&["--since", "2026-11-15T06:31:02.102Z"], 1),
        (&["--until", "2026-11-15T06:31:02.102Z"], 1),
        (&["--since", "1s"], 0),
    ] {
        let run = meshladder(&[&["logs", &path, "--lines", "-o", "json"], words].concat());
        assert_eq!(
            (run.code, run.stdout.lines().count()),
            (0, ids),
            "{words:?}: {run:?}"
        );
    }
    let run = meshladder(&["logs", &path, "--lines", "--flag", "UF"]);
    for part in [
        ":2: 2026-11-15T06:31:02.103Z GET cart.shop:8080/a: 503 UF",
        "by this proxy at the server",
        "nothing listens",
    ] {
        assert!(run.stdout.contains(part), "{part} is not in {}", run.stdout);
    }
}

#[test]
fn compressed_logs_and_threads_give_the_same_answer() {
    let text: String = (0..20_000)
        .map(|i| {
            let line = if i % 3 == 0 { SERVER } else { CLIENT };
            line.replace("id-1", &format!("id-{}", i / 2))
                .replace("/a ", &format!("/a/{} ", i % 50))
        })
        .collect();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("access.log");
    fs::write(&file, &text).expect("a file");
    let gzip = std::process::Command::new("gzip")
        .arg("-k")
        .arg(&file)
        .status();
    assert!(gzip.is_ok_and(|status| status.success()), "gzip is there");
    let told = |path: &Path, threads: &str| {
        let mut told = json(&[&path.display().to_string(), "--threads", threads], "");
        told["sources"] = Value::Null;
        let text = told.to_string();
        text.replace(&path.display().to_string(), "FILE")
    };
    let one = told(&file, "1");
    assert_eq!(one, told(&file, "2"));
    assert_eq!(one, told(&file, "3"));
    assert_eq!(one, told(&folder.path().join("access.log.gz"), "2"));
}

#[test]
fn a_malformed_line_is_counted_and_shown_on_request() {
    let text = format!("{CLIENT}[2026-11-15T06:31:02.101Z] \"GET /a HTTP/1.1\" 503 \x1b[2J\n");
    let run = with_stdin(&["logs", "-"], text.as_bytes());
    assert!(
        run.stdout
            .contains("1 line malformed (--malformed shows them)"),
        "{}",
        run.stdout
    );
    let run = with_stdin(&["logs", "-", "--malformed"], text.as_bytes());
    assert_eq!(run.code, 0);
    assert!(
        run.stdout.starts_with("stdin:2: [2026-") && !run.stdout.contains('\x1b'),
        "{:?}",
        run.stdout
    );
}

#[test]
fn a_format_of_one_s_own_is_taken() {
    let line = "503|UH|/a b|2026-11-15T06:31:02.101Z\n";
    let format = "%RESPONSE_CODE%|%RESPONSE_FLAGS%|%REQ(:PATH)%|%START_TIME%";
    let told = json(&["-", "--format", format], line);
    assert_eq!(
        (&told["requests"], &told["groups"][0]["flags"][0]),
        (&1.into(), &"UH".into()),
        "{told}"
    );
    let run = with_stdin(&["logs", "-"], line.as_bytes());
    assert!(run.stderr.contains("--format"), "{run:?}");
    let run = meshladder(&["logs", "-", "--format", "nothing"]);
    assert_eq!(
        (run.code, run.stderr.contains("command operator")),
        (2, true),
        "{run:?}"
    );
}

#[test]
fn formats_of_the_mesh_are_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    let mesh = "accessLogFormat: \"%RESPONSE_CODE% %RESPONSE_FLAGS% %REQ(:METHOD)%\\n\"\nextensionProviders:\n- name: json\n  envoyFileAccessLog:\n    path: /dev/stdout\n    logFormat: {labels: {status: \"%RESPONSE_CODE%\", flags: \"%RESPONSE_FLAGS%\", verb: \"%REQ(:METHOD)%\"}}\n";
    let map = serde_json::json!({"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "istio", "namespace": "istio-system"}, "data": {"mesh": mesh}}]});
    write("k8s/configmaps.json", &map.to_string());
    write(
        "logs/shop/a-1/istio-proxy.log",
        "503 UH GET\n{\"status\":504,\"flags\":\"UT\",\"verb\":\"GET\"}\n",
    );
    let told = json(&["-s", &folder.path().display().to_string()], "");
    let flags: BTreeSet<&str> = told["groups"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|group| group["flags"][0].as_str())
        .collect();
    assert_eq!(
        (told["requests"].as_u64(), flags),
        (Some(2), BTreeSet::from(["UH", "UT"])),
        "{told}"
    );
}

/// An EnvoyFilter changes what is written and no object tells how: the proxy's own dump does.
#[test]
fn what_a_proxy_says_of_its_own_format_is_taken() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    };
    let log = |kind: &str, more: Value| {
        let mut typed = more;
        typed["@type"] =
            format!("type.googleapis.com/envoy.extensions.access_loggers.{kind}").into();
        serde_json::json!({"name": "x", "typed_config": typed})
    };
    let text = |text: &str| serde_json::json!({"log_format": {"text_format_source": {"inline_string": text}}});
    let mut to_a_file = text("%RESPONSE_CODE% of a file %RESPONSE_FLAGS%\n");
    to_a_file["path"] = "/var/log/other".into();
    let labels = serde_json::json!({"path": "/dev/stdout", "log_format": {"json_format": {"status": "%RESPONSE_CODE%", "flags": "%RESPONSE_FLAGS%"}}});
    let manager = serde_json::json!({"filters": [{"name": "m", "typed_config": {"access_log": [
        log("stream.v3.StdoutAccessLog", text("%RESPONSE_FLAGS%;%RESPONSE_CODE%;%REQ(:METHOD)%\n")), log("file.v3.FileAccessLog", to_a_file)]}}]});
    let listener = serde_json::json!({"name": "l", "filter_chains": [manager], "access_log": [log("file.v3.FileAccessLog", labels)]});
    let dump = serde_json::json!({"configs": [{"@type": "type.googleapis.com/envoy.admin.v3.ListenersConfigDump",
        "dynamic_listeners": [{"name": "l", "active_state": {"listener": listener}}]}]});
    write("proxies/shop/a-1/config_dump.json", &dump.to_string());
    let lines = "UH;503;GET\n{\"status\":504,\"flags\":\"UT\"}\n503 of a file UO\n";
    write("logs/shop/a-1/istio-proxy.log", lines);
    // Another one's lines are not of that format, as far as anybody knows.
    write("logs/shop/b-1/istio-proxy.log", "nothing\n");
    let told = json(&["-s", &folder.path().display().to_string()], "");
    let flags: BTreeSet<&str> = told["groups"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|group| group["flags"][0].as_str())
        .collect();
    assert_eq!(
        (told["requests"].as_u64(), flags),
        (Some(2), BTreeSet::from(["UH", "UT"])),
        "{told}"
    );
}

#[test]
fn causes_in_a_bundle_s_logs_lead_to_root_causes() {
    for (id, told) in [
        (
            "cart-503-app-closes-connection",
            "ML1002 application-closes-connection: Deployment shop/cart",
        ),
        (
            "grpc-200-while-ratings-scaled-to-zero",
            "ML0703 workload-scaled-to-zero: Deployment shop/ratings",
        ),
        (
            "cart-504-route-timeout",
            "ML1016 route-timeout: VirtualService shop/cart",
        ),
    ] {
        let bundle = capture(id).bundle().display().to_string();
        let run = meshladder(&["logs", "-s", &bundle, "--why"]);
        assert!(run.stdout.contains(told), "{id}: {}", run.stdout);
    }
}

#[test]
fn a_workload_s_logs_are_found_in_a_bundle() {
    let demo = root().join(DEMO).display().to_string();
    let of = |words: &[&str]| json(&[words, &["-s", &demo]].concat(), "")["sources"].clone();
    for words in [
        &["shop/cart"][..],
        &["deploy/cart", "-n", "shop"],
        &["cart.shop"],
    ] {
        let sources = of(words);
        let sources = sources.as_array().expect("a list");
        let own = |source: &Value| {
            source
                .as_str()
                .is_some_and(|id| id.starts_with("logs/shop/cart-"))
        };
        assert!(
            !sources.is_empty() && sources.iter().all(own),
            "{words:?}: {sources:?}"
        );
    }
    let run = meshladder(&["logs", "shop/nobody", "-s", &demo]);
    assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{run:?}");
}

#[test]
fn what_cannot_be_read_is_said_plainly() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().display().to_string();
    let demo = root().join(DEMO).display().to_string();
    for (words, code, told) in [
        (&["logs"][..], 2, "no log to read"),
        (&["logs", "cart-1"], 2, "there is no file `cart-1`, and "),
        (
            &["logs", "shop/cart-1", "--follow"],
            2,
            "there is no file `shop/cart-1`, and ",
        ),
        (
            &["logs", "-", "--follow"],
            2,
            "--follow reads a running pod's log",
        ),
        (&["logs", &folder], 3, "is a directory, not a log"),
        (&["logs", &demo], 3, "is an archive, not a log"),
        (&["logs", "-", "--why"], 2, "--why needs a bundle"),
        (
            &["logs", "-", "--code", "abc"],
            2,
            "try 503, 5xx or 500-504",
        ),
        (&["logs", "-", "--since", "noon"], 2, "is no time"),
        (&["logs", "-", "-"], 2, "stdin is named twice"),
    ] {
        let run = meshladder(words);
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (code, ""),
            "{words:?}: {run:?}"
        );
        assert!(run.stderr.contains(told), "{words:?}: {}", run.stderr);
    }
}

#[test]
fn other_tools_codes_and_what_proxies_say_are_explained() {
    for (what, told) in [
        ("KIA0102", "KIA0102 of Kiali (AuthorizationPolicy)"),
        ("ist0101", "ReferencedResourceNotFound"),
        ("IST0101", "ML0505 route-to-unknown-host"),
        ("IST0173", "subset"),
        ("14", "grpc-status 14 UNAVAILABLE"),
        ("UF,URX", "every try failed to connect"),
        (
            "rbac_access_denied_matched_policy[ns[shop]-policy[x]-rule[0]]",
            "AuthorizationPolicy shop/x, rule 0",
        ),
        (
            "connection closed due to policy rejection: allow policies exist, but none allowed",
            "no ALLOW policy",
        ),
        ("tcp_session_idle_timeout", "idle timeout"),
        ("http1.too_many_headers", "HTTP/1"),
    ] {
        let run = meshladder(&["explain", what]);
        assert!(
            run.code == 0 && run.stdout.contains(told),
            "{what}: {run:?}"
        );
    }
}
