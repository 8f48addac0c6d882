//! Every way to an API server and to be known there, as kubectl knows them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use meshladder_capture::snapshot::Need;
use meshladder_collect::CollectError;
use meshladder_collect::live::{Access, Limits, Session, Tally, Wish};

use super::{quick, whole};
use crate::fake::{Fake, Fault, State, TOKEN, Trouble};
use crate::support::coverage;
use crate::wire::{Wire, pem};

/// A kubeconfig of one cluster and one user, each as inline YAML.
fn kubeconfig(fake: &Fake, cluster: &str, user: &str) -> Access {
    let text = format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\nclusters: [{{name: c, cluster: {{{cluster}}}}}]\nusers: [{{name: u, user: {{{user}}}}}]\ncontexts: [{{name: here, context: {{cluster: c, user: u, namespace: ''}}}}]\n"
    );
    super::write(fake, "made", &text)
}

fn connect(access: &Access) -> Result<Session, CollectError> {
    Session::connect(access, quick(), Arc::new(Tally::default()))
}

/// Reads something, over requests and a forwarded port.
fn works(access: &Access) {
    let mut session = connect(access).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(session.namespace(), "default");
    reads(&mut session);
}

fn reads(session: &mut Session) {
    let needs = ["k8s/services.json", "k8s/pods.json", "istiod/"]
        .map(Need::of_path)
        .into();
    let snapshot = session
        .objects(&Wish {
            needs,
            ..Wish::default()
        })
        .expect("it is small");
    assert_eq!(
        (
            coverage(&snapshot, "k8s/services.json"),
            coverage(&snapshot, "istiod/")
        ),
        ("complete", "complete")
    );
}

fn fails(access: &Access) -> CollectError {
    connect(access).expect_err("it cannot connect")
}

fn server(wire: &Wire) -> String {
    format!(
        "server: 'https://{}', certificate-authority: '{}'",
        wire.address,
        pem("ca.pem").display()
    )
}

fn by_certificate() -> String {
    format!(
        "client-certificate: '{}', client-key: '{}'",
        pem("client.pem").display(),
        pem("client.key.pem").display()
    )
}

fn open_to_all() -> Fake {
    let mut state = State::demo();
    state.is_open = true;
    Fake::with(state)
}

#[test]
fn every_request_says_who_asks() {
    let fake = Fake::demo();
    whole(&fake, quick());
    let agents = fake.state.agents.lock().expect("nobody panicked");
    let ours = concat!("meshladder/", env!("CARGO_PKG_VERSION"));
    assert_eq!(agents.iter().collect::<Vec<_>>(), [ours]);
}

#[test]
fn a_client_certificate_is_shown_to_who_wants_one() {
    let fake = open_to_all();
    let wire = Wire::tls(fake.address, true);
    works(&kubeconfig(&fake, &server(&wire), &by_certificate()));
    let without = fails(&kubeconfig(
        &fake,
        &server(&wire),
        &format!("token: {TOKEN}"),
    ));
    assert!(
        matches!(without, CollectError::Unauthorized { .. }),
        "{without}"
    );
    assert!(
        without.to_string().contains("CertificateRequired") && !without.to_string().contains(TOKEN),
        "{without}"
    );
}

#[test]
fn a_server_with_a_certificate_of_somebody_else_is_not_talked_to() {
    let fake = Fake::demo();
    let wire = Wire::tls(fake.address, false);
    let user = format!("token: {TOKEN}");
    works(&kubeconfig(&fake, &server(&wire), &user));
    let other = server(&wire).replace("ca.pem", "other-ca.pem");
    let error = fails(&kubeconfig(&fake, &other, &user));
    assert!(
        matches!(error, CollectError::Unreachable { .. })
            && error.to_string().contains("certificate"),
        "{error}"
    );
    assert!(
        error.hint().contains("certificate-authority"),
        "{}",
        error.hint()
    );
    assert_eq!(
        fake.state
            .requests()
            .iter()
            .filter(|line| *line == "GET /version")
            .count(),
        1,
        "no token was sent"
    );
    let unchecked = format!(
        "server: 'https://{}', insecure-skip-tls-verify: true",
        wire.address
    );
    works(&kubeconfig(&fake, &unchecked, &user));
    works(&kubeconfig(
        &fake,
        &format!("{}, tls-server-name: fake.example", server(&wire)),
        &user,
    ));
    fails(&kubeconfig(
        &fake,
        &format!("{}, tls-server-name: other.example", server(&wire)),
        &user,
    ));
}

