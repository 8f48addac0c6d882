//! The documents of all proxies, each read when it is first needed and then held.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::net::IpAddr;

use meshladder_capture::envoy::clusters;
use meshladder_capture::envoy::dump::{Dump, Section};
use meshladder_capture::snapshot::{DocId, Document, ProxyRef, Shape, Snapshot};
use meshladder_text::json::Raw;

/// The proxies of a Snapshot that have a config dump.
pub struct Documents<'s> {
    pub(super) snapshot: &'s Snapshot,
    entries: Vec<Entry<'s>>,
    /// `namespace/pod` to the number of the entry; the first source that has the pod counts.
    by_name: BTreeMap<String, usize>,
    pub(super) ztunnels: Vec<ZtunnelEntry<'s>>,
}

/// A ztunnel that has a config dump.
pub(super) struct ZtunnelEntry<'s> {
    pub(super) proxy: ProxyRef,
    pub(super) id: &'s DocId,
    loaded: OnceCell<Result<Document, String>>,
}

impl ZtunnelEntry<'_> {
    /// Its dump.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(super) fn open(&self, snapshot: &Snapshot) -> Result<&Document, String> {
        let read = || {
            snapshot
                .open(self.id)
                .map_err(|problem| problem.to_string())
        };
        self.loaded.get_or_init(read).as_ref().map_err(Clone::clone)
    }
}

struct Entry<'s> {
    proxy: ProxyRef,
    dump: &'s DocId,
    clusters: Option<&'s DocId>,
    node: OnceCell<Node>,
    loaded: OnceCell<Result<Loaded, String>>,
}

/// Documents that were read, by id: who needs one of them later need not read it again.
pub type OpenedDocuments = BTreeMap<DocId, Document>;

/// A proxy's documents, read.
pub(super) struct Loaded {
    pub(super) proxy: ProxyRef,
    pub(super) dump: Document,
    /// `/clusters` as it stands.
    clusters: Option<Document>,
    /// `/clusters` in its JSON form.
    pub(super) statuses: Option<String>,
}

/// What a proxy says of itself.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    /// istiod calls a gateway's node `router`.
    pub(super) is_gateway: bool,
    pub(super) addresses: Vec<IpAddr>,
}

impl<'s> Documents<'s> {
    /// All of a Snapshot's; none is read yet.
    pub fn of(snapshot: &'s Snapshot) -> Self {
        let clusters: BTreeMap<_, _> = snapshot
            .proxies_with(Shape::Clusters)
            .map(|(proxy, id)| (key(&proxy), id))
            .collect();
        let entry = |(proxy, dump): (ProxyRef, &'s DocId)| Entry {
            clusters: clusters.get(&key(&proxy)).copied(),
            proxy,
            dump,
            node: OnceCell::new(),
            loaded: OnceCell::new(),
        };
        let entries: Vec<_> = snapshot
            .proxies_with(Shape::ConfigDump)
            .map(entry)
            .collect();
        let mut by_name = BTreeMap::new();
        for (number, entry) in entries.iter().enumerate() {
            by_name
                .entry(format!("{}/{}", entry.proxy.namespace, entry.proxy.pod))
                .or_insert(number);
        }
        let ztunnels = snapshot.ids().filter_map(|id| {
            let proxy = (id.shape() == Shape::ZtunnelDump).then(|| id.ztunnel())??;
            Some(ZtunnelEntry {
                proxy,
                id,
                loaded: OnceCell::new(),
            })
        });
        Self {
            snapshot,
            entries,
            by_name,
            ztunnels: ztunnels.collect(),
        }
    }

    /// What was read so far.
    pub fn opened(&self) -> OpenedDocuments {
        let mut opened = OpenedDocuments::new();
        for entry in &self.entries {
            let Some(Ok(loaded)) = entry.loaded.get() else {
                continue;
            };
            for document in [Some(&loaded.dump), loaded.clusters.as_ref()]
                .into_iter()
                .flatten()
            {
                opened.insert(document.id.clone(), document.clone());
            }
        }
        opened
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The number of a pod's proxy.
    pub(super) fn find(&self, namespace: &str, pod: &str) -> Option<usize> {
        self.by_name.get(&format!("{namespace}/{pod}")).copied()
    }

    pub(super) fn proxy(&self, number: usize) -> &ProxyRef {
        &self.entries[number].proxy
    }

    /// A proxy's documents.
    ///
    /// # Errors
    /// What is wrong with the dump.
    pub(super) fn open(&self, number: usize) -> Result<&Loaded, String> {
        let entry = &self.entries[number];
        entry
            .loaded
            .get_or_init(|| entry.read(self.snapshot))
            .as_ref()
            .map_err(Clone::clone)
    }

    /// What a proxy says of itself. Its dump is read for it and not held: of all proxies few are
    /// walked through.
    pub(super) fn node(&self, number: usize) -> &Node {
        let entry = &self.entries[number];
        entry.node.get_or_init(|| {
            let document = self.snapshot.open(entry.dump);
            document
                .ok()
                .and_then(|document| Node::read(&document.text))
                .unwrap_or_default()
        })
    }
}

/// The fact that is missing without a pod's dump.
pub(super) fn missing(namespace: &str, pod: &str) -> String {
    format!("the config dump of {namespace}/{pod}")
}

fn key(proxy: &ProxyRef) -> (String, String, String) {
    (
        proxy.source.clone(),
        proxy.namespace.clone(),
        proxy.pod.clone(),
    )
}

impl Entry<'_> {
    fn read(&self, snapshot: &Snapshot) -> Result<Loaded, String> {
        let dump = snapshot
            .open(self.dump)
            .map_err(|problem| problem.to_string())?;
        let clusters = self.clusters.and_then(|id| snapshot.open(id).ok());
        let statuses = clusters
            .as_ref()
            .and_then(|document| Some(clusters::as_json(&document.text).ok()?.into_owned()));
        Ok(Loaded {
            proxy: self.proxy.clone(),
            dump,
            clusters,
            statuses,
        })
    }
}

impl Node {
    fn read(text: &str) -> Option<Self> {
        let dump = Dump::index(text, &[]).ok()?;
        let node = dump
            .section(Section::Bootstrap)?
            .at(["bootstrap", "node"])?;
        let addresses = node
            .at(["metadata", "INSTANCE_IPS"])
            .and_then(Raw::string)
            .unwrap_or_default();
        Some(Self {
            is_gateway: node
                .string_at("id")
                .is_some_and(|id| id.starts_with("router~")),
            addresses: addresses
                .split(',')
                .filter_map(|ip| ip.trim().parse().ok())
                .collect(),
        })
    }
}
