//! Sources made in tests.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use meshladder_capture::snapshot::{DocId, Need, Snapshot};
use meshladder_collect::{CollectError, Options, Source, open};
use tar::{EntryType, Header};
use tempfile::TempDir;

pub(crate) const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: cart\n";
pub(crate) const PODS: &str = r#"{"apiVersion": "v1", "items": [], "kind": "List"}"#;
pub(crate) const SERVICE: &str =
    r#"{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "cart"}}"#;
pub(crate) const CLUSTERS: &str =
    "outbound|80||a::default_priority::max_connections::1\nb::10.0.0.1:80::cx_active::0\n";
pub(crate) const CLUSTERS_JSON: &str = r#"{"cluster_statuses": []}"#;
pub(crate) const STATS: &str = "cluster.a.upstream_rq_total: 1\nserver.live: 1\n";
pub(crate) const PROMETHEUS: &str = "# TYPE envoy_x counter\nenvoy_x{} 1\n";

/// A config dump of the proxy of that node.
pub(crate) fn dump(node: &str) -> String {
    format!(
        r#"{{"configs": [{{"@type": "b", "bootstrap": {{"node": {{"id": "{node}"}}}}, "last_updated": "2026-11-15T06:30:51Z"}}]}}"#
    )
}

pub(crate) fn cart_dump() -> String {
    dump("sidecar~10.0.0.1~cart-1.shop~shop.svc.cluster.local")
}

pub(crate) fn manifest(coverage: &str) -> String {
    format!(
        r#"{{"format": "meshladder-bundle", "version": 1, "takenAt": "2026-11-15T05:00:00Z", "cluster": {{"id": "east", "network": "n1"}}, "istioVersion": "1.30.0", "coverage": {{{coverage}}}}}"#
    )
}

/// A small bundle with a manifest, as path and text.
pub(crate) fn bundle() -> Vec<(String, String)> {
    let denied = r#""k8s/secrets.json": {"state": "denied", "why": "no right to list secrets"}, "logs/": {"state": "not-asked"}"#;
    [
        ("k8s/pods.json", PODS.to_owned()),
        (
            "k8s/virtualservices.networking.istio.io.json",
            PODS.to_owned(),
        ),
        ("proxies/shop/cart-1/config_dump.json", cart_dump()),
        (
            "proxies/shop/cart-1/clusters.json",
            CLUSTERS_JSON.to_owned(),
        ),
        ("istiod/istiod-1/debug/syncz.json", "[]".to_owned()),
        (
            "logs/shop/cart-1/istio-proxy.log",
            "2026-11-15T06:30:45.652528Z\tinfo\tready\n".to_owned(),
        ),
        ("manifest.json", manifest(denied)),
    ]
    .map(|(path, text)| (path.to_owned(), text))
    .to_vec()
}

/// The ids of [`bundle`], in order.
pub(crate) const BUNDLE_IDS: [&str; 6] = [
    "istiod/istiod-1/debug/syncz.json",
    "k8s/pods.json",
    "k8s/virtualservices.networking.istio.io.json",
    "logs/shop/cart-1/istio-proxy.log",
    "proxies/shop/cart-1/clusters.json",
    "proxies/shop/cart-1/config_dump.json",
];

pub(crate) fn borrowed(files: &[(String, String)]) -> Vec<(&str, &str)> {
    files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect()
}

/// A directory of its own for one test.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().expect("a temporary directory"))
    }

    /// One with these files in it.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let place = Self::new();
        for (path, text) in files {
            place.put(path, text);
        }
        place
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn put(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a file has a folder"))
            .expect("the folder can be made");
        fs::write(&path, bytes).expect("the file can be written");
        path
    }

    /// A text with this directory's name taken out.
    pub(crate) fn relative(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.0.path().display()), "")
    }

    /// The problems of a Snapshot, as a user reads them.
    pub(crate) fn problems(&self, snapshot: &Snapshot) -> Vec<String> {
        snapshot
            .problems()
            .iter()
            .map(|problem| self.relative(&problem.to_string()))
            .collect()
    }

    pub(crate) fn error(&self, path: &str) -> String {
        let error = try_open(&self.path(path)).expect_err("it cannot be opened");
        assert!(!error.hint().is_empty());
        self.relative(&error.to_string())
    }
}

pub(crate) fn try_open(path: &Path) -> Result<Snapshot, CollectError> {
    open(&[Source::from(path)], &Options::default())
}

pub(crate) fn opened(path: &Path) -> Snapshot {
    try_open(path).expect("the source can be opened")
}

pub(crate) fn ids(snapshot: &Snapshot) -> Vec<&str> {
    snapshot.ids().map(DocId::as_str).collect()
}

pub(crate) fn text(snapshot: &Snapshot, id: &str) -> String {
    snapshot
        .open(&DocId::new(id))
        .expect("the document is there")
        .text
        .to_string()
}

pub(crate) fn coverage(snapshot: &Snapshot, path: &str) -> &'static str {
    snapshot.coverage(&Need::of_path(path)).word()
}

/// A tar archive; each member is a kind, a name and a content.
pub(crate) fn tar_of(members: &[(EntryType, &str, &[u8])]) -> Vec<u8> {
    let mut tar = Vec::new();
    for (kind, name, content) in members {
        tar.extend(member(*kind, name.as_bytes(), content.len() as u64));
        tar.extend(*content);
        tar.resize(tar.len().next_multiple_of(512), 0);
    }
    tar.resize(tar.len() + 1024, 0);
    tar
}

pub(crate) fn tar_of_files(files: &[(&str, &str)]) -> Vec<u8> {
    let members: Vec<_> = files
        .iter()
        .map(|(path, text)| (EntryType::Regular, *path, text.as_bytes()))
        .collect();
    tar_of(&members)
}

/// A header, whatever it says: the crate's own writer would refuse the names that matter here.
pub(crate) fn member(kind: EntryType, name: &[u8], size: u64) -> Vec<u8> {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o644);
    header.set_cksum();
    header.as_bytes().to_vec()
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer
        .write_all(bytes)
        .and_then(|()| packer.finish())
        .expect("packing into memory works")
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("packing into memory works")
}

/// Text that does not compress well.
pub(crate) fn noise(len: usize) -> String {
    let mut state = 1u64;
    let mut letter = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + u8::try_from((state >> 40) % 26).expect("less than 26"))
    };
    (0..len).map(|_| letter()).collect()
}
