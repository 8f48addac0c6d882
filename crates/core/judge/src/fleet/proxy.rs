//! One proxy with its documents open, and what is kept of it when they are closed again.

use meshladder_capture::envoy::dump::{Dump, Resource, ResourceState, Section};
use meshladder_capture::snapshot::{DocId, Document, ProxyRef, Snapshot};
use meshladder_mesh::PodFacts;
use meshladder_sim::walk::OpenedDocuments;
use meshladder_text::json::TextFault;

/// A proxy's documents, read once.
#[derive(Debug)]
pub struct ProxyDocuments {
    /// The proxy.
    pub id: ProxyRef,
    /// `/config_dump`
    pub config_dump: Option<Document>,
    /// `/clusters?format=json`
    pub clusters: Option<Document>,
    /// `/stats`
    pub stats: Option<Document>,
    /// `/server_info`
    pub server_info: Option<Document>,
    /// `/certs`
    pub certs: Option<Document>,
    /// `/logging`
    pub logging: Option<Document>,
    /// The log of the proxy's container.
    pub log: Option<Document>,
}

/// A proxy while its documents are open.
#[derive(Debug)]
pub struct Proxy<'d> {
    /// Its documents.
    pub docs: &'d ProxyDocuments,
    /// Its pod.
    pub pod: Option<&'d PodFacts>,
    /// The index of its dump, if that is whole.
    pub dump: Option<Dump<'d>>,
    /// What is wrong with its dump: what is left of it proves no absence.
    pub dump_fault: Option<TextFault>,
}

/// What is kept of a proxy.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Whether it is connected to its control plane, with the line of its statistics that says so.
    pub connected: Option<(bool, DocId, usize)>,
    /// When its agent last came to a stream to istiod, as its log says, RFC 3339.
    pub connected_at: Option<String>,
    /// What it refused.
    pub rejected: Vec<Rejected>,
    /// Warnings and errors of Envoy and its agent, the last ones, with their lines.
    pub trouble: Vec<(DocId, usize, String)>,
    /// Whether any route configuration came from istiod; none without a dump.
    pub has_routes: Option<bool>,
    /// Its listener for inbound traffic: when it came, and its place.
    pub inbound: Option<(String, DocId, usize)>,
}

/// An update that the proxy refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The kind of resource.
    pub section: Section,
    /// Its name.
    pub name: String,
    /// Envoy's words.
    pub details: String,
    /// When, RFC 3339.
    pub when: String,
    /// The dump.
    pub doc: DocId,
    /// Where in it.
    pub at: usize,
}

impl ProxyDocuments {
    /// Opens what there is, unless a walk has opened it already.
    pub fn open(snapshot: &Snapshot, id: &ProxyRef, opened: Option<&OpenedDocuments>) -> Self {
        let of = |file: &str| {
            let doc = DocId::of_proxy(id, file);
            let known = opened.and_then(|opened| opened.get(&doc));
            known.cloned().or_else(|| snapshot.open(&doc).ok())
        };
        let slash = if id.source.is_empty() { "" } else { "/" };
        let log = format!(
            "{}{slash}logs/{}/{}/istio-proxy.log",
            id.source, id.namespace, id.pod
        );
        Self {
            id: id.clone(),
            config_dump: of("config_dump.json"),
            clusters: of("clusters.json"),
            stats: of("stats.txt"),
            server_info: of("server_info.json"),
            certs: of("certs.json"),
            logging: of("logging.txt"),
            log: snapshot.open(&DocId::new(log)).ok(),
        }
    }
}

impl<'d> Proxy<'d> {
    /// Indexes the dump.
    pub fn new(docs: &'d ProxyDocuments, pod: Option<&'d PodFacts>) -> Self {
        let indexed = docs
            .config_dump
            .as_ref()
            .map(|doc| Dump::index(&doc.text, &Section::ALL));
        let (dump, dump_fault) = match indexed {
            None => (None, None),
            Some(Err(fault)) => (None, Some(fault)),
            Some(Ok(dump)) => match dump.fault.as_ref().or(dump.odd.first()) {
                Some(fault) => (None, Some(fault.clone())),
                None => (Some(dump), None),
            },
        };
        Self {
            docs,
            pod,
            dump,
            dump_fault,
        }
    }

    /// A counter or gauge of its statistics, with its line.
    pub fn stat(&self, name: &str) -> Option<(u64, usize)> {
        let text = &self.docs.stats.as_ref()?.text;
        text.lines().enumerate().find_map(|(i, line)| {
            let value = line.strip_prefix(name)?.strip_prefix(": ")?;
            Some((value.trim().parse().ok()?, i + 1))
        })
    }

    /// What is kept of it.
    pub fn summary(&self) -> Summary {
        let connected = self.stat("control_plane.connected_state");
        let stats = self.docs.stats.as_ref().map(|doc| doc.id.clone());
        Summary {
            connected: connected
                .zip(stats)
                .map(|((value, line), doc)| (value == 1, doc, line)),
            connected_at: self.connected_at(),
            rejected: self.rejected(),
            trouble: self.trouble(),
            has_routes: self.dump.as_ref().map(|dump| {
                dump.of(Section::Routes)
                    .any(|r| r.state == ResourceState::Active)
            }),
            inbound: self.inbound(),
        }
    }

    fn inbound(&self) -> Option<(String, DocId, usize)> {
        let (dump, doc) = (self.dump.as_ref()?, self.docs.config_dump.as_ref()?);
        let active =
            |r: &&Resource<'_>| r.name == "virtualInbound" && r.state == ResourceState::Active;
        let listener = dump.of(Section::Listeners).find(active)?;
        Some((
            listener.last_updated.to_string(),
            doc.id.clone(),
            listener.entry.offset(),
        ))
    }

    fn rejected(&self) -> Vec<Rejected> {
        let (Some(dump), Some(doc)) = (&self.dump, &self.docs.config_dump) else {
            return Vec::new();
        };
        let mut rejected: Vec<Rejected> = Vec::new();
        for resource in &dump.resources {
            let Some(error) = &resource.error else {
                continue;
            };
            let one = Rejected {
                section: resource.section,
                name: resource.name.to_string(),
                details: error.details.to_string(),
                when: error.last_update_attempt.to_string(),
                doc: doc.id.clone(),
                at: resource.entry.offset(),
            };
            if !rejected.contains(&one) {
                rejected.push(one);
            }
        }
        rejected
    }

    /// `time<TAB>info<TAB>xdsproxy<TAB>connected to delta upstream XDS server: istiod…`
    fn connected_at(&self) -> Option<String> {
        let log = self.docs.log.as_ref()?;
        let is_it = |line: &&str| {
            line.contains("\txdsproxy\tconnected to ") && line.contains("upstream XDS server")
        };
        let line = log.text.lines().rfind(is_it)?;
        line.split('\t').next().map(str::to_owned)
    }

    /// The agent writes `time<TAB>level<TAB>…`, and Envoy in the same file with its own words for
    /// levels.
    fn trouble(&self) -> Vec<(DocId, usize, String)> {
        const KEPT: usize = 20;
        let Some(log) = &self.docs.log else {
            return Vec::new();
        };
        let bad = |line: &&str| {
            matches!(
                line.split('\t').nth(1),
                Some("warn" | "warning" | "error" | "critical")
            )
        };
        let lines = log.text.lines().enumerate().filter(|(_, line)| bad(line));
        let mut lines: Vec<_> = lines
            .map(|(i, line)| (log.id.clone(), i + 1, line.to_owned()))
            .collect();
        lines.drain(..lines.len().saturating_sub(KEPT));
        lines
    }
}
