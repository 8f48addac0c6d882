//! The only way to make a Snapshot.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Body, Coverage, DocId, Entry, Fetch, Need, Problem, Snapshot, redact};
use crate::doc::place::Place;
use crate::time::Time;

/// Collects documents and what is known of their completeness; see the module.
#[derive(Debug, Default)]
pub struct Builder {
    taken_at: Option<Time>,
    docs: BTreeMap<DocId, Entry>,
    coverage: BTreeMap<Need, Coverage>,
    problems: Vec<Problem>,
}

impl Builder {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a document. `origin` is the file as the user knows it. Of two documents with one id the first is kept,
    /// and the second is noted as a problem.
    pub fn add(&mut self, id: DocId, origin: impl Into<String>, bytes: Vec<u8>) {
        let origin = origin.into();
        let (text, bad_byte) = clean(&id, bytes);
        if let Some(at) = bad_byte {
            let what = "invalid UTF-8; the bytes are shown as U+FFFD".to_owned();
            self.problems.push(Problem { origin: origin.clone(), place: Some(Place::of(&text, at)), what });
        }
        self.insert(id, Entry { origin, body: Body::Held(Arc::new(text)) });
    }

    /// Adds a document that is read, and redacted, each time it is opened: for what is large.
    pub fn defer(&mut self, id: DocId, origin: impl Into<String>, fetch: Fetch) {
        self.insert(id, Entry { origin: origin.into(), body: Body::Deferred(fetch) });
    }

    fn insert(&mut self, id: DocId, entry: Entry) {
        if self.docs.contains_key(&id) {
            let what = format!("a second document for `{id}`; the first one is used");
            return self.problems.push(Problem::new(entry.origin, what));
        }
        self.docs.insert(id, entry);
    }

    /// Notes how much of a kind of fact there is.
    pub fn note(&mut self, need: Need, coverage: Coverage) {
        self.coverage.insert(need, coverage);
    }

    /// Notes something that could not be read.
    pub fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    /// Sets the time; of several the latest counts.
    pub fn taken_at(&mut self, time: Time) {
        self.taken_at = self.taken_at.max(Some(time));
    }

    /// The Snapshot.
    pub fn finish(self) -> Snapshot {
        Snapshot { taken_at: self.taken_at, docs: self.docs, coverage: self.coverage, problems: self.problems }
    }
}

/// Redacts a document and makes it text. With it comes the offset of the first byte that is not UTF-8.
pub(super) fn clean(id: &DocId, mut bytes: Vec<u8>) -> (String, Option<usize>) {
    redact(id, &mut bytes);
    match String::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            (String::from_utf8_lossy(error.as_bytes()).into_owned(), Some(at))
        }
    }
}
