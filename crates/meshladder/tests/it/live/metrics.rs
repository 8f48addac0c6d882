//! Prometheus inside the cluster, reached through the API server.

use std::net::SocketAddr;

use serde_json::{Value, json};

use super::on;
use crate::fake::{Fake, Fault, State, TOKEN, Trouble};
use crate::monitor::server::{Once, Prometheus, Series};
use crate::support::meshladder;

fn address(url: &str) -> SocketAddr {
    url.trim_start_matches("http://")
        .parse()
        .expect("an address")
}

/// The demo with Prometheus in a namespace of its own, where the usual installation has it.
fn with_prometheus(url: &str) -> State {
    let mut state = State::demo();
    let service = |name: &str, labels: Value| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "monitoring", "labels": labels},
            "spec": {"ports": [{"name": "http-web", "port": 9090}]}})
    };
    let services = state.objects.entry("services".to_owned()).or_default();
    services.push(service(
        "prometheus-operated",
        json!({"operated-prometheus": "true"}),
    ));
    services.push(service(
        "prometheus-server",
        json!({"app.kubernetes.io/name": "prometheus"}),
    ));
    state
        .real
        .insert("monitoring/prometheus-server:9090".to_owned(), address(url));
    state
}

fn calls(version: &str, per_minute: f64) -> Series {
    let labels = format!(
        "reporter=\"source\",source_workload=\"frontend\",source_workload_namespace=\"shop\",destination_service_namespace=\"shop\",destination_service_name=\"catalog\",destination_version=\"{version}\",response_code=\"200\",response_flags=\"-\""
    );
    Series {
        labels,
        per_minute: [Some(per_minute); 3],
    }
}

#[test]
fn prometheus_is_found_in_the_cluster_and_asked_through_the_api_server() {
    let prometheus = Prometheus::with(&[calls("v1", 100.0)]);
    let fake = Fake::with(with_prometheus(&prometheus.url));
    for place in [
        &["--prometheus"][..],
        &["--prometheus", "auto"],
        &["--prometheus", "service/monitoring/prometheus-server"],
    ] {
        let run = on(&fake, &[&["flags", "--by", "destination"], place].concat());
        assert_eq!(run.code, 0, "{place:?}: {}", run.stderr);
        assert!(run.stdout.contains("catalog"), "{}", run.stdout);
    }
    let told = on(&fake, &["flags", "--prometheus"]).stderr;
    let found = "asking service/monitoring/prometheus-server:9090; there are also service/monitoring/prometheus-operated:9090";
    assert!(told.contains(found), "{told}");
    // With a port nothing is looked up.
    let before = fake.state.requests().len();
    let direct = [
        "flags",
        "--prometheus",
        "service/monitoring/prometheus-server:9090",
        "--query",
        "vector(7)",
    ];
    let run = on(&fake, &direct);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "VALUE  SERIES\n7      {}\n"),
        "{}",
        run.stderr
    );
    assert!(
        !fake
            .state
            .requests()
            .split_off(before)
            .iter()
            .any(|line| line.contains("services?"))
    );
}

#[test]
fn what_has_the_api_below_a_path_is_asked_there() {
    let mimir = json!({"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"name": "http-metric", "port": 80}]},
        "metadata": {"name": "mimir-nginx", "namespace": "metrics",
            "labels": {"app.kubernetes.io/name": "mimir", "app.kubernetes.io/component": "nginx"}}});
    let vector =
        "{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\",\"result\":[1,\"7\"]}}";
    for (place, path) in [
        ("auto", "/prometheus/api/v1/query?"),
        ("service/metrics/mimir-nginx", "/prometheus/api/v1/query?"),
        (
            "service/metrics/mimir-nginx:80/other/path",
            "/other/path/api/v1/query?",
        ),
    ] {
        let server = Once::answering(format!("HTTP/1.0 200 OK\r\n\r\n{vector}"));
        let mut state = State::demo();
        state
            .objects
            .entry("services".to_owned())
            .or_default()
            .push(mimir.clone());
        state
            .real
            .insert("metrics/mimir-nginx:80".to_owned(), address(&server.url));
        let run = on(
            &Fake::with(state),
            &["flags", "--query", "vector(7)", "--prometheus", place],
        );
        assert_eq!(run.code, 0, "{place}: {}", run.stderr);
        let request = server.request();
        assert!(
            request.starts_with(&format!("GET {path}")),
            "{place}: {request}"
        );
    }
}

