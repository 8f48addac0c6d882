//! The habits of a good command-line program.

use std::io::Read;
use std::process::{Command, Stdio};

use crate::expect::root;
use crate::support::{self, meshladder};

#[test]
fn help_shows_examples_first_and_exits_zero() {
    const LISTINGS: &str =
        "all bootstrap cluster ecds eds endpoint listener log rootca-compare route secret";
    let listings = LISTINGS.split(' ').map(|listing| vec!["pc", listing]);
    let commands = [
        "ps",
        "pc",
        "trace",
        "authz",
        "analyze",
        "flags",
        "logs",
        "diff",
        "describe",
        "runbook",
        "canary",
        "monitor",
        "bundle",
        "demo",
        "version",
        "completion",
        "man",
    ]
    .map(|command| vec![command]);
    let monitor =
        ["rules", "dashboard", "serve", "install"].map(|command| vec!["monitor", command]);
    let bundle = ["pack", "list", "verify"].map(|command| vec!["bundle", command]);
    let authz = [vec!["authz", "check"], vec!["x", "authz", "check"]];
    for mut words in listings
        .chain(commands)
        .chain(monitor)
        .chain(bundle)
        .chain(authz)
        .chain([Vec::new()])
    {
        words.push(if words.len() % 2 == 0 { "--help" } else { "-h" });
        let run = meshladder(&words);
        assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{words:?}");
        let first = run.stdout.lines().next().expect("help");
        assert!(
            first.starts_with("Examples:"),
            "{words:?} starts with {first}"
        );
        assert!(run.stdout.contains("Usage: meshladder"), "{words:?}");
    }
}

#[test]
fn typing_errors_come_with_a_suggestion_and_the_right_exit_code() {
    for (words, code, told) in [
        (&["proxystatus"][..], 2, "proxy-status"),
        (&["bundle", "lst"], 2, "list"),
        (&["demo", "--colour", "never"], 2, "--color"),
        // istioctl's commands keep istioctl's code for flags it cannot parse.
        (&["pc", "cluster", "--fqnd", "x"], 64, "--fqdn"),
        (&["ps", "-o", "jsn"], 64, "json"),
        (&["pc", "clustr"], 64, "cluster"),
        (&["-s", "pc", "bundle", "lst"], 2, "list"),
    ] {
        let run = meshladder(words);
        assert_eq!((run.code, run.stdout.as_str()), (code, ""), "{words:?}");
        assert!(run.stderr.contains(told), "{words:?}: {}", run.stderr);
    }
}

#[test]
fn without_a_source_the_user_is_told_what_to_name() {
    for (words, code) in [
        (&["ps"][..], 64),
        (&["pc", "cluster", "a.b"], 64),
        (&["bundle", "list"], 2),
        (&["bundle", "verify"], 2),
        (&["bundle", "pack", "x.tar"], 2),
    ] {
        let run = meshladder(words);
        assert_eq!(run.code, code, "{words:?}");
        assert!(
            run.stderr.contains("hint:") && run.stderr.contains("-s"),
            "{words:?}: {}",
            run.stderr
        );
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    let dump = root()
        .join("fixtures/meshes/small/bundle/proxies/tools/curl-5b64d475cf-qzthp/config_dump.json");
    let mut child = Command::new(env!("CARGO_BIN_EXE_meshladder"))
        .args(["pc", "all", "-o", "json", "--file"])
        .arg(dump)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut pipe = child.stdout.take().expect("stdout is a pipe");
    let mut start = [0; 16];
    pipe.read_exact(&mut start)
        .expect("it writes more than 16 bytes");
    drop(pipe);
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn colour_is_off_in_pipes_and_can_be_forced() {
    let coloured = |words: &[&str]| meshladder(words).stderr.contains('\u{1b}');
    assert!(!coloured(&["ps"]));
    assert!(coloured(&["ps", "--color", "always"]));
    assert!(!coloured(&["ps", "--color", "never"]));
}

#[test]
fn completions_come_for_four_shells_and_man_pages_for_every_command() {
    for (shell, mark) in [
        ("bash", "complete -F"),
        ("zsh", "#compdef meshladder"),
        ("fish", "complete -c meshladder"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let run = meshladder(&["completion", shell]);
        assert_eq!(run.code, 0);
        assert!(
            run.stdout.contains(mark) && run.stdout.contains("proxy-config"),
            "{shell}"
        );
    }
    let folder = tempfile::tempdir().expect("a folder");
    let run = meshladder(&["man", &folder.path().display().to_string()]);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    for page in [
        "meshladder.1",
        "meshladder-proxy-status.1",
        "meshladder-proxy-config-cluster.1",
    ] {
        assert!(folder.path().join(page).is_file(), "{page}");
    }
}

#[test]
fn the_version_is_told_as_text_and_as_json() {
    let text = meshladder(&["version"]).stdout;
    assert!(
        text.starts_with(concat!("meshladder ", env!("CARGO_PKG_VERSION"), " (")),
        "{text}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&meshladder(&["version", "-o", "json"]).stdout).expect("JSON");
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert!(json["istio"].is_string() && json["envoy"].is_string() && json["commit"].is_string());
}

#[test]
fn as_a_kubectl_plugin_it_shows_itself_by_that_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let plugin = folder.path().join("kubectl-meshladder");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_meshladder"), &plugin).expect("a second name");
    let output = Command::new(plugin)
        .args(["pc", "cluster", "--help"])
        .output()
        .expect("it starts");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(
        text.contains("Usage: kubectl meshladder proxy-config cluster"),
        "{text}"
    );
    assert!(
        text.contains("  kubectl meshladder pc cluster deploy/cart"),
        "{text}"
    );
}

#[test]
fn the_demo_tells_its_story() {
    let run = support::meshladder(&["demo"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let steps = [
        "STALE",
        "outbound|8080|v1|catalog.shop.svc.cluster.local 100",
        "NetworkPolicy shop/restrict-egress keeps the proxies of namespace shop from istiod (TCP 15012)",
        "VirtualService shop/catalog's 90/10, and frontend still sends everything to v1",
        "✗ sync",
        "error ML0401",
        "tried on the objects: the cause goes away",
        "Try next",
        "meshladder check",
    ];
    let mut rest = run.stdout.as_str();
    for told in steps {
        let at = rest
            .find(told)
            .unwrap_or_else(|| panic!("{told} comes next in {}", run.stdout));
        rest = &rest[at..];
    }
}
