//! `monitor serve`, scraped by a real Prometheus that evaluates our rules.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use meshladder_collect::live::{Purpose, Right};
use meshladder_collect::prometheus::{Client, Credentials};

use super::server::Prometheus;
use super::{program, run};
use crate::expect::root;
use crate::fake::{Fake, Fault, State, Trouble};
use crate::meshes::capture;
use crate::support::meshladder;

/// A running exporter.
struct Exporter {
    child: Child,
    address: String,
}

impl Exporter {
    fn start(source: &Path, words: &[&str]) -> Self {
        Self::reading("-s", source, words)
    }

    /// One that reads a running cluster.
    fn of(fake: &Fake, words: &[&str]) -> Self {
        Self::reading("--kubeconfig", &fake.kubeconfig(), words)
    }

    fn reading(flag: &str, path: &Path, words: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_meshladder"))
            .args([
                "monitor",
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--every",
                "1s",
                flag,
            ])
            .arg(path)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the exporter starts");
        let mut lines = BufReader::new(child.stderr.take().expect("stderr is a pipe")).lines();
        let told = lines
            .find_map(|line| Some(line.ok()?.split_once("http://")?.1.to_owned()))
            .expect("it says where");
        let address = told.split('/').next().expect("an address").to_owned();
        // Whatever else it says must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// Status line and body.
    fn get(&self, path: &str) -> (String, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nhost: test\r\n\r\n").expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        let (head, body) = text.split_once("\r\n\r\n").expect("an answer");
        (
            head.lines().next().unwrap_or_default().to_owned(),
            body.to_owned(),
        )
    }

    /// The metrics once the source has been read.
    fn metrics(&self) -> String {
        self.wait("200");
        self.get("/metrics").1
    }

    /// Waits for a state of health.
    fn wait(&self, status: &str) {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
        while !self.get("/healthz").0.contains(status) {
            assert!(std::time::Instant::now() < deadline, "not {status} in time");
            std::thread::park_timeout(std::time::Duration::from_millis(50));
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("the fixture is there") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).expect("a copy");
        }
    }
}

/// Alerts of that name that fire, as `pod type`; nothing where a busy Prometheus does not say.
fn firing(client: &Client, name: &str) -> Option<Vec<String>> {
    let query = format!("ALERTS{{alertname=\"{name}\",alertstate=\"firing\"}}");
    let answer = client.query(&query).ok()?;
    let mut told: Vec<_> = answer
        .samples
        .iter()
        .map(|s| {
            format!("{} {}", s.label("pod"), s.label("type"))
                .trim()
                .to_owned()
        })
        .collect();
    told.sort();
    Some(told)
}

#[test]
fn a_real_prometheus_scrapes_it_and_the_alerts_fire() {
    let folder = tempfile::tempdir().expect("a folder");
    let bundle = folder.path().join("bundle");
    copy(&root().join("fixtures/meshes/small/bundle"), &bundle);
    let exporter = Exporter::start(&bundle, &[]);
    let rules = meshladder(&["monitor", "rules"]).stdout;
    // Nobody waits ten minutes here.
    let rules: Vec<_> = rules
        .lines()
        .map(|line| {
            if line.trim_start().starts_with("for: ") {
                "    for: 0s"
            } else {
                line
            }
        })
        .collect();
    let config = format!(
        "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [rules.yaml]\nscrape_configs:\n- {{job_name: meshladder, honor_labels: true, static_configs: [{{targets: ['{}']}}]}}\n",
        exporter.address
    );
    let mut prometheus = Prometheus::start("http", &Credentials::default(), &config, |path, _| {
        std::fs::write(path.join("rules.yaml"), rules.join("\n")).expect("the folder takes files");
    });
    let client = prometheus.client();
    let mut expect = |name: &str, told: &[&str]| {
        prometheus.wait(&format!("has {name} fire for {told:?}"), || {
            firing(&client, name).is_some_and(|all| all == told)
        });
    };
    expect("MeshProxyNotInSync", &["cart-69cc797c6b-plkgk RDS"]);
    expect("MeshProxyDisconnected", &["catalog-v1-57b9b45df8-phzdb"]);
    expect("MeshLogLevelDebug", &["curl-5b64d475cf-qzthp"]);
    expect("MeshEndpointsEjected", &["curl-5b64d475cf-qzthp"]);
    expect("MeshRequestMetricsAbsent", &[""]);
    expect("MeshExporterAbsent", &[]);
    // What changes is read again.
    let logging = bundle.join("proxies/tools/curl-5b64d475cf-qzthp/logging.txt");
    std::fs::write(logging, "active loggers:\n  rbac: warning\n")
        .expect("the bundle can be changed");
    expect("MeshLogLevelDebug", &[]);
    std::fs::remove_dir_all(&bundle).expect("the bundle can be removed");
    expect("MeshExporterStale", &[""]);
    assert!(exporter.get("/healthz").0.contains("503"));
    assert!(exporter.get("/metrics").1.contains("meshladder_up 0\n"));
}

