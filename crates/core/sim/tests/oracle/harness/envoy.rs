//! A real Envoy as a child process, ended with the value that stands for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::client::Client;

/// A running Envoy.
pub(crate) struct Envoy {
    child: Child,
    /// Where it writes to; its own log is `stderr`.
    pub(crate) folder: PathBuf,
    admin: u16,
}

/// How long Envoy may take to be ready; it needs an eighth of a second on an idle machine.
const PATIENCE: Duration = Duration::from_secs(30);

impl Envoy {
    /// Starts Envoy with this bootstrap ([`super::bootstrap`]) and waits until it is ready. Every
    /// port may be 0.
    pub(crate) fn start(config: &Value) -> Self {
        Self::start_with(config, &["-l", "error"])
    }

    /// Starts it with further arguments.
    pub(crate) fn start_with(config: &Value, args: &[&str]) -> Self {
        let folder = folder();
        fs::create_dir_all(&folder).expect("the test's folder can be made");
        let file = |name: &str| folder.join(name);
        fs::write(file("config.json"), config.to_string()).expect("the test's folder takes files");
        let errors = fs::File::create(file("stderr")).expect("the test's folder takes files");
        let child = Command::new(binary())
            .args(["--disable-hot-restart", "--concurrency", "1"])
            .args(args)
            // Access logs are written at once, not every ten seconds.
            .args(["--file-flush-interval-msec", "20", "--config-path"])
            .arg(file("config.json"))
            .arg("--admin-address-path")
            .arg(file("admin"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors)
            .spawn()
            .expect("Envoy starts");
        let mut envoy = Self {
            child,
            folder,
            admin: 0,
        };
        envoy.wait();
        envoy
    }

    /// The port that a listener got, by its name.
    pub(crate) fn port(&self, listener: &str) -> u16 {
        let statuses: Value =
            serde_json::from_str(&self.admin("/listeners?format=json")).expect("JSON");
        let statuses = statuses["listener_statuses"]
            .as_array()
            .expect("there are listeners")
            .clone();
        let status = statuses
            .iter()
            .find(|status| status["name"] == listener)
            .expect("a listener of that name");
        let port = status["local_address"]["socket_address"]["port_value"].as_u64();
        u16::try_from(port.expect("the listener has a port")).expect("a port")
    }

    /// What the admin interface says at a path.
    pub(crate) fn admin(&self, path: &str) -> String {
        let head = format!("GET {path} HTTP/1.1\r\nhost: admin\r\n\r\n");
        Client::new(self.admin).send(head.as_bytes()).body
    }

    /// A file in the folder of this test, for Envoy to write to.
    pub(crate) fn scratch(name: &str) -> PathBuf {
        let folder = folder();
        fs::create_dir_all(&folder).expect("the test's folder can be made");
        folder.join(name)
    }

    fn wait(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while !self.is_ready() {
            let ended = self.child.try_wait().expect("the child can be asked");
            if ended.is_some() || Instant::now() > deadline {
                let errors = fs::read_to_string(self.folder.join("stderr")).unwrap_or_default();
                // Envoy prints all of its configuration first, and what is wrong with it last.
                let last = errors
                    .char_indices()
                    .rev()
                    .nth(2000)
                    .map_or(&*errors, |(at, _)| &errors[at..]);
                panic!(
                    "Envoy did not start with {}/config.json:\n{last}",
                    self.folder.display()
                );
            }
            std::thread::park_timeout(Duration::from_millis(2));
        }
    }

    fn is_ready(&mut self) -> bool {
        if self.admin == 0 {
            // The file appears before its text does.
            let address = fs::read_to_string(self.folder.join("admin")).unwrap_or_default();
            let Some(port) = address
                .trim()
                .rsplit(':')
                .next()
                .and_then(|port| port.parse().ok())
            else {
                return false;
            };
            self.admin = port;
        }
        self.admin("/ready").trim() == "LIVE"
    }
}

impl Drop for Envoy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if !std::thread::panicking() {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// A folder of this process that nobody else uses.
fn folder() -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("oracle-{}-{number}", std::process::id()))
}

fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("MESHLADDER_ENVOY") {
        return path.into();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .find(|folder| folder.join("Cargo.lock").exists())
        .expect("every crate is below the root");
    let path = root.join(".venv/bin/envoy");
    assert!(
        path.exists(),
        "no Envoy in .venv and no MESHLADDER_ENVOY: scripts/test installs it"
    );
    path
}