#[test]
fn a_token_file_is_read_again_when_its_token_is_refused() {
    let fake = Fake::demo();
    let path = file(&fake, "token", &format!("{TOKEN}\n"));
    let access = kubeconfig(
        &fake,
        &plain(&fake),
        &format!("tokenFile: '{}'", path.display()),
    );
    let mut session = connect(&access).unwrap_or_else(|error| panic!("{error}"));
    file(&fake, "token", "the-next-token");
    fake.state.expect_token("the-next-token");
    reads(&mut session);
}

#[test]
fn a_plugin_is_run_once_and_again_when_its_token_is_refused() {
    let fake = Fake::demo();
    let (plugin, runs) = plugin(&fake, r#""token":"'$(cat "$TOKEN_FILE")'""#);
    let token = file(&fake, "token", TOKEN);
    let env = format!("env: [{{name: TOKEN_FILE, value: '{}'}}]", token.display());
    let user = format!(
        "exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: IfAvailable, command: sh, args: ['{}'], {env}}}",
        plugin.display()
    );
    let mut session =
        connect(&kubeconfig(&fake, &plain(&fake), &user)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(count(&runs), 1);
    reads(&mut session);
    file(&fake, "token", "the-next-token");
    fake.state.expect_token("the-next-token");
    reads(&mut session);
    assert_eq!(
        count(&runs),
        2,
        "however many requests were refused at once"
    );
    // Neither what it gave nor what it would give counts: that is found out once.
    fake.state.expect_token("a-token-nobody-has");
    let needs = ["k8s/services.json", "k8s/pods.json"]
        .map(Need::of_path)
        .into();
    let snapshot = session
        .objects(&Wish {
            needs,
            ..Wish::default()
        })
        .expect("it is small");
    assert_eq!(coverage(&snapshot, "k8s/pods.json"), "denied");
    assert_eq!(count(&runs), 3);
}

#[test]
fn a_plugin_may_give_a_certificate() {
    let fake = open_to_all();
    let wire = Wire::tls(fake.address, true);
    let one_line = |name: &str| {
        std::fs::read_to_string(pem(name))
            .expect("a file")
            .replace('\n', "\\n")
    };
    let (certificate, key) = (one_line("client.pem"), one_line("client.key.pem"));
    let (plugin, _) = plugin(
        &fake,
        &format!(r#""clientCertificateData":"{certificate}","clientKeyData":"{key}""#),
    );
    works(&kubeconfig(
        &fake,
        &server(&wire),
        &format!("exec: {{command: sh, args: ['{}']}}", plugin.display()),
    ));
}

#[test]
fn a_plugin_that_fails_is_told_without_what_it_printed() {
    let fake = Fake::demo();
    let table = [
        (
            "echo hunter2-half-a-token; exit 3",
            "failed: exit status: 3",
        ),
        ("echo hunter2-half-a-token", "printed no ExecCredential"),
        (
            r#"echo '{"status":{"hunter2":1}}'"#,
            "printed neither a token nor a certificate",
        ),
    ];
    for (script, expected) in table {
        let path = script_file(&fake, script);
        let error = fails(&kubeconfig(
            &fake,
            &plain(&fake),
            &format!("exec: {{command: sh, args: ['{}']}}", path.display()),
        ));
        assert!(matches!(error, CollectError::Credentials { .. }), "{error}");
        assert!(
            error.to_string().contains(expected) && !error.to_string().contains("hunter2"),
            "{error}"
        );
    }
    let user = "exec: {command: no-such-plugin-anywhere, installHint: get it from the vendor}";
    let error = fails(&kubeconfig(&fake, &plain(&fake), user)).to_string();
    assert!(
        error.contains("cannot be started") && error.contains("get it from the vendor"),
        "{error}"
    );
    let always = "exec: {command: 'true', interactiveMode: Always, args: [x]}";
    let _ = connect(&kubeconfig(&fake, &plain(&fake), always))
        .expect_err("it prints nothing, or may not ask");
}

#[test]
fn a_plugin_that_never_ends_is_ended_with_our_time() {
    let fake = Fake::demo();
    let id = fake.folder().join("process");
    let path = script_file(
        &fake,
        &format!("echo $$ > '{}'; exec sleep 600", id.display()),
    );
    let access = kubeconfig(
        &fake,
        &plain(&fake),
        &format!("exec: {{command: sh, args: ['{}']}}", path.display()),
    );
    let start = Instant::now();
    let limits = Limits {
        timeout: Duration::from_secs(2),
        ..quick()
    };
    let error = Session::connect(&access, limits, Arc::new(Tally::default()))
        .expect_err("it cannot connect");
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
    assert!(
        error
            .to_string()
            .contains("did not end before --timeout was over"),
        "{error}"
    );
    let process = std::fs::read_to_string(id).expect("the plugin was started");
    assert!(
        !Path::new("/proc").join(process.trim()).exists(),
        "the plugin still runs"
    );
}

#[test]
fn a_proxy_of_the_kubeconfig_is_used_for_requests_and_forwarded_ports() {
    let fake = Fake::demo();
    let tls = Wire::tls(fake.address, false);
    for (scheme, proxy) in [
        ("http", Wire::http_proxy()),
        ("socks5", Wire::socks_proxy()),
    ] {
        let cluster = format!(
            "{}, proxy-url: '{scheme}://{}'",
            server(&tls),
            proxy.address
        );
        works(&kubeconfig(&fake, &cluster, &format!("token: {TOKEN}")));
        assert!(proxy.used.load(Ordering::SeqCst) >= 2, "{scheme}");
    }
    let cluster = format!("{}, proxy-url: 'http://127.0.0.1:1'", server(&tls));
    let error = fails(&kubeconfig(&fake, &cluster, &format!("token: {TOKEN}")));
    assert!(matches!(error, CollectError::Unreachable { .. }), "{error}");
}

#[test]
fn an_id_token_of_a_provider_is_sent_while_it_is_good() {
    use base64::Engine;
    let code = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    let token = format!(
        "{}.{}.c2ln",
        code(r#"{"alg":"RS256"}"#),
        code(r#"{"exp":4102444800}"#)
    );
    let fake = Fake::demo();
    fake.state.expect_token(&token);
    let config =
        format!("id-token: {token}, client-id: x, idp-issuer-url: 'https://issuer.example'");
    works(&kubeconfig(
        &fake,
        &plain(&fake),
        &format!("auth-provider: {{name: oidc, config: {{{config}}}}}"),
    ));
}

#[test]
fn who_brings_no_credentials_is_told_so_and_not_that_a_right_is_missing() {
    let fake = Fake::demo();
    let mut session =
        connect(&kubeconfig(&fake, &plain(&fake), "")).expect("everybody may ask for the version");
    let needs = [Need::of_path("k8s/pods.json")].into();
    let snapshot = session
        .objects(&Wish {
            needs,
            ..Wish::default()
        })
        .expect("it is small");
    assert!(super::why(&snapshot, "k8s/pods.json").contains("system:anonymous"));
}

#[test]
fn a_page_to_sign_in_is_no_api_server() {
    let fake = Fake::demo();
    fake.state.fault(Fault::always("/version", Trouble::Html));
    let error = fails(&super::access(&fake));
    assert!(
        matches!(error, CollectError::Unreachable { .. }) && error.to_string().contains("Sign in"),
        "{error}"
    );
}

#[test]
fn who_may_not_act_as_somebody_is_told_so_at_once() {
    let fake = Fake::with(State::demo().deny(&["impersonate users"]));
    let access = Access {
        impersonate: Some("oncall".to_owned()),
        ..super::access(&fake)
    };
    let error = fails(&access);
    assert!(
        matches!(error, CollectError::Unauthorized { .. }),
        "{error}"
    );
    assert!(
        error.to_string().contains("cannot impersonate") && error.hint().contains("--as"),
        "{error}"
    );
    let fake = Fake::demo();
    let (impersonate, uid) = (Some("oncall".to_owned()), Some("7".to_owned()));
    connect(&Access {
        impersonate,
        uid,
        groups: vec!["sre".to_owned()],
        ..super::access(&fake)
    })
    .expect("it answers");
    assert_eq!(fake.state.requests(), ["GET /version as oncall with id 7"]);
}

fn plain(fake: &Fake) -> String {
    format!("server: 'http://{}'", fake.address)
}

fn file(fake: &Fake, name: &str, text: &str) -> PathBuf {
    let path = fake.folder().join(name);
    std::fs::write(&path, text).expect("a file");
    path
}

/// A plugin with this status, and the file that has a line for each time it ran.
fn plugin(fake: &Fake, status: &str) -> (PathBuf, PathBuf) {
    let runs = fake.folder().join("runs");
    let text = format!(
        r#"{{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{{{status}}}}}"#
    );
    (
        script_file(
            fake,
            &format!("echo x >> '{}'\nprintf '%s\\n' '{text}'", runs.display()),
        ),
        runs,
    )
}

/// A script for `sh`: were it executed itself, a child that another test is just starting might
/// still hold it open for writing ("text file busy").
fn script_file(fake: &Fake, script: &str) -> PathBuf {
    file(fake, "plugin", &format!("{script}\n"))
}

fn count(runs: &Path) -> usize {
    std::fs::read_to_string(runs)
        .unwrap_or_default()
        .lines()
        .count()
}