#[test]
fn a_cluster_is_read_round_by_round_and_the_last_round_is_kept_when_one_fails() {
    let fake = Fake::demo();
    let exporter = Exporter::of(&fake, &[]);
    let config = format!(
        "global: {{scrape_interval: 1s}}\nscrape_configs:\n- {{job_name: meshladder, honor_labels: true, static_configs: [{{targets: ['{}']}}]}}\n",
        exporter.address
    );
    let mut prometheus = Prometheus::start("http", &Credentials::default(), &config, |_, _| {});
    let client = prometheus.client();
    let mut holds = |query: &str| {
        let is_so = || {
            client
                .query(query)
                .is_ok_and(|answer| !answer.samples.is_empty())
        };
        prometheus.wait(&format!("has {query}"), is_so);
    };
    let stale = "meshladder_proxy_sync{pod=~\"frontend-.*\",type=\"RDS\",state=\"STALE\"} == 1";
    holds(stale);
    holds("meshladder_up == 1 and meshladder_reads_failed_total == 0");
    // A round ends, the next begins: each connects anew.
    holds("changes(meshladder_last_read_timestamp_seconds[1m]) > 0");
    fake.state
        .fault(Fault::always("/version", Trouble::Status(409, None)));
    holds("meshladder_up == 0 and meshladder_reads_failed_total > 1");
    holds(stale);
    holds("time() - meshladder_last_read_timestamp_seconds > 1");
    assert!(exporter.get("/healthz").0.contains("503"));
}

#[test]
fn a_round_that_sees_no_pods_has_failed() {
    let pods = ["in all", "in shop", "in istio-system"].map(|place| format!("list pods {place}"));
    let fake = Fake::with(State::demo().deny(&pods.each_ref().map(String::as_str)));
    let exporter = Exporter::of(&fake, &[]);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
    while exporter
        .get("/metrics")
        .1
        .contains("meshladder_reads_failed_total 0")
    {
        assert!(std::time::Instant::now() < deadline, "no round failed");
        std::thread::park_timeout(std::time::Duration::from_millis(50));
    }
    let (status, metrics) = (exporter.get("/healthz").0, exporter.get("/metrics").1);
    assert!(
        status.contains("503") && metrics.contains("meshladder_up 0\n"),
        "{metrics}"
    );
}

#[test]
fn ctrl_c_while_a_cluster_is_read_ends_the_server() {
    let fake = Fake::demo();
    fake.state
        .fault(Fault::always("/api/v1/pods", Trouble::Silence));
    let mut exporter = Exporter::of(&fake, &["--request-timeout", "10m", "--timeout", "10m"]);
    while !fake
        .state
        .requests()
        .iter()
        .any(|line| line.contains("/api/v1/pods"))
    {
        assert!(
            exporter
                .child
                .try_wait()
                .expect("the child can be asked")
                .is_none(),
            "it ended by itself"
        );
        std::thread::park_timeout(std::time::Duration::from_millis(20));
    }
    let kill = Command::new("kill")
        .args(["-INT", &exporter.child.id().to_string()])
        .status();
    assert!(kill.expect("kill starts").success());
    assert_eq!(exporter.child.wait().expect("it ends").code(), Some(130));
}

