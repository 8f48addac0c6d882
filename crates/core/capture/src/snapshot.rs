//! Everything that is known of a mesh at one time: documents as collected, and what could not be
//! had.
//!
//! A [`Snapshot`] is made by its [`Builder`] and by nothing else, and the builder redacts: no
//! secret is ever in one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use meshladder_text::json::TextFault;
use meshladder_text::place::Place;
use meshladder_text::time::Time;

mod builder;
mod coverage;
mod damage;
mod id;
mod need;
mod redact;
mod times;

pub use builder::Builder;
pub use coverage::Coverage;
use damage::DamageLog;
pub use id::{DocId, ProxyRef, Shape};
pub use need::{Inputs, Need, Part};
pub use redact::{redact, redacted_part, shown_value};

/// See the module.
#[derive(Debug)]
pub struct Snapshot {
    /// Looked for when first asked for: reading every document for it would cost as much as many a
    /// question.
    taken_at: OnceLock<Option<Time>>,
    docs: BTreeMap<DocId, StoredDocument>,
    sources: Vec<String>,
    metas: BTreeMap<String, Meta>,
    coverage: BTreeMap<(String, Need), Coverage>,
    problems: Vec<Problem>,
    damage: DamageLog,
    max_memory: u64,
}

/// What is known of a source as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// The file, directory or context, as the user knows it.
    pub origin: String,
    /// What it is, in a word or two: `bundle`, `bug-report`, `files`.
    pub form: &'static str,
    /// When it was taken, if it says so itself.
    pub taken_at: Option<Time>,
    /// What the user calls its cluster: `-s east=FILE`.
    pub name: Option<String>,
    /// The cluster's id in the mesh.
    pub cluster: Option<String>,
    /// The cluster's network.
    pub network: Option<String>,
    /// The version of Istio.
    pub istio_version: Option<String>,
}

/// A document's bytes, read when its turn comes. The collector supplies it; the core only calls it.
pub type Fetch = Arc<dyn Fn() -> Result<Vec<u8>, String> + Send + Sync>;

/// A document as it is kept: its text, or the way to it.
#[derive(Clone)]
struct StoredDocument {
    origin: String,
    body: DocumentBody,
}

#[derive(Clone)]
enum DocumentBody {
    Held(Arc<String>),
    Deferred {
        size: u64,
        fetch: Fetch,
        /// The newest time it tells, once that was looked for.
        told: OnceLock<Option<Time>>,
    },
}

impl fmt::Debug for StoredDocument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry")
            .field("origin", &self.origin)
            .finish_non_exhaustive()
    }
}

/// A document's text, redacted.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its id in the Snapshot.
    pub id: DocId,
    /// The file it came from, as the user knows it.
    pub origin: String,
    /// Its text.
    pub text: Arc<String>,
    /// Set when the document was read only now and is not UTF-8: the bytes are shown as U+FFFD.
    pub problem: Option<Problem>,
}

/// Something in the input that could not be read. What is left stays usable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, as the user knows it.
    pub origin: String,
    /// Where in it, when a place is known.
    pub place: Option<Place>,
    /// What is wrong, without a full stop.
    pub what: String,
}

impl Problem {
    /// A problem with the file as a whole.
    pub fn new(origin: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            origin: origin.into(),
            place: None,
            what: what.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(place) => write!(f, "{}:{place}: {}", self.origin, self.what),
            None => write!(f, "{}: {}", self.origin, self.what),
        }
    }
}

/// That a document would take more memory than allowed.
pub(crate) fn too_large(origin: &str, verb: &str, size: u64) -> Problem {
    let size = size.div_ceil(1 << 20);
    let what = format!("{verb} {size} MiB, more than --max-size leaves; not read");
    Problem::new(origin, what)
}

impl StoredDocument {
    fn size(&self) -> u64 {
        match &self.body {
            DocumentBody::Held(text) => text.len() as u64,
            DocumentBody::Deferred { size, .. } => *size,
        }
    }

    /// The newest time that the document tells; none when it can no longer be read.
    fn newest_time(&self, id: &DocId) -> Option<Time> {
        match &self.body {
            DocumentBody::Held(text) => times::newest(id, text.as_bytes()),
            DocumentBody::Deferred { fetch, told, .. } => match told.get() {
                Some(time) => *time,
                None => times::newest(id, &fetch().ok()?),
            },
        }
    }
}

impl Document {
    /// A fault in this document, with its line and column.
    pub fn problem(&self, fault: &TextFault) -> Problem {
        Problem {
            origin: self.origin.clone(),
            place: Some(Place::of(&self.text, fault.at)),
            what: fault.what.clone(),
        }
    }
}

