//! The only way to make a Snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use super::{
    Coverage, DamageLog, DocId, DocumentBody, Fetch, Meta, Need, Problem, Shape, Snapshot,
    StoredDocument, redact,
};
use meshladder_text::place::Place;
use meshladder_text::time::Time;

/// Collects documents and what is known of their completeness; see the module.
#[derive(Debug, Default)]
pub struct Builder {
    taken_at: Option<Time>,
    docs: BTreeMap<DocId, StoredDocument>,
    metas: BTreeMap<String, Meta>,
    coverage: BTreeMap<(String, Need), Coverage>,
    problems: Vec<Problem>,
    damage: DamageLog,
    max_memory: Option<u64>,
}

impl Builder {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn resume(snapshot: Snapshot) -> Self {
        let Snapshot {
            taken_at: _,
            docs,
            sources: _,
            metas,
            coverage,
            problems,
            damage,
            max_memory,
        } = snapshot;
        Self {
            taken_at: None,
            docs,
            metas,
            coverage,
            problems,
            damage,
            max_memory: Some(max_memory),
        }
    }

    /// Limits how much memory what is read may take, all in all.
    pub fn max_memory(&mut self, bytes: u64) {
        self.max_memory = Some(bytes);
    }

    /// Adds a document. `origin` is the file as the user knows it. Of two documents with one id the
    /// first is kept, and the second is noted as a problem.
    pub fn add(&mut self, id: DocId, origin: impl Into<String>, bytes: Vec<u8>) {
        let origin = origin.into();
        let (text, bad_byte) = clean(&id, bytes);
        if let Some(at) = bad_byte {
            self.problems.push(not_utf8(&origin, &text, at));
        }
        if let Some(problem) = damage(&id, &origin, &text) {
            self.damage.note(&id, problem);
        }
        let body = DocumentBody::Held(Arc::new(text));
        self.insert(id, StoredDocument { origin, body });
    }

    /// Adds a document of `size` bytes that is read, and redacted, each time it is opened: for what
    /// is large.
    pub fn defer(&mut self, id: DocId, origin: impl Into<String>, size: u64, fetch: Fetch) {
        let body = DocumentBody::Deferred {
            size,
            fetch,
            told: OnceLock::new(),
        };
        let origin = origin.into();
        self.insert(id, StoredDocument { origin, body });
    }

    /// Adds a document that another Snapshot holds, as it is there.
    pub(super) fn keep(&mut self, id: DocId, stored: StoredDocument) {
        self.insert(id, stored);
    }

    fn insert(&mut self, id: DocId, entry: StoredDocument) {
        if self.docs.contains_key(&id) {
            let what = format!("a second document for `{id}`; the first one is used");
            return self.damage(&id, Problem::new(entry.origin, what));
        }
        self.docs.insert(id, entry);
    }

    /// Notes how much of a kind of fact there is.
    pub fn note(&mut self, need: Need, coverage: Coverage) {
        self.note_in("", need, coverage);
    }

    /// Notes how much of a kind of fact one of several sources has.
    pub fn note_in(&mut self, source: &str, need: Need, coverage: Coverage) {
        self.coverage.insert((source.to_owned(), need), coverage);
    }

    /// Says what is known of a source as a whole; its name is empty when there is only one.
    pub fn source(&mut self, name: &str, meta: Meta) {
        self.metas.insert(name.to_owned(), meta);
    }

    /// Notes that a document is here only in part, or not at all though it should be.
    pub fn damage(&mut self, id: &DocId, problem: Problem) {
        self.damage.note(id, problem.clone());
        self.problems.push(problem);
    }

    /// Notes something that could not be read.
    pub fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Sets the time, whatever sources and documents tell; of several the latest counts.
    pub fn taken_at(&mut self, time: Time) {
        self.taken_at = self.taken_at.max(Some(time));
    }

    /// The Snapshot.
    pub fn finish(self) -> Snapshot {
        let Self {
            taken_at,
            docs,
            metas,
            coverage,
            problems,
            damage,
            max_memory,
        } = self;
        let mut sources: BTreeSet<&str> = metas.keys().map(String::as_str).collect();
        sources.extend(coverage.keys().map(|(source, _)| source.as_str()));
        sources.extend(docs.keys().map(|id| id.split().0));
        let sources = sources.into_iter().map(str::to_owned).collect();
        Snapshot {
            taken_at: match taken_at {
                Some(time) => OnceLock::from(Some(time)),
                None => OnceLock::new(),
            },
            docs,
            sources,
            metas,
            coverage,
            problems,
            damage,
            max_memory: max_memory.unwrap_or(u64::MAX),
        }
    }
}

pub(super) fn not_utf8(origin: &str, text: &str, at: usize) -> Problem {
    let what = "invalid UTF-8; the bytes are shown as U+FFFD".to_owned();
    Problem {
        origin: origin.to_owned(),
        place: Some(Place::of(text, at)),
        what,
    }
}

/// What the ends of a document tell without reading it: JSON that is cut short, or something else
/// in its place, does not begin and end with one pair of brackets.
pub(super) fn damage(id: &DocId, origin: &str, text: &str) -> Option<Problem> {
    let is_json = id.as_str().rsplit('.').next() == Some("json");
    if !is_json || matches!(id.shape(), Shape::Other | Shape::Log) {
        return None;
    }
    let inside = text.trim_start_matches('\u{feff}').trim();
    let closing = match inside.as_bytes().first() {
        Some(b'{') => b'}',
        Some(b'[') => b']',
        // What Go writes for a list that was never made.
        _ if inside == "null" => return None,
        None => return Some(Problem::new(origin, "is empty")),
        Some(_) => return Some(Problem::new(origin, "is not JSON")),
    };
    let is_whole = inside.len() > 1 && inside.as_bytes().last() == Some(&closing);
    (!is_whole).then(|| Problem {
        origin: origin.to_owned(),
        place: Some(Place::of(text, text.len())),
        what: "ends early: the JSON is cut short".to_owned(),
    })
}

/// Redacts a document and makes it text. With it comes the offset of the first byte that is not
/// UTF-8.
pub(super) fn clean(id: &DocId, mut bytes: Vec<u8>) -> (String, Option<usize>) {
    // Places in a tree end at 4 GiB: behind them nothing could be redacted.
    bytes.truncate(u32::MAX as usize);
    redact(id, &mut bytes);
    match String::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            (text, Some(at))
        }
    }
}