/// With the rights that `monitor install` grants, nothing that is asked for is refused.
#[test]
fn the_rights_it_is_installed_with_are_enough() {
    let rights = Purpose::Monitor.rights();
    let mut state = State::demo();
    for kind in state.objects.keys().cloned().collect::<Vec<_>>() {
        for verb in ["list", "get"] {
            let (plural, group) = kind.split_once('.').unwrap_or((&kind, ""));
            let is = |right: &&Right| {
                right.resource == plural && right.group == group && right.verbs.contains(&verb)
            };
            match rights.iter().find(is) {
                None => state = state.deny(&[&format!("{verb} {kind}")]),
                Some(right) if right.in_istio => {
                    state = state.deny(&[
                        &format!("{verb} {kind} in shop"),
                        &format!("{verb} {kind} in all"),
                    ]);
                }
                Some(_) => {}
            }
        }
    }
    let fake = Fake::with(state.deny(&["create pods/exec", "get services/proxy"]));
    let metrics = Exporter::of(&fake, &[]).metrics();
    let unread: Vec<_> = metrics
        .lines()
        .filter(|line| line.starts_with("meshladder_unread{"))
        .collect();
    assert!(
        !unread
            .iter()
            .any(|line| line.contains("\"denied\"") || line.contains("\"partial\"")),
        "{unread:?}"
    );
    assert!(
        !fake
            .state
            .requests()
            .iter()
            .any(|line| line.contains("secrets"))
    );
}

#[test]
fn label_sets_are_bounded_and_what_is_left_out_is_counted() {
    let exporter = Exporter::start(
        &root().join("fixtures/meshes/small/bundle"),
        &["--max-series", "2"],
    );
    let metrics = exporter.metrics();
    let sync: Vec<_> = metrics
        .lines()
        .filter(|line| line.starts_with("meshladder_proxy_sync{"))
        .collect();
    assert!(
        sync.len() == 2 && sync[0].contains("STALE") && sync[1].contains("NOT SENT"),
        "{sync:?}"
    );
    assert!(
        metrics.contains("meshladder_series_dropped{name=\"meshladder_proxy_sync\"} 6\n"),
        "{metrics}"
    );
    assert!(exporter.get("/other").0.contains("404"));
}

#[test]
fn promtool_finds_nothing_wrong_with_the_metrics() {
    let folder = tempfile::tempdir().expect("a folder");
    let exporter = Exporter::start(&root().join("fixtures/meshes/small/bundle"), &[]);
    let path = super::file(&folder, "metrics", &exporter.metrics());
    let mut promtool = program("promtool");
    promtool
        .args(["check", "metrics"])
        .stdin(std::fs::File::open(path).expect("the metrics"));
    assert_eq!(run(promtool), "");
}

/// A healthy mesh has no series that an alert on state would fire for.
#[test]
fn a_healthy_mesh_is_quiet_and_ghosts_are_seen_in_one_that_is_not() {
    let metrics = |mesh: &str| Exporter::start(&capture(mesh).bundle(), &[]).metrics();
    let above_zero = |metrics: &str, name: &str| {
        metrics
            .lines()
            .any(|line| line.starts_with(name) && !line.ends_with(" 0"))
    };
    let healthy = metrics("healthy");
    let bad = [
        "proxy_ghost_endpoints",
        "proxy_ejected_endpoints",
        "proxy_rejected_resources",
    ];
    for name in bad.map(|name| format!("meshladder_{name}")) {
        assert!(
            healthy.contains(&name) && !above_zero(&healthy, &name),
            "{name}"
        );
    }
    for word in [
        "state=\"STALE\"",
        "state=\"ERROR\"",
        "level=\"debug\"",
        "severity=\"error\"",
        "outcome=\"failed\"",
    ] {
        assert!(!healthy.contains(word), "{word}");
    }
    assert!(
        !healthy
            .lines()
            .any(|line| line.starts_with("meshladder_proxy_connected") && line.ends_with(" 0"))
    );
    let gone = metrics("cart-unreachable-after-reschedule-while-istiod-down");
    assert!(above_zero(&gone, "meshladder_proxy_ghost_endpoints{"));
}

#[test]
fn what_cannot_be_served_is_refused_at_once() {
    let bundle = root()
        .join("fixtures/meshes/small/bundle")
        .display()
        .to_string();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address").to_string();
    for (words, code, told) in [
        (&["monitor", "serve"][..], 2, "no source"),
        (&["monitor", "serve", "-s", "-"], 2, "only once"),
        (
            &["monitor", "serve", "-s", &bundle, "--listen", &address],
            3,
            "cannot listen on",
        ),
        (
            &["monitor", "serve", "-s", &bundle, "--every", "1ms"],
            2,
            "at least 1s",
        ),
    ] {
        let run = meshladder(words);
        assert_eq!(
            (run.code, run.stdout.as_str()),
            (code, ""),
            "{words:?}: {}",
            run.stderr
        );
        assert!(run.stderr.contains(told), "{words:?}: {}", run.stderr);
    }
}
