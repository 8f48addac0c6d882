//! What istiod and the proxies say of themselves: who is connected, who has acknowledged what, what
//! was refused.

use std::collections::BTreeMap;

use meshladder_capture::istiod::syncz::{self, SyncStatus};
use meshladder_capture::snapshot::{DocId, ProxyRef, Shape, Snapshot};

mod proxy;

pub use proxy::{Proxy, ProxyDocuments, Rejected, Summary};

/// See the module.
#[derive(Debug, Default)]
pub struct Fleet {
    /// Every stream of a proxy to an istiod, as the istiods tell, by namespace and pod.
    pub streams: Vec<Stream>,
    /// The istiods that were asked for their streams: the document of each.
    pub istiods: Vec<DocId>,
    /// What each proxy says of itself; filled while the proxies are visited.
    pub proxies: BTreeMap<ProxyRef, Summary>,
}

/// A proxy's stream to an istiod.
#[derive(Clone, Debug)]
pub struct Stream {
    /// The istiod's answer it stands in.
    pub doc: DocId,
    /// Where in it.
    pub at: usize,
    /// The istiod's pod.
    pub istiod: String,
    /// The proxy's namespace.
    pub namespace: String,
    /// The proxy's pod.
    pub pod: String,
    /// The proxy's Istio version.
    pub version: String,
    /// What it subscribed to, by short name: `CDS`, `LDS`, …
    pub types: BTreeMap<String, Watch>,
}

/// One resource type of a stream.
#[derive(Clone, Debug)]
pub struct Watch {
    /// Whether the proxy has it.
    pub sync: SyncStatus,
    /// The proxy's words when it refused.
    pub error: String,
    /// When the last push was sent, RFC 3339.
    pub sent_time: String,
    /// Whether the proxy ever acknowledged one.
    pub ever_acknowledged: bool,
}

impl Fleet {
    /// What the istiods tell; the proxies are added one by one.
    pub fn of_istiods(snapshot: &Snapshot) -> Self {
        let mut fleet = Self::default();
        for id in snapshot
            .ids()
            .filter(|id| id.shape() == Shape::IstiodDebug && id.as_str().ends_with("/syncz.json"))
        {
            let Ok(doc) = snapshot.open(id) else { continue };
            let (connections, fault) = match syncz::read(&doc.text) {
                Ok((connections, fault)) => (connections, fault),
                Err(fault) => (Vec::new(), Some(fault)),
            };
            match fault {
                // Who is not in what is left of an answer may be in the rest.
                Some(fault) => snapshot.note_damage(id, &doc.problem(&fault)),
                None => fleet.istiods.push(id.clone()),
            }
            fleet.streams.extend(
                connections
                    .iter()
                    .filter_map(|connection| stream(id, connection)),
            );
        }
        fleet
            .streams
            .sort_by(|a, b| a.key().cmp(&b.key()).then_with(|| a.istiod.cmp(&b.istiod)));
        fleet
    }

    /// The streams of a proxy, from every istiod that knows it.
    pub fn streams_of(&self, namespace: &str, pod: &str) -> std::slice::Iter<'_, Stream> {
        let start = self
            .streams
            .partition_point(|stream| stream.key() < (namespace, pod));
        let end = self
            .streams
            .partition_point(|stream| stream.key() <= (namespace, pod));
        self.streams[start..end].iter()
    }

    /// Whether an istiod, by its pod, told its streams.
    pub fn answered(&self, istiod: &str) -> bool {
        self.istiods.iter().any(|id| istiod_of(id) == istiod)
    }

    /// What a proxy says of itself.
    pub fn proxy(&self, namespace: &str, pod: &str) -> Option<&Summary> {
        let key = |source: &str| ProxyRef {
            source: source.to_owned(),
            namespace: namespace.to_owned(),
            pod: pod.to_owned(),
        };
        // With several sources each has its name, and the first that knows the proxy will do.
        let elsewhere = || {
            self.proxies
                .iter()
                .find(|(id, _)| id.namespace == namespace && id.pod == pod)
        };
        let is_named = || {
            self.proxies
                .keys()
                .next()
                .is_some_and(|id| !id.source.is_empty())
        };
        self.proxies.get(&key("")).or_else(|| {
            if is_named() {
                elsewhere().map(|(_, summary)| summary)
            } else {
                None
            }
        })
    }
}

impl Stream {
    fn key(&self) -> (&str, &str) {
        (&self.namespace, &self.pod)
    }
}

fn stream(id: &DocId, connection: &syncz::XdsConnection<'_>) -> Option<Stream> {
    let (pod, namespace) = connection.proxy.rsplit_once('.')?;
    let watch = |w: &syncz::TypeSync<'_>| Watch {
        sync: w.sync(),
        error: w.last_error.to_string(),
        sent_time: w.sent_time.to_string(),
        ever_acknowledged: !w.acked.is_empty(),
    };
    let types = connection
        .types
        .iter()
        .map(|(url, w)| (syncz::short_type(url).to_owned(), watch(w)))
        .collect();
    let istiod = istiod_of(id).to_owned();
    Some(Stream {
        doc: id.clone(),
        at: connection.at,
        istiod,
        namespace: namespace.to_owned(),
        pod: pod.to_owned(),
        version: connection.version.to_string(),
        types,
    })
}

/// The pod that an answer of istiod comes from: `istiod/<pod>/debug/…`.
fn istiod_of(id: &DocId) -> &str {
    id.split().1.split('/').nth(1).unwrap_or_default()
}
