//! `runbook`: every command in it is run, every link leads somewhere, and the script works with
//! kubectl and curl alone.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use crate::expect::root;
use crate::fake::Fake;
use crate::support::{Run, meshladder};

fn demo() -> String {
    root()
        .join("crates/meshladder/demo/canary-gets-no-traffic.tar.zst")
        .display()
        .to_string()
}

/// The lines of all `sh` blocks of a page.
fn commands(page: &str) -> Vec<String> {
    let blocks = page
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("\n```").next());
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

/// Runs a line as a shell would, with our binary, a kubectl that answers everything, and the demo's
/// capture.
fn run(line: &str, folder: &Path) -> Run {
    let line = line.replace("bundle.tar.gz", &demo());
    let binary = Path::new(env!("CARGO_BIN_EXE_meshladder"))
        .parent()
        .expect("it is in a folder")
        .display()
        .to_string();
    let path = format!(
        "{}:{binary}:{}",
        folder.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let kubeconfig = folder.join("kubeconfig");
    let output = Command::new("sh")
        .args(["-c", &line])
        .env("PATH", path)
        .env("KUBECONFIG", kubeconfig)
        .current_dir(folder)
        .output();
    let output = output.expect("sh starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Run {
        code: output.status.code().unwrap_or(-1),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Written by a process of its own: what this one writes, a child that another test is just
/// starting may still hold open, and what is open for writing cannot be executed.
fn program(folder: &Path, name: &str, script: &str) {
    let write = "printf %s \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let written = Command::new("sh")
        .args(["-c", write])
        .arg(folder.join(name))
        .arg(script)
        .status();
    assert!(written.expect("sh starts").success());
}

const VERBS: &str = "#!/bin/sh\ncase $1 in get|logs|exec|apply|patch|delete) echo ok ;; *) echo \"unknown verb $1\" >&2; exit 1 ;; esac\n";

#[test]
fn every_command_of_the_runbook_runs_on_the_demo() {
    let folder = tempfile::tempdir().expect("a folder");
    program(folder.path(), "kubectl", VERBS);
    // What asks running proxies asks those of the demo.
    let fake = Fake::demo();
    std::fs::copy(fake.kubeconfig(), folder.path().join("kubeconfig")).expect("a kubeconfig");
    let page = meshladder(&["runbook"]).stdout;
    let lines = commands(&page);
    assert!(lines.len() > 30, "{lines:?}");
    for line in lines {
        let run = run(&line, folder.path());
        assert!(matches!(run.code, 0 | 1), "{line}: {run:?}");
        // What finds nothing says nothing on a pipe.
        let is_quiet = [" > ", "meshladder analyze", " --level ", " --audit"]
            .iter()
            .any(|part| line.contains(part));
        assert!(is_quiet || !run.stdout.is_empty(), "{line} says nothing");
    }
}

#[test]
fn the_page_of_an_incident_has_its_names_and_its_commands_run() {
    let folder = tempfile::tempdir().expect("a folder");
    program(folder.path(), "kubectl", VERBS);
    for words in [
        &["runbook", "--for", "ML0401", "-s", "bundle.tar.gz"][..],
        &[
            "why",
            "--from",
            "shop/frontend",
            "--to",
            "http://catalog.shop:8080/",
            "--seen",
            "200",
            "-o",
            "runbook",
            "-s",
            "bundle.tar.gz",
        ],
    ] {
        let page = run(&format!("meshladder {}", words.join(" ")), folder.path()).stdout;
        for part in [
            "Root cause: NetworkPolicy shop/restrict-egress",
            "### Evidence",
            "### Verify",
            "before.yaml",
            "15012",
        ] {
            assert!(page.contains(part), "{words:?}: {part} is not in\n{page}");
        }
        for line in commands(&page) {
            let run = run(&line, folder.path());
            assert!(matches!(run.code, 0 | 1), "{line}: {run:?}");
        }
    }
}

#[test]
fn every_rule_has_a_page_and_the_html_stands_alone() {
    let page = meshladder(&["runbook", "--for", "subset-selects-no-pods"]).stdout;
    assert!(page.starts_with("# ML0701"), "{page}");
    let html = meshladder(&["runbook", "-o", "html"]).stdout;
    assert!(html.starts_with("<!doctype html>") && html.trim_end().ends_with("</html>"));
    for elsewhere in ["src=", "http-equiv", "<script", "@import", "<link"] {
        assert!(!html.contains(elsewhere), "{elsewhere}");
    }
    let ids: BTreeSet<&str> = html
        .split(" id=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let links: Vec<&str> = html
        .split("href=\"#")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    assert!(links.len() > 10, "{links:?}");
    for link in links {
        assert!(ids.contains(link), "#{link} leads nowhere");
    }
}

#[test]
fn the_script_is_clean_shell() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(
        folder.path().join("ladder.sh"),
        meshladder(&["runbook", "--as-script"]).stdout,
    )
    .expect("written");
    let checked = Command::new(root().join(".venv/bin/shellcheck"))
        .arg("ladder.sh")
        .current_dir(folder.path())
        .output();
    let checked = checked.expect("scripts/test installs shellcheck");
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stdout)
    );
}

/// A proxy's admin port that answers these paths, and the port it is at.
fn admin(answers: &'static [(&'static str, &'static str)]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().filter_map(Result::ok) {
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            while !request.windows(4).any(|end| end == b"\r\n\r\n") {
                match stream.read(&mut buffer) {
                    Ok(read) if read > 0 => request.extend_from_slice(&buffer[..read]),
                    _ => break,
                }
            }
            let line = String::from_utf8_lossy(&request)
                .lines()
                .next()
                .unwrap_or_default()
                .to_owned();
            let body = answers
                .iter()
                .find(|(path, _)| line.contains(path))
                .map_or("", |(_, body)| body);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
                body.len()
            );
            // A client that has gone has its answer.
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    port
}