impl Snapshot {
    /// When it was taken: the only "now" there is. Without a manifest it is the newest time found
    /// in the documents; none when no document tells.
    pub fn taken_at(&self) -> Option<Time> {
        *self.taken_at.get_or_init(|| self.newest_time())
    }

    fn newest_time(&self) -> Option<Time> {
        let mut newest = None;
        for meta in self.metas.values() {
            newest = newest.max(meta.taken_at);
        }
        for (id, stored) in &self.docs {
            // A source that says when it was taken need not be read for it.
            if times::may_tell(id) && self.is_undated(id) {
                newest = newest.max(stored.newest_time(id));
            }
        }
        newest
    }

    /// Whether the document's source does not say when it was taken.
    fn is_undated(&self, id: &DocId) -> bool {
        let (source, _) = id.split();
        match self.metas.get(source) {
            Some(meta) => meta.taken_at.is_none(),
            None => true,
        }
    }

    /// The names of the sources and what is known of each; the name is empty when there is only
    /// one.
    pub fn sources(&self) -> impl Iterator<Item = (&str, Option<&Meta>)> {
        self.sources
            .iter()
            .map(|name| (name.as_str(), self.metas.get(name)))
    }

    /// The ids of all documents, in order.
    pub fn ids(&self) -> impl Iterator<Item = &DocId> {
        self.docs.keys()
    }

    /// The ids of all documents with the size of each in bytes, in order.
    pub fn sizes(&self) -> impl Iterator<Item = (&DocId, u64)> {
        self.docs.iter().map(|(id, stored)| (id, stored.size()))
    }

    /// The file a document came from, as the user knows it.
    pub fn origin(&self, id: &DocId) -> Option<&str> {
        self.docs.get(id).map(|entry| entry.origin.as_str())
    }

    /// Whether there is such a document.
    pub fn has(&self, id: &DocId) -> bool {
        self.docs.contains_key(id)
    }

    /// Reads a document. A deferred one is fetched and redacted now, and is gone again when the
    /// caller drops it.
    ///
    /// # Errors
    /// When there is no such document, or it can no longer be read.
    pub fn open(&self, id: &DocId) -> Result<Document, Problem> {
        let Some(stored) = self.docs.get(id) else {
            return Err(Problem::new(id.to_string(), "no such document"));
        };
        if stored.size() > self.max_memory {
            let problem = too_large(&stored.origin, "is", stored.size());
            self.damage.note(id, problem.clone());
            return Err(problem);
        }
        let mut document = Document {
            id: id.clone(),
            origin: stored.origin.clone(),
            text: Arc::default(),
            problem: None,
        };
        match &stored.body {
            DocumentBody::Held(text) => document.text = Arc::clone(text),
            DocumentBody::Deferred { fetch, told, .. } => {
                let bytes = fetch().map_err(|why| {
                    let problem = Problem::new(&stored.origin, why);
                    self.damage.note(id, problem.clone());
                    problem
                })?;
                // Its time will be asked for; who looked for it later would read the whole text
                // again.
                if id.shape() == Shape::Objects && self.is_undated(id) {
                    told.get_or_init(|| times::newest(id, &bytes));
                }
                let (text, bad_byte) = builder::clean(id, bytes);
                document.problem = bad_byte.map(|at| builder::not_utf8(&stored.origin, &text, at));
                document.text = Arc::new(text);
                if let Some(problem) = builder::damage(id, &stored.origin, &document.text) {
                    self.damage.note(id, problem);
                }
            }
        }
        Ok(document)
    }

    /// How much memory what is read may take, all in all.
    pub fn max_memory(&self) -> u64 {
        self.max_memory
    }

    /// Whether there is nothing but files, which hold as much as somebody put there, and no
    /// cluster's answer.
    pub fn is_files(&self) -> bool {
        self.sources.iter().all(|source| self.is_files_in(source))
    }

    /// Whether a source is files.
    pub fn is_files_in(&self, source: &str) -> bool {
        match self.metas.get(source) {
            Some(meta) => meta.form == "files",
            None => true,
        }
    }

    /// How much of a kind of fact is here, all sources together. Files beside a cluster's answer
    /// take nothing away from it.
    pub fn coverage(&self, need: &Need) -> Coverage {
        let mut of_clusters = Coverage::NotAsked;
        for source in &self.sources {
            if !self.is_files_in(source) {
                of_clusters = of_clusters.with(self.coverage_in(source, need));
            }
        }
        if of_clusters != Coverage::NotAsked {
            return of_clusters;
        }
        let mut of_all = Coverage::NotAsked;
        for source in &self.sources {
            of_all = of_all.with(self.coverage_in(source, need));
        }
        of_all
    }

    /// Notes that a document, or a part of it, could not be made out: whoever takes one apart says
    /// so, and nothing is concluded any more from what it does not say.
    pub fn note_damage(&self, id: &DocId, problem: &Problem) {
        self.damage.note(id, problem.clone());
    }