#[test]
fn what_stands_between_is_told_apart_from_what_prometheus_says() {
    let service = "service/monitoring/prometheus-server:9090";
    let ask = |fake: &Fake, place: &str| {
        on(
            fake,
            &[
                "flags",
                "--query",
                "up",
                "--timeout",
                "2s",
                "--prometheus",
                place,
            ],
        )
    };
    let bad = "{\"status\":\"error\",\"errorType\":\"execution\",\"error\":\"too many samples\"}";
    let server = Once::answering(format!("HTTP/1.0 422 Unprocessable Entity\r\n\r\n{bad}"));
    let mut state = with_prometheus(&server.url);
    let fake = Fake::with(state);
    let told = on(
        &fake,
        &[
            "flags",
            "--query",
            "up",
            "--prometheus",
            service,
            "--tenant",
            "shop",
        ],
    );
    assert!(
        told.code == 3 && told.stderr.contains("execution: too many samples"),
        "{}",
        told.stderr
    );
    assert!(server.request().contains("x-scope-orgid: shop"));
    let gone = ask(&fake, "service/monitoring/prometheus-operated:9090");
    assert!(
        gone.code == 3 && gone.stderr.contains("no endpoints available"),
        "{}",
        gone.stderr
    );
    fake.state.fault(Fault::always(
        "/services/prometheus-server",
        Trouble::Silence,
    ));
    let late = ask(&fake, service);
    assert!(
        late.code == 3 && late.stderr.contains("did not answer within 2 s"),
        "{}",
        late.stderr
    );
    let token = on(
        &fake,
        &[
            "flags",
            "--query",
            "up",
            "--prometheus",
            service,
            "--header",
            "Authorization: x",
        ],
    );
    assert!(
        token.code == 2 && token.stderr.contains("is no header"),
        "{}",
        token.stderr
    );

    state = State::demo().deny(&[
        "get services/proxy",
        "list services in all",
        "list services in shop",
        "list services in istio-system",
    ]);
    let fake = Fake::with(state);
    let refused = ask(&fake, service);
    assert_eq!(refused.code, 4);
    assert!(
        refused
            .stderr
            .contains("no right to get services/proxy in namespace monitoring"),
        "{}",
        refused.stderr
    );
    let auto = ask(&fake, "auto");
    assert!(
        auto.code == 4 && auto.stderr.contains("no right to list services"),
        "{}",
        auto.stderr
    );
    let none = ask(&Fake::demo(), "auto");
    assert!(
        none.code == 3 && none.stderr.contains("no Service looks like Prometheus"),
        "{}",
        none.stderr
    );
    for run in [&refused, &auto, &late] {
        assert!(!run.stderr.contains(TOKEN), "{}", run.stderr);
    }
}

/// The demo's canary gets nothing, for a reason that `why` finds.
#[test]
fn weights_come_from_the_cluster_and_nothing_to_a_version_leads_into_why() {
    let prometheus = Prometheus::with(&[calls("v1", 100.0)]);
    let fake = Fake::with(with_prometheus(&prometheus.url));
    let run = on(
        &fake,
        &[
            "canary",
            "--service",
            "catalog",
            "--window",
            "10m",
            "--prometheus",
        ],
    );
    assert_eq!(run.code, 1, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stdout
            .contains("differs from the weights of VirtualService shop/catalog"),
        "{}",
        run.stdout
    );
    assert!(
        run.stdout.contains("v2 gets nothing: meshladder why") && run.stdout.contains("ML0401"),
        "{}",
        run.stdout
    );
    let mut state = with_prometheus(&prometheus.url);
    state.objects.remove("virtualservices.networking.istio.io");
    let none = on(
        &Fake::with(state),
        &["canary", "--service", "catalog", "--prometheus", "auto"],
    );
    assert!(
        none.code == 2 && none.stderr.contains("no VirtualService and no HTTPRoute"),
        "{}",
        none.stderr
    );
    let state =
        with_prometheus(&prometheus.url).deny(&["list virtualservices.networking.istio.io"]);
    let refused = on(
        &Fake::with(state),
        &["canary", "--service", "catalog", "--prometheus", "auto"],
    );
    assert!(
        refused
            .stderr
            .contains("no right to list virtualservices.networking.istio.io"),
        "{}",
        refused.stderr
    );
}

#[test]
fn every_context_that_is_named_is_asked() {
    let prometheus = Prometheus::with(&[calls("v1", 100.0)]);
    let fake = Fake::with(with_prometheus(&prometheus.url));
    let path = fake.write_kubeconfig("two", &["east", "west"]);
    let text = std::fs::read_to_string(&path).expect("a kubeconfig");
    let gone = "clusters:\n- name: gone\n  cluster: {server: 'http://127.0.0.1:1'}\n";
    let text = text.replace("clusters:\n", gone)
        + "- name: gone\n  context: {cluster: gone, user: fake}\n";
    std::fs::write(&path, text).expect("a kubeconfig");
    let path = path.display().to_string();
    let ask = |words: &[&str], contexts: &[&str]| {
        let contexts = contexts
            .iter()
            .flat_map(|name| ["--context", name])
            .collect::<Vec<_>>();
        meshladder(
            &[
                words,
                &["--kubeconfig", &path, "--prometheus", "auto"],
                &contexts,
            ]
            .concat(),
        )
    };
    let both = ask(
        &["flags", "--query", "vector(7)", "-o", "json"],
        &["east", "west"],
    );
    let told: Vec<Value> = both
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(both.code, 0, "{}", both.stderr);
    assert_eq!(
        told.iter().map(|one| &one["context"]).collect::<Vec<_>>(),
        ["east", "west"]
    );
    let rates = ask(&["flags", "--by", "destination"], &["east", "gone", "west"]);
    assert_eq!(
        (rates.code, rates.stdout.matches("catalog").count()),
        (3, 2),
        "{}{}",
        rates.stdout,
        rates.stderr
    );
    assert!(
        rates.stdout.starts_with("context east\n\n")
            && rates.stdout.contains("\n\ncontext west\n\n")
    );
    assert!(
        rates
            .stderr
            .contains("context gone: cannot reach the API server"),
        "{}",
        rates.stderr
    );
    let canary = ask(
        &["canary", "--service", "catalog", "-n", "shop", "-o", "json"],
        &["east", "west"],
    );
    assert_eq!(
        (canary.code, canary.stdout.lines().count()),
        (1, 2),
        "{}",
        canary.stderr
    );
}
