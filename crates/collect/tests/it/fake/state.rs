//! What the fake cluster holds, who may do what in it, and what was asked of it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use meshladder_capture::snapshot::{Coverage, Need};
use serde_json::{Value, json};

use super::faults::Fault;

/// See the module.
#[derive(Default)]
pub(crate) struct State {
    /// By plural and group: `gateways.networking.istio.io`.
    pub(crate) objects: BTreeMap<String, Vec<Value>>,
    /// Where the bundle was unpacked.
    _unpacked: Option<tempfile::TempDir>,
    /// The bundle whose proxies, istiods and logs are served.
    pub(crate) root: PathBuf,
    /// `list pods`, `create pods/portforward`; with ` in shop` only there, with ` in all` only for
    /// the whole cluster.
    pub(crate) denied: BTreeSet<String>,
    /// The versions of a group that are served; only `v1` where nothing is said.
    pub(crate) versions: BTreeMap<String, Vec<&'static str>>,
    /// Everybody may come in: somebody before us looks who it is.
    pub(crate) is_open: bool,
    /// The token that counts instead of the usual one.
    pub(crate) token: Mutex<Option<String>>,
    pub(crate) faults: Mutex<Vec<Fault>>,
    /// Ports that lead to something real, by `namespace/pod:port` or `namespace/service:port`.
    pub(crate) real: BTreeMap<String, SocketAddr>,
    /// Logs that are files which grow, by `namespace/pod`.
    pub(crate) growing: BTreeMap<String, PathBuf>,
    /// Pods that are no more, by `namespace/pod`.
    pub(crate) gone: Mutex<BTreeSet<String>>,
    /// The time of its clock; the machine's where nothing is said.
    pub(crate) time: Option<SystemTime>,
    /// Raised to cut every log that is being followed.
    pub(crate) cuts: AtomicUsize,
    /// What is answered for every pod without documents of its own: how many bytes of dump.
    pub(crate) made_up: Option<usize>,
    /// What called itself how.
    pub(crate) agents: Mutex<BTreeSet<String>>,
    /// Every request: method, path and query.
    pub(crate) asked: Mutex<Vec<String>>,
    /// Requests under way, and the most there ever were.
    pub(crate) busy: AtomicUsize,
    pub(crate) busiest: AtomicUsize,
}

/// Counts a request while it lives.
pub(crate) struct Busy<'s>(&'s State);

impl State {
    /// The capture that `meshladder demo` shows.
    pub(crate) fn demo() -> Self {
        Self::captured(&super::capture())
    }

