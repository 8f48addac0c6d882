//! From kubeconfig files to a cluster, as the environment names them.

use std::path::Path;
use std::process::Command;

use axum::Router;
use axum::http::HeaderMap;
use axum::routing::{get, post};

use crate::fake::{Fake, State, TOKEN};
use crate::support::Run;
use crate::wire::{Wire, pem};

/// Runs the binary with an environment of its own.
fn with_env(words: &[&str], env: &[(&str, &str)]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_meshladder"));
    command
        .args(words)
        .env_clear()
        .env("NO_COLOR", "1")
        .env("HOME", "/nowhere")
        .envs(env.iter().copied());
    let output = command.output().expect("the binary starts");
    Run {
        code: output.status.code().expect("the binary ends by itself"),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

#[test]
fn of_files_that_say_the_same_the_first_counts_and_what_is_empty_says_nothing() {
    let fake = Fake::demo();
    let folder = fake.folder();
    let contexts = "contexts: [{name: here, context: {cluster: c, user: u}}, {name: there, context: {cluster: gone, user: u}}]";
    let first = write(
        folder,
        "first",
        &format!(
            "kind: Config\ncurrent-context: ''\nusers: null\nclusters: [{{name: c, cluster: {{server: 'http://{}'}}}}]\n",
            fake.address
        ),
    );
    let empty = write(folder, "empty", "");
    let second = write(
        folder,
        "second",
        &format!(
            "kind: Other\napiVersion: v2\ncurrent-context: here\nusers: [{{name: u, user: {{token: {TOKEN}}}}}]\n{contexts}\n"
        ),
    );
    let third = write(
        folder,
        "third",
        "current-context: there\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: u, user: {token: other}}]\n",
    );
    let all = [first.as_str(), "", &empty, "/not/there", &second, &third].join(":");
    let run = with_env(&["ps"], &[("KUBECONFIG", &all)]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let none = with_env(&["check"], &[("KUBECONFIG", &empty)]);
    assert_eq!(none.code, 2, "{}", none.stderr);
    assert!(none.stderr.contains("no source to read"), "{}", none.stderr);
}

#[test]
fn a_proxy_of_the_environment_is_not_asked_for_what_it_is_not_for() {
    let fake = Fake::demo();
    let kubeconfig = fake.kubeconfig().display().to_string();
    let nobody = "http://127.0.0.1:1";
    let run = with_env(
        &["ps"],
        &[
            ("KUBECONFIG", &kubeconfig),
            ("HTTPS_PROXY", nobody),
            ("HTTP_PROXY", nobody),
        ],
    );
    assert_eq!(
        run.code, 0,
        "a server on loopback needs no proxy: {}",
        run.stderr
    );
    let text = std::fs::read_to_string(fake.kubeconfig()).expect("a kubeconfig");
    let named = text.replace(
        &format!("'http://{}'", fake.address),
        "'http://api.invalid:6443'",
    );
    let named = write(fake.folder(), "named", &named);
    let run = with_env(
        &["ps", "--request-timeout", "2s"],
        &[("KUBECONFIG", &named), ("HTTP_PROXY", nobody)],
    );
    assert_eq!(run.code, 3, "{}", run.stderr);
    assert!(
        run.stderr.contains("cannot reach the API server"),
        "{}",
        run.stderr
    );
}

#[test]
fn credentials_that_are_not_accepted_are_told_with_what_to_try() {
    let fake = Fake::demo();
    fake.state.expect_token("another");
    let run = with_env(
        &["check"],
        &[("KUBECONFIG", &fake.kubeconfig().display().to_string())],
    );
    assert_eq!(run.code, 4, "{}", run.stderr);
    assert!(
        run.stderr.contains("does not accept the credentials")
            && run.stderr.contains("hint: log in"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains(TOKEN));
}

/// An unsigned token that is good until then.
fn id_token(until: u64) -> String {
    use base64::Engine;
    let code = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    format!(
        "{}.{}.c2ln",
        code(r#"{"alg":"RS256"}"#),
        code(&format!("{{\"exp\":{until}}}"))
    )
}

fn of_provider(fake: &Fake, name: &str, config: &str) -> String {
    let text = std::fs::read_to_string(fake.kubeconfig()).expect("a kubeconfig");
    let provider = format!("auth-provider: {{name: oidc, config: {{{config}}}}}");
    write(
        fake.folder(),
        name,
        &text.replace(&format!("token: {TOKEN}"), &provider),
    )
}

/// An issuer that gives this token for the refresh token `hunter2-refresh`, behind TLS.
fn issuer(token: String) -> (Wire, tokio::runtime::Runtime) {
    let about = |headers: HeaderMap| async move {
        let host = headers["host"].to_str().expect("text").to_owned();
        serde_json::json!({"token_endpoint": format!("https://{host}/token")}).to_string()
    };
    let give = move |body: String| async move {
        assert!(
            body.contains("grant_type=refresh_token") && body.contains("hunter2-refresh"),
            "{body}"
        );
        serde_json::json!({ "id_token": token }).to_string()
    };
    let routes = Router::new()
        .route("/.well-known/openid-configuration", get(about))
        .route("/token", post(give));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a thread");
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    runtime.spawn(async move { axum::serve(listener, routes).await });
    (Wire::tls(address, false), runtime)
}

#[test]
fn an_id_token_that_is_over_is_renewed_with_its_refresh_token() {
    let fake = Fake::demo();
    let (old, new) = (id_token(1_000_000_000), id_token(4_102_444_800));
    fake.state.expect_token(&new);
    let (issuer, _runtime) = issuer(new);
    let config = format!(
        "id-token: {old}, client-id: x, client-secret: y, refresh-token: hunter2-refresh, idp-issuer-url: 'https://{}'",
        issuer.address
    );
    let kubeconfig = of_provider(&fake, "oidc", &config);
    let roots = pem("ca.pem").display().to_string();
    let run = with_env(
        &["ps"],
        &[("KUBECONFIG", &kubeconfig), ("SSL_CERT_FILE", &roots)],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
}

#[test]
fn an_id_token_that_is_over_and_cannot_be_renewed_is_told_as_that() {
    let fake = Fake::demo();
    let old = id_token(1_000_000_000);
    let issuer = "idp-issuer-url: 'https://127.0.0.1:1', client-id: x";
    for (config, why) in [
        (
            format!("id-token: {old}, {issuer}"),
            "ID token expired and refreshing is not possible: missing field refresh-token",
        ),
        (
            format!(
                "id-token: {old}, {issuer}, client-secret: hunter2, refresh-token: hunter2-refresh"
            ),
            "ID token expired and refreshing failed: ",
        ),
    ] {
        let kubeconfig = of_provider(&fake, "oidc", &config);
        let run = with_env(&["ps"], &[("KUBECONFIG", &kubeconfig)]);
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(
            run.stderr.contains(&format!(
                "cannot use the credentials of context fake: OIDC: {why}"
            )),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr.contains("hint: log in again") && !run.stderr.contains("hunter2"),
            "{}",
            run.stderr
        );
        assert!(!run.stderr.contains(&old));
    }
    assert_eq!(
        fake.state.requests(),
        Vec::<String>::new(),
        "nobody is asked without credentials"
    );
}

#[test]
fn several_clusters_are_one_bundle_that_answers_like_them() {
    let fake = Fake::demo();
    let kubeconfig = fake
        .write_kubeconfig("two", &["east", "west"])
        .display()
        .to_string();
    let to = fake.folder().join("both.tar.zst").display().to_string();
    let both = [
        "--kubeconfig",
        &kubeconfig,
        "--context",
        "east",
        "--context",
        "west",
    ];
    let run = with_env(
        &[&["snapshot", &to, "--proxies", "all"][..], &both].concat(),
        &[],
    );
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(
        run.stderr.contains("documents of 26 proxies"),
        "{}",
        run.stderr
    );
    let listed = with_env(&["bundle", "list", &to], &[]);
    assert!(
        listed.stdout.contains("east/k8s/pods.json")
            && listed.stdout.contains("west/k8s/pods.json")
    );
    assert_eq!(with_env(&["bundle", "verify", &to], &[]).code, 0);
    let codes = |run: &Run| {
        let report: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
        let findings = report["findings"].as_array().expect("findings").clone();
        findings
            .iter()
            .map(|finding| format!("{} {}", finding["code"], finding["subject"]))
            .collect::<Vec<_>>()
    };
    let live = with_env(
        &[&["check", "-o", "json", "--proxies", "all"][..], &both].concat(),
        &[],
    );
    let loaded = with_env(&["check", "-o", "json", "-s", &to], &[]);
    assert_eq!(
        (live.code, codes(&live)),
        (loaded.code, codes(&loaded)),
        "{}",
        live.stderr
    );
}

/// Values that stand in the places where people put them, though they should not.
#[test]
fn no_value_that_was_planted_anywhere_is_in_a_bundle_or_told() {
    let mut state = State::demo();
    let env = serde_json::json!([
        {"name": "DB_PASSWORD", "value": "hunter2-env"}, {"name": "SMTP_PW", "value": "hunter2-pw"},
        {"name": "REDIS_AUTH", "value": "hunter2-auth"}, {"name": "HOOK", "value": "https://hooks.slack.com/services/T0123ABCD/B0456EFGH/hunter2hunter2hunter2"},
        {"name": "DSN", "value": "postgres://app:hunter2-url@db/x"},
    ]);
    let args = serde_json::json!([
        "--password=hunter2-arg",
        "--token",
        "hunter2-token1",
        "curl -u bob:hunter2-curl http://x"
    ]);
    let command = serde_json::json!(["curl", "-u", "bob:hunter2-list", "http://x"]);
    let applied =
        serde_json::json!({"spec": {"containers": [{"env": env, "args": args, "command": command}]}}).to_string();
    for kind in ["pods", "deployments.apps"] {
        for item in state.objects.get_mut(kind).expect("a kind of the capture") {
            item["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] =
                serde_json::json!(applied);
            let path = if kind == "pods" {
                "/spec/containers/0"
            } else {
                "/spec/template/spec/containers/0"
            };
            let container = item.pointer_mut(path).expect("a container");
            (container["env"], container["args"], container["command"]) =
                (env.clone(), args.clone(), command.clone());
        }
    }
    for map in state
        .objects
        .get_mut("configmaps")
        .expect("a kind of the capture")
    {
        map["data"]["extra"] = serde_json::json!(
            "headers:\n  Authorization: Bearer hunter2-0123456789abcdef\npassword: hunter2-map\n"
        );
    }
    for log in files_below(&state.root.join("logs")) {
        let text = std::fs::read_to_string(&log).expect("a log");
        let line = "2026-11-15T06:30:43Z warn authorization: Basic aHVudGVyMjpodW50ZXIy Authorization: Bearer hunter2-0123456789abc password=hunter2-log\n";
        std::fs::write(log, text + line).expect("ours");
    }
    let fake = Fake::with(state);
    let kubeconfig = fake.kubeconfig().display().to_string();
    let to = fake.folder().join("mesh").display().to_string();
    for words in [
        &["snapshot", &to, "--proxies", "all", "--logs", "all"][..],
        &["check", "-v"],
        &["check", "-o", "json"],
    ] {
        let run = with_env(&[words, &["--kubeconfig", &kubeconfig]].concat(), &[]);
        assert!(run.code < 6, "{}", run.stderr);
        assert!(
            !is_in(&run.stdout) && !is_in(&run.stderr),
            "{words:?}: {}{}",
            run.stdout,
            run.stderr
        );
    }
    let files = files_below(Path::new(&to));
    assert!(files.len() > 100);
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(&file).expect("a file")).into_owned();
        let line = text.lines().find(|line| is_in(line)).map(str::to_owned);
        assert_eq!(line, None, "{}", file.display());
    }
}

fn is_in(text: &str) -> bool {
    ["hunter2", "aHVudGVyMj", TOKEN]
        .iter()
        .any(|secret| text.contains(secret))
}

/// Every file below a folder.
fn files_below(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}