    /// What was found damaged so far, the first problem of each document.
    pub fn damage(&self) -> Vec<Problem> {
        self.damage.all()
    }

    /// How much of a kind of fact one source has: as it was noted, unless a document that may hold
    /// some of it is damaged.
    pub fn coverage_in(&self, source: &str, need: &Need) -> Coverage {
        let noted = self.noted_in(source, need);
        match (noted, self.damage.of(source, need)) {
            (denied @ Coverage::Denied(_), _) => denied,
            (_, Some(why)) => Coverage::Lost(why),
            (noted, None) => noted,
        }
    }

    /// How much of a kind of fact one source has, as far as is known without reading it. What was
    /// noted of the thing itself, or of a folder it lies in, comes first; then a document that is
    /// there is complete; then what was noted of the source as a whole (an archive that is cut
    /// short) holds for the rest.
    fn noted_in(&self, source: &str, need: &Need) -> Coverage {
        let noted = |need: Need| self.coverage.get(&(source.to_owned(), need)).cloned();
        if let Some(coverage) = noted(need.clone()).or_else(|| need.folders().find_map(noted)) {
            return coverage;
        }
        let path = need.path();
        if let Some(coverage) = self.noted_below(source, &path) {
            return coverage;
        }
        let is_here = self.has_below(source, &path);
        let is_folder = path.ends_with('/');
        if is_here && !is_folder {
            return Coverage::Complete;
        }
        // Objects may also stand in YAML.
        if let Some(stem) = path.strip_suffix(".json")
            && need.objects().is_some()
            && self.has_below(source, &format!("{stem}.yaml"))
        {
            return Coverage::Complete;
        }
        if let Some(coverage) = noted(Need::Part(Part::Everything)) {
            return coverage;
        }
        if is_here {
            Coverage::Complete
        } else {
            Coverage::NotAsked
        }
    }

    /// What was noted of a part of a folder: then the folder is not all there.
    fn noted_below(&self, source: &str, folder: &str) -> Option<Coverage> {
        if folder.is_empty() || !folder.ends_with('/') {
            return None;
        }
        let mut below = Coverage::NotAsked;
        for (of, need, coverage) in self.coverages() {
            if of == source && need.objects().is_none() && need.path().starts_with(folder) {
                below = below.with(coverage.clone());
            }
        }
        match below {
            Coverage::NotAsked | Coverage::Complete => None,
            Coverage::Denied(why) => Some(Coverage::Partial(why)),
            other => Some(other),
        }
    }

    /// Whether a source has that document, or any in that folder.
    fn has_below(&self, source: &str, path: &str) -> bool {
        let mut id = DocId::new(path);
        if !source.is_empty() {
            id = id.in_source(source);
        }
        let Some((next, _)) = self.docs.range(&id..).next() else {
            return false;
        };
        if path.ends_with('/') {
            return next.as_str().starts_with(id.as_str());
        }
        *next == id
    }

    /// All that was noted about coverage: source, need, how much.
    pub fn coverages(&self) -> impl Iterator<Item = (&str, &Need, &Coverage)> {
        self.coverage
            .iter()
            .map(|((source, need), coverage)| (source.as_str(), need, coverage))
    }

    /// What could not be read while the Snapshot was made.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// What some of its sources hold, as a Snapshot of its own; texts are shared. The documents of
    /// a source that is alone in it have their names without the source's.
    #[must_use]
    pub fn part(&self, sources: &[&str]) -> Self {
        let name = |source: &str| match sources {
            [_] => String::new(),
            _ => source.to_owned(),
        };
        let mut part = Builder::new();
        for source in sources {
            if let Some(meta) = self.metas.get(*source) {
                part.source(&name(source), meta.clone());
            }
        }
        for ((source, need), coverage) in &self.coverage {
            if sources.contains(&source.as_str()) {
                part.note_in(&name(source), need.clone(), coverage.clone());
            }
        }
        for (id, stored) in &self.docs {
            let (source, path) = id.split();
            if sources.contains(&source) {
                let id = match sources {
                    [_] => DocId::new(path),
                    _ => id.clone(),
                };
                part.keep(id, stored.clone());
            }
        }
        part.finish()
    }

    /// The builder as it was before [`Builder::finish`], for a collector that has more to add.
    pub fn into_builder(self) -> Builder {
        Builder::resume(self)
    }

    /// The proxies, or for its dump the ztunnels, that have a document of that shape.
    pub fn proxies_with(&self, shape: Shape) -> impl Iterator<Item = (ProxyRef, &DocId)> {
        self.ids()
            .filter(move |id| id.shape() == shape)
            .filter_map(|id| Some((id.proxy().or_else(|| id.ztunnel())?, id)))
    }
}

#[cfg(test)]
mod tests;