    /// A packed bundle. What could not be read when it was made may not be read here either.
    pub(crate) fn captured(bundle: &Path) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let to = folder.path().join("bundle");
        let snapshot =
            meshladder_collect::open(&[bundle.into()], &meshladder_collect::Options::default());
        let snapshot = snapshot.expect("a bundle");
        meshladder_collect::bundle::write(&snapshot, &to).expect("it can be unpacked");
        let mut state = Self {
            _unpacked: Some(folder),
            time: snapshot.taken_at().map(|time| {
                SystemTime::UNIX_EPOCH + Duration::from_secs(time.seconds.unsigned_abs())
            }),
            ..Self::of(&to)
        };
        for (_, need, coverage) in snapshot.coverages() {
            if let (Need::Objects(kind), Coverage::Denied(_)) = (need, coverage) {
                state.denied.insert(format!("list {kind}"));
                state.objects.entry(kind.to_string()).or_default();
            }
        }
        state
    }

    /// A cluster of a few objects: an istiod, and pods whose proxies answer with so many bytes of
    /// dump.
    pub(crate) fn made_up(pods: usize, dump: usize) -> Self {
        let pod = |name: String, app: &str, containers: &[&str]| {
            let containers: Vec<Value> = containers
                .iter()
                .map(|name| json!({"name": name}))
                .collect();
            let namespace = if app == "istiod" {
                "istio-system"
            } else {
                "shop"
            };
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": namespace, "labels": {"app": app}},
                "spec": {"containers": containers}, "status": {"phase": "Running"}})
        };
        let mut all = vec![pod("istiod-1".to_owned(), "istiod", &["discovery"])];
        all.extend(
            (0..pods)
                .map(|number| pod(format!("cart-{number:05}"), "cart", &["app", "istio-proxy"])),
        );
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "cart", "namespace": "shop"}, "spec": {"ports": []}});
        let objects = [
            ("pods", all),
            ("services", vec![service]),
            ("namespaces", Vec::new()),
            ("configmaps", Vec::new()),
        ];
        let objects = objects
            .into_iter()
            .map(|(kind, items)| (kind.to_owned(), items))
            .collect();
        Self {
            objects,
            made_up: Some(dump),
            ..Self::default()
        }
    }

    /// A bundle's directory.
    pub(crate) fn of(bundle: &Path) -> Self {
        let mut state = Self {
            root: bundle.to_owned(),
            ..Self::default()
        };
        for entry in std::fs::read_dir(bundle.join("k8s"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            let Some(kind) = name.strip_suffix(".json") else {
                continue;
            };
            let text = std::fs::read(entry.path()).expect("a file of the bundle");
            let list: Value = serde_json::from_slice(&text).expect("a list of the bundle");
            state.objects.insert(
                kind.to_owned(),
                list["items"].as_array().cloned().unwrap_or_default(),
            );
        }
        state
    }

    pub(crate) fn deny(mut self, rights: &[&str]) -> Self {
        self.denied
            .extend(rights.iter().map(|right| (*right).to_owned()));
        self
    }

    pub(crate) fn fault(&self, fault: Fault) {
        self.faults.lock().expect("nobody panicked").push(fault);
    }

    /// Whether a group is served in a version.
    pub(crate) fn serves(&self, group: &str, version: &str) -> bool {
        self.versions
            .get(group)
            .map_or(version == "v1", |versions| versions.contains(&version))
    }

    /// This cluster as Kubernetes 1.21 and Istio 1.10 would serve it: nothing in a version that
    /// is newer.
    pub(crate) fn years_ago(mut self) -> Self {
        let old: [(&str, &[&str]); 6] = [
            ("networking.istio.io", &["v1beta1", "v1alpha3"]),
            ("security.istio.io", &["v1beta1"]),
            ("telemetry.istio.io", &["v1alpha1"]),
            ("extensions.istio.io", &["v1alpha1"]),
            ("gateway.networking.k8s.io", &["v1beta1", "v1alpha2"]),
            ("discovery.k8s.io", &["v1beta1"]),
        ];
        self.versions = old
            .iter()
            .map(|(group, versions)| ((*group).to_owned(), versions.to_vec()))
            .collect();
        self
    }

    /// From now on only this token counts.
    pub(crate) fn expect_token(&self, token: &str) {
        *self.token.lock().expect("nobody panicked") = Some(token.to_owned());
    }

    pub(crate) fn allows(&self, verb: &str, resource: &str, namespace: Option<&str>) -> bool {
        let right = format!("{verb} {resource}");
        let there = format!("{right} in {}", namespace.unwrap_or("all"));
        !self.denied.contains(&right) && !self.denied.contains(&there)
    }

    pub(crate) fn is_gone(&self, namespace: &str, pod: &str) -> bool {
        self.gone
            .lock()
            .expect("nobody panicked")
            .contains(&format!("{namespace}/{pod}"))
    }

    pub(crate) fn requests(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panicked").clone()
    }

    pub(crate) fn enter(&self) -> Busy<'_> {
        let now = self.busy.fetch_add(1, Ordering::SeqCst) + 1;
        self.busiest.fetch_max(now, Ordering::SeqCst);
        Busy(self)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::SeqCst);
    }
}
