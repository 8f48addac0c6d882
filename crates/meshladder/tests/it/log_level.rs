//! Log levels of real Envoys behind a fake API server: shown, raised, and set back whatever
//! happens.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::fake::{Fake, Fault, State, Trouble};
use crate::harness::client::Client;
use crate::harness::envoy::Envoy;
use crate::support::{Run, meshladder};

mod endings;
mod faults;
mod following;
mod listing;

/// As Istio has Envoy write its log.
const FORMAT: &str = "%Y-%m-%dT%T.%fZ\t%l\tenvoy %n %g:%#\t%v\tthread=%t";

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(90);

/// Pods that are real Envoys, in a cluster that is not.
struct Bed {
    ports: Vec<u16>,
    fake: Fake,
    folder: tempfile::TempDir,
    _envoys: Vec<Envoy>,
}

impl Bed {
    fn new() -> Self {
        Self::with(1, |state| state)
    }

    /// So many pods `cart-00000.shop`, …, after a change to the cluster.
    fn with(pods: usize, change: impl FnOnce(State) -> State) -> Self {
        let address = json!({"socket_address": {"address": "127.0.0.1", "port_value": 0}});
        let config = json!({"admin": {"address": address}, "static_resources": {}});
        let args = [
            "-l",
            "warning",
            "--component-log-level",
            "misc:error",
            "--log-format",
            FORMAT,
        ];
        let envoys: Vec<Envoy> = (0..pods)
            .map(|_| Envoy::start_with(&config, &args))
            .collect();
        let admin = |envoy: &Envoy| {
            let told = std::fs::read_to_string(envoy.folder.join("admin")).expect("its address");
            told.trim()
                .rsplit(':')
                .next()
                .and_then(|port| port.parse().ok())
                .expect("a port")
        };
        let ports: Vec<u16> = envoys.iter().map(admin).collect();
        let mut state = State::made_up(pods, 10);
        for (number, (envoy, port)) in envoys.iter().zip(&ports).enumerate() {
            let name = format!("shop/cart-{number:05}");
            state
                .real
                .insert(format!("{name}:15000"), ([127, 0, 0, 1], *port).into());
            state.growing.insert(name, envoy.folder.join("stderr"));
        }
        let fake = Fake::with(change(state));
        Self {
            ports,
            fake,
            folder: tempfile::tempdir().expect("a folder"),
            _envoys: envoys,
        }
    }

    fn words(&self, words: &[&str]) -> Vec<String> {
        let kubeconfig = self.fake.kubeconfig().display().to_string();
        let own = ["--kubeconfig", &kubeconfig, "--request-timeout", "10s"];
        let own = &own[..if words.contains(&"--request-timeout") {
            2
        } else {
            4
        }];
        words
            .iter()
            .chain(own)
            .map(|word| (*word).to_owned())
            .collect()
    }

    fn run(&self, words: &[&str]) -> Run {
        meshladder(&self.words(words))
    }

    /// Starts a command that goes on.
    fn start(&self, words: &[&str]) -> Running {
        let file = |name: &str| self.folder.path().join(name);
        let create = |name: &str| File::create(file(name)).expect("a file");
        let child = Command::new(env!("CARGO_BIN_EXE_meshladder"))
            .args(self.words(words))
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(create("out"))
            .stderr(create("err"))
            .spawn()
            .expect("the binary starts");
        Running {
            child,
            out: file("out"),
            err: file("err"),
        }
    }

    /// What Envoy itself says, without anybody between.
    fn levels(&self) -> String {
        let head = b"POST /logging HTTP/1.1\r\nhost: admin\r\ncontent-length: 0\r\n\r\n";
        self.ports
            .iter()
            .map(|port| Client::new(*port).send(head).body)
            .collect()
    }

    fn has(&self, level: &str) -> bool {
        self.levels().contains(level)
    }

    /// Has the first Envoy do something that its admin component logs at debug.
    fn make_lines(&self) {
        Client::new(self.ports[0]).send(b"GET /ready HTTP/1.1\r\nhost: admin\r\n\r\n");
    }

    /// Starts a command that raises `admin`, and waits until it has.
    fn raised(&self, words: &[&str]) -> Running {
        let command = [
            "log-level",
            "cart-00000.shop",
            "--level",
            "admin:debug",
            "--for",
            "10m",
        ];
        let mut running = self.start(&[&command, words].concat());
        running.until("the level is up", || self.has("admin: debug"));
        running
    }

    fn fault(&self, at: &str, trouble: Trouble, times: usize) {
        self.fake.state.fault(Fault::times(at, trouble, times));
    }

    /// Cuts every log that is being followed.
    fn cut_logs(&self) {
        self.fake.state.cuts.fetch_add(1, Ordering::SeqCst);
    }
}

/// A command that goes on.
struct Running {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl Running {
    /// Looks again and again until it is so.
    fn until(&mut self, what: &str, mut is_so: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so() {
            let ended = self.child.try_wait().expect("the child can be asked");
            assert!(
                ended.is_none() && Instant::now() < deadline,
                "{what}: {ended:?} {}",
                self.told()
            );
            std::thread::park_timeout(Duration::from_millis(10));
        }
    }

    fn told(&self) -> String {
        let read = |path: &PathBuf| std::fs::read_to_string(path).unwrap_or_default();
        format!("{}\n{}", read(&self.out), read(&self.err))
    }

    fn signal(&self, name: &str) {
        let kill = Command::new("kill")
            .args([name, &self.child.id().to_string()])
            .status();
        assert!(kill.expect("kill starts").success());
    }

    /// Waits for its end.
    fn end(mut self) -> Run {
        let deadline = Instant::now() + PATIENCE;
        let code = loop {
            if let Some(status) = self.child.try_wait().expect("the child can be asked") {
                break status.code();
            }
            if Instant::now() > deadline {
                let _ = self.child.kill();
                panic!("it did not end: {}", self.told());
            }
            std::thread::park_timeout(Duration::from_millis(10));
        };
        let read = |path: &PathBuf| std::fs::read_to_string(path).expect("its output");
        Run {
            code: code.expect("it ends by itself"),
            stdout: read(&self.out),
            stderr: read(&self.err),
        }
    }
}
