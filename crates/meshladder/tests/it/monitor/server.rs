//! A real Prometheus as a child process, and a server that answers what a test tells it to.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use meshladder_collect::prometheus::{Client, Credentials};

use super::{program, run};

/// How long Prometheus may take to be ready, to scrape and to evaluate; it needs a second on an
/// idle machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running Prometheus.
pub(crate) struct Prometheus {
    child: Child,
    pub(crate) url: String,
    folder: tempfile::TempDir,
}

impl Prometheus {
    /// Starts one with `config`; `fill` may put files into its folder first, where `data` is its
    /// storage.
    pub(super) fn start(
        scheme: &str,
        access: &Credentials,
        config: &str,
        fill: impl FnOnce(&Path, &mut Command),
    ) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path();
        std::fs::write(path.join("prometheus.yml"), config).expect("the folder takes files");
        let errors = std::fs::File::create(path.join("stderr")).expect("the folder takes files");
        let mut command = program("prometheus");
        command
            .current_dir(path)
            .args([
                "--config.file=prometheus.yml",
                "--storage.tsdb.path=data",
                "--web.listen-address=127.0.0.1:0",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(errors);
        fill(path, &mut command);
        let child = command.spawn().expect("Prometheus starts");
        let mut started = Self {
            child,
            url: String::new(),
            folder,
        };
        let log = started.folder.path().join("stderr");
        let mut address = None;
        started.wait("says where it listens", || {
            address = listening(&std::fs::read_to_string(&log).unwrap_or_default());
            address.is_some()
        });
        started.url = format!("{scheme}://{}", address.expect("it was waited for"));
        let client = Client::at(&started.url, access).expect("a URL");
        started.wait("is ready", || client.query("vector(1)").is_ok());
        started
    }

    /// One that holds these series; see [`Series`].
    pub(crate) fn with(series: &[Series]) -> Self {
        Self::start("http", &Credentials::default(), "{}", |folder, _| {
            store(folder, series);
        })
    }

    /// Waits until something holds, no longer than is reasonable.
    pub(super) fn wait(&mut self, what: &str, mut holds: impl FnMut() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !holds() {
            let ended = self.child.try_wait().expect("the child can be asked");
            if ended.is_some() || Instant::now() > deadline {
                let errors =
                    std::fs::read_to_string(self.folder.path().join("stderr")).unwrap_or_default();
                panic!("not before the deadline: Prometheus {what}\n{errors}");
            }
            std::thread::park_timeout(Duration::from_millis(50));
        }
    }

    pub(super) fn client(&self) -> Client {
        Client::at(&self.url, &Credentials::default()).expect("a URL")
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address in the line of its log that says so. A port chosen beforehand may be somebody else's
/// by then.
fn listening(log: &str) -> Option<String> {
    let line = log
        .split_inclusive('\n')
        .find(|line| line.ends_with('\n') && line.contains("msg=\"Listening on\""))?;
    Some(
        line.split_once("address=")?
            .1
            .split_whitespace()
            .next()?
            .to_owned(),
    )
}

/// A counter: labels of `istio_requests_total`, and how many a minute there are now, were an hour
/// ago and a day ago.
pub(crate) struct Series {
    pub(crate) labels: String,
    pub(crate) per_minute: [Option<f64>; 3],
}

/// Writes the samples of all series into a storage, around now, an hour ago and a day ago.
fn store(folder: &Path, series: &[Series]) {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .expect("after 1970")
        .as_secs();
    let mut text = "# TYPE istio_requests counter\n".to_owned();
    for one in series {
        let mut count = 0.0;
        for (minutes_ago, rate) in [
            (1440, one.per_minute[2]),
            (60, one.per_minute[1]),
            (0, one.per_minute[0]),
        ] {
            let Some(rate) = rate else { continue };
            // A quarter of an hour before, and after it as long as a slow test may take.
            for step in 0..80 {
                let at = now - minutes_ago * 60 - 1800 + step * 30;
                count += rate / 2.0;
                writeln!(text, "istio_requests_total{{{}}} {count} {at}", one.labels)
                    .expect("a String takes it");
            }
        }
    }
    text.push_str("# EOF\n");
    std::fs::write(folder.join("samples"), text).expect("the folder takes files");
    let mut promtool = program("promtool");
    promtool.current_dir(folder).args([
        "tsdb",
        "create-blocks-from",
        "openmetrics",
        "samples",
        "data",
    ]);
    run(promtool);
}

/// A server that gives one answer to the first request and hands the request over.
pub(crate) struct Once {
    pub(crate) url: String,
    thread: JoinHandle<String>,
}

impl Once {
    pub(crate) fn answering(response: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let request = head(&mut stream);
            let _ = stream.write_all(response.as_bytes());
            request
        });
        Self { url, thread }
    }

    pub(crate) fn request(self) -> String {
        self.thread.join().expect("the server ends")
    }
}

/// A request up to its empty line.
pub(super) fn head(stream: &mut TcpStream) -> String {
    let (mut text, mut byte) = (Vec::new(), [0]);
    while !text.ends_with(b"\r\n\r\n") && stream.read(&mut byte).expect("a byte") == 1 {
        text.push(byte[0]);
    }
    String::from_utf8(text).expect("UTF-8")
}
