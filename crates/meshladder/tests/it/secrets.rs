//! No secret that is planted in a document comes out anywhere: in no listing, no format, no bundle.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::meshladder;

/// Every secret holds this word, so that one search finds them all; a base64 form is searched for
/// beside it.
const MARK: &str = "hunter2";

/// `-----BEGIN PRIVATE KEY-----\nhunter2hunter2\n-----END PRIVATE KEY-----\n` in base64.
const KEY_BASE64: &str =
    "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCmh1bnRlcjJodW50ZXIyCi0tLS0tRU5EIFBSSVZBVEUgS0VZLS0tLS0K";

/// A token whose three parts are base64url; the payload says `{"sub":"hunter2"}`.
const JWT: &str =
    "eyJhbGciOiJSUzI1NiIsImtpZCI6InRlc3QifQ.eyJzdWIiOiJodW50ZXIyIn0.aHVudGVyMmh1bnRlcjJodW50ZXIy";

/// What must be nowhere.
const FORBIDDEN: [&str; 4] = [
    MARK,
    "aHVudGVyM",
    "eyJzdWIiOiJodW50ZXIyIn0",
    "Cmh1bnRlcjJodW50ZXIyCi0",
];

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, text).expect("a file");
}

/// A bundle with a secret of every kind in every kind of document.
fn plant(folder: &Path) {
    let pem = "-----BEGIN PRIVATE KEY-----\\nhunter2hunter2\\n-----END PRIVATE KEY-----\\n";
    let url = "https://user:hunter2hunter2@host.example/x";
    let bearer = "Bearer hunter2hunter2hunter2";
    let applied =
        r#"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"p\":\"aHVudGVyMmh1bnRlcjI=\"}}"#;
    let env = r#"{"name":"DB_PASSWORD","value":"hunter2"},{"name":"API_TOKEN","value":"hunter2"}"#;
    write(
        folder,
        "k8s/secrets.json",
        &format!(
            r#"{{"apiVersion":"v1","kind":"List","items":[{{"apiVersion":"v1","kind":"Secret","type":"Opaque","metadata":{{"name":"s","namespace":"shop",
        "annotations":{{"kubectl.kubernetes.io/last-applied-configuration":"{applied}"}}}},
        "data":{{"p":"aHVudGVyMmh1bnRlcjI=","tls.key":"{KEY_BASE64}"}},"stringData":{{"q":"hunter2"}}}}]}}"#
        ),
    );
    write(
        folder,
        "k8s/pods.json",
        &format!(
            r#"{{"kind":"List","items":[{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"a","namespace":"shop","annotations":{{"note":"{url}",
        "kubectl.kubernetes.io/last-applied-configuration":"{{\"spec\":{{\"env\":[{{\"name\":\"DB_PASSWORD\",\"value\":\"hunter2\"}}]}}}}"}}}},
        "spec":{{"containers":[{{"name":"c","args":["--password=hunter2"],"env":[{env},{{"name":"JWT","value":"{JWT}"}}]}}]}}}}]}}"#
        ),
    );
    write(
        folder,
        "k8s/configmaps.json",
        &format!(
            r#"{{"kind":"List","items":[{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"c","namespace":"shop"}},
        "data":{{"key.pem":"{pem}","url":"{url}","header":"authorization: {bearer}"}}}}]}}"#
        ),
    );
    write(
        folder,
        "k8s/mine.yaml",
        &format!(
            "apiVersion: v1\nkind: Secret\nmetadata: {{name: y, namespace: shop}}\nstringData:\n  plain: hunter2\n  block: |\n    hunter2\n    hunter2\n  flow: {{a: hunter2}}\ndata: {{b: aHVudGVyMmh1bnRlcjI=}}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: z}}\ndata:\n  key: |\n    -----BEGIN RSA PRIVATE KEY-----\n    hunter2hunter2\n    -----END RSA PRIVATE KEY-----\n  url: {url}\n  token: {JWT}\n"
        ),
    );
    let dump = format!(
        r#"{{"configs":[{{"@type":"type.googleapis.com/envoy.admin.v3.BootstrapConfigDump","bootstrap":{{"node":{{"id":"sidecar~1.2.3.4~a.shop~x","metadata":{{"URL":"{url}","T":"{JWT}"}}}}}}}},
        {{"@type":"type.googleapis.com/envoy.admin.v3.ClustersConfigDump","dynamic_active_clusters":[{{"cluster":{{"@type":"c","name":"outbound|80||x","type":"EDS",
          "transport_socket":{{"typed_config":{{"common_tls_context":{{"tls_certificates":[{{"private_key":{{"inline_string":"{pem}"}},"password":{{"inline_string":"hunter2hunter2"}}}}]}}}}}}}}}}]}},
        {{"@type":"type.googleapis.com/envoy.admin.v3.ListenersConfigDump","dynamic_listeners":[{{"name":"l","active_state":{{"listener":{{"name":"l","address":{{"socket_address":{{"address":"0.0.0.0","port_value":80}}}},
          "filter_chains":[{{"filters":[{{"name":"x","typed_config":{{"token_secret":{{"inline_string":"hunter2hunter2"}},"hmac_secret":{{"inline_bytes":"aHVudGVyMmh1bnRlcjI="}}}}}}]}}]}}}}}}]}},
        {{"@type":"type.googleapis.com/envoy.admin.v3.RoutesConfigDump","dynamic_route_configs":[{{"route_config":{{"name":"80","virtual_hosts":[{{"name":"v","domains":["*"],"routes":[{{"match":{{"prefix":"/"}},"route":{{"cluster":"x"}},
          "request_headers_to_add":[{{"header":{{"key":"authorization","value":"{bearer}"}}}}]}}]}}]}}}}]}},
        {{"@type":"type.googleapis.com/envoy.admin.v3.SecretsConfigDump","dynamic_active_secrets":[{{"name":"default","secret":{{"name":"default","tls_certificate":{{"private_key":{{"inline_bytes":"{KEY_BASE64}"}}}}}}}},
          {{"name":"g","secret":{{"name":"g","generic_secret":{{"secret":{{"inline_string":"hunter2hunter2"}}}}}}}}]}}]}}"#
    );
    write(folder, "proxies/shop/a/config_dump.json", &dump);
    write(
        folder,
        "proxies/shop/a/clusters.json",
        &format!(
            r#"{{"cluster_statuses":[{{"name":"{url}","host_statuses":[{{"address":{{"socket_address":{{"address":"1.2.3.4","port_value":80}}}},"hostname":"{JWT}","health_status":{{"eds_health_status":"HEALTHY"}}}}]}}]}}"#
        ),
    );
    write(
        folder,
        "proxies/shop/a/server_info.json",
        &format!(r#"{{"command_line_options":{{"x":"--token={JWT}"}}}}"#),
    );
    write(
        folder,
        "proxies/shop/a/stats.txt",
        &format!("a.b: 1\nc: \"{bearer}\"\n"),
    );
    write(
        folder,
        "proxies/shop/a/logging.txt",
        &format!("active loggers:\n  {bearer}: warning\n"),
    );
    write(
        folder,
        "istiod/istiod-1/debug/syncz.json",
        &format!(r#"[{{"proxy":"a.shop","cluster_id":"{url}","istio_version":"{JWT}"}}]"#),
    );
    write(
        folder,
        "logs/shop/a/istio-proxy.log",
        &format!(
            "[2026-11-15T06:30:00.000Z] \"GET /x?access_token=hunter2hunter2 HTTP/1.1\" 200 - via_upstream\nauthorization: {bearer}\n{url}\n{JWT}\n"
        ),
    );
}

fn assert_clean(what: &str, text: &str) {
    for secret in FORBIDDEN {
        assert!(!text.contains(secret), "{what} shows {secret}: {text}");
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn planted_secrets_are_in_no_output_and_in_no_bundle() {
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = folder.path().join("planted");
    plant(&bundle);
    let source = bundle.display().to_string();
    for command in [
        "ps",
        "ps -o json",
        "ps -o yaml",
        "pc all",
        "pc all -o json",
        "pc all -o yaml",
        "pc bootstrap",
        "pc bootstrap -o yaml",
        "pc cluster -o wide",
        "pc cluster -o json",
        "pc cluster -o yaml",
        "pc listener -o json",
        "pc listener -o yaml",
        "pc route -o json",
        "pc route -o wide",
        "pc secret",
        "pc secret -o json",
        "pc secret -o yaml",
        "pc endpoint",
        "pc endpoint -o wide",
        "pc endpoint -o json",
        "pc log",
        "bundle list",
        "bundle list -o json",
        "bundle verify",
    ] {
        let mut words: Vec<&str> = command.split(' ').collect();
        words.extend(["-s", &source]);
        let run = meshladder(&words);
        assert!(matches!(run.code, 0 | 3), "{command}: {run:?}");
        assert_clean(command, &run.stdout);
        assert_clean(command, &run.stderr);
    }
    let packed = folder.path().join("packed");
    let run = meshladder(&[
        "bundle",
        "pack",
        &packed.display().to_string(),
        "-s",
        &source,
    ]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    let written = files(&packed);
    assert!(written.len() >= 12, "{written:?}");
    for file in written {
        assert_clean(
            &file.display().to_string(),
            &String::from_utf8_lossy(&fs::read(&file).expect("a file")),
        );
    }
    let verified = meshladder(&["bundle", "verify", &packed.display().to_string()]);
    assert_eq!(
        verified.code, 0,
        "what was packed has no secret: {}",
        verified.stderr
    );
}

#[test]
fn the_planted_secrets_are_really_there_before() {
    let folder = tempfile::tempdir().expect("a folder");
    plant(folder.path());
    for file in files(folder.path()) {
        let text = fs::read_to_string(&file).expect("text");
        assert!(
            FORBIDDEN.iter().any(|secret| text.contains(secret)),
            "{} has no secret to find",
            file.display()
        );
    }
}
