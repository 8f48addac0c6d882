//! An API server in this process that serves a bundle as if it were a cluster, and can misbehave on
//! purpose. The tests of the binary include it by its path.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::TcpListener;

#[path = "fake/faults.rs"]
mod faults;
#[path = "fake/growing.rs"]
mod growing;
#[path = "fake/objects.rs"]
mod objects;
#[path = "fake/pod.rs"]
mod pod;
#[path = "fake/real.rs"]
mod real;
#[path = "fake/serve.rs"]
mod serve;
#[path = "fake/service.rs"]
mod service;
#[path = "fake/state.rs"]
mod state;

pub(crate) use faults::{Fault, Trouble};
pub(crate) use state::State;

/// The token that clients must present; it must appear nowhere.
pub(crate) const TOKEN: &str = "hunter2-token-of-the-fake-cluster";

/// A running fake; it ends with its value.
pub(crate) struct Fake {
    pub(crate) state: Arc<State>,
    pub(crate) address: std::net::SocketAddr,
    folder: tempfile::TempDir,
    _runtime: tokio::runtime::Runtime,
}

impl Fake {
    /// Serves the capture that `meshladder demo` shows.
    pub(crate) fn demo() -> Self {
        Self::with(State::demo())
    }

    /// Serves the objects, proxies, istiods and logs of a state.
    pub(crate) fn with(state: State) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build();
        let runtime = runtime.expect("threads can be started");
        let state = Arc::new(state);
        let listener = runtime
            .block_on(TcpListener::bind("127.0.0.1:0"))
            .expect("a free port");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let app = serve::app(Arc::clone(&state));
        runtime.spawn(async move { axum::serve(listener, app).await });
        let folder = tempfile::tempdir().expect("a temporary directory");
        let fake = Self {
            state,
            address,
            folder,
            _runtime: runtime,
        };
        fake.write_kubeconfig("kubeconfig", &["fake"]);
        fake
    }

    /// A folder that goes with the fake.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A kubeconfig that leads here.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// One with these contexts, the first of which is current; each leads here.
    pub(crate) fn write_kubeconfig(&self, name: &str, contexts: &[&str]) -> PathBuf {
        let context = |name: &&str| {
            format!("- name: {name}\n  context: {{cluster: fake, user: fake, namespace: shop}}\n")
        };
        let contexts_text: String = contexts.iter().map(context).collect();
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: {}\nclusters:\n- name: fake\n  cluster: {{server: 'http://{}'}}\nusers:\n- name: fake\n  user: {{token: {TOKEN}}}\ncontexts:\n{contexts_text}",
            contexts[0], self.address
        );
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).expect("the kubeconfig can be written");
        path
    }
}

/// The capture that `meshladder demo` shows.
pub(crate) fn capture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../meshladder/demo/canary-gets-no-traffic.tar.zst")
}