const SICK: &[(&str, &str)] = &[
    (
        "/stats",
        "control_plane.connected_state: 0\nlistener_manager.lds.update_rejected: 2\nhttp.inbound.rbac.denied: 0\n",
    ),
    (
        "/config_dump",
        "{\"configs\":[{\"domains\":[\"catalog.shop:8080\"]}]}",
    ),
    (
        "/clusters",
        "outbound|8080||catalog.shop.svc.cluster.local::10.0.0.1:8080::health_flags::/failed_outlier_check\n",
    ),
    (
        "/logging",
        "active loggers:\n  rbac: debug\n  http: warning\n",
    ),
];

#[test]
fn the_script_climbs_with_kubectl_and_curl_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let port = admin(SICK);
    let kubectl = format!(
        r#"#!/bin/sh
case "$*" in
"get pod -n shop cart-1 -o yaml") printf 'spec:\n  initContainers:\n  - name: istio-proxy\n' ;;
"get pods -n istio-system -l app=istiod --no-headers") echo 'istiod-1 1/1 Running 0 1d' ;;
"get peerauthentications.security.istio.io -A --no-headers") echo 'shop default STRICT 1d' ;;
"logs -n shop cart-1 -c istio-proxy --tail=2000") echo '[2026-11-15T05:00:00.000Z] "GET / HTTP/1.1" 503 UH no_healthy_upstream - "-" 0 19 0 -' ;;
"port-forward -n shop pod/cart-1 :15000") echo 'Forwarding from 127.0.0.1:{port} -> 15000'; exec sleep 60 ;;
*) echo "Error from server (Forbidden): $*" >&2; exit 1 ;;
esac
"#
    );
    program(folder.path(), "kubectl", &kubectl);
    std::fs::write(
        folder.path().join("ladder.sh"),
        meshladder(&["runbook", "--as-script"]).stdout,
    )
    .expect("written");
    let run = run("sh ladder.sh -n shop cart-1 catalog.shop", folder.path());
    assert_eq!(run.code, 1, "{run:?}");
    let says: Vec<(String, String)> = run
        .stdout
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.to_owned()))
        })
        .collect();
    for (rung, outcome) in [
        ("reach", "ok"),
        ("control-plane", "ok"),
        ("enrolment", "ok"),
        ("sync", "FAILED"),
        ("config", "FAILED"),
        ("routing", "ok"),
        ("endpoints", "FAILED"),
        ("identity", "ok"),
        ("authorization", "ok"),
        ("upstream", "FAILED"),
        ("telemetry", "FAILED"),
    ] {
        assert!(
            says.contains(&(rung.to_owned(), outcome.to_owned())),
            "{rung} {outcome}: {}",
            run.stdout
        );
    }
}
