//! Everything that is known of a mesh at one time: documents as collected, and what could not be had.
//!
//! A [`Snapshot`] is made by its [`Builder`] and by nothing else, and the builder redacts: no secret is ever in one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::doc::json::Fault;
use crate::doc::place::Place;
use crate::time::Time;

mod builder;
mod coverage;
mod id;
mod redact;

pub use builder::Builder;
pub use coverage::{Coverage, Need};
pub use id::{DocId, ProxyRef, Shape};
pub use redact::redact;

/// See the module.
#[derive(Debug)]
pub struct Snapshot {
    taken_at: Option<Time>,
    docs: BTreeMap<DocId, Entry>,
    coverage: BTreeMap<Need, Coverage>,
    problems: Vec<Problem>,
}

/// A document's bytes, read when its turn comes. The collector supplies it; the core only calls it.
pub type Fetch = Arc<dyn Fn() -> Result<Vec<u8>, String> + Send + Sync>;

struct Entry {
    origin: String,
    body: Body,
}

enum Body {
    Held(Arc<String>),
    Deferred(Fetch),
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entry").field("origin", &self.origin).finish_non_exhaustive()
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
        Self { origin: origin.into(), place: None, what: what.into() }
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

impl Document {
    /// A fault in this document, with its line and column.
    pub fn problem(&self, fault: &Fault) -> Problem {
        Problem { origin: self.origin.clone(), place: Some(Place::of(&self.text, fault.at)), what: fault.what.clone() }
    }
}

impl Snapshot {
    /// When it was taken: the only "now" there is. None when no document tells.
    pub fn taken_at(&self) -> Option<Time> {
        self.taken_at
    }

    /// The ids of all documents, in order.
    pub fn ids(&self) -> impl Iterator<Item = &DocId> {
        self.docs.keys()
    }

    /// Whether there is such a document.
    pub fn has(&self, id: &DocId) -> bool {
        self.docs.contains_key(id)
    }

    /// Reads a document. A deferred one is fetched and redacted now, and is gone again when the caller drops it.
    ///
    /// # Errors
    /// When there is no such document, or it can no longer be read.
    pub fn open(&self, id: &DocId) -> Result<Document, Problem> {
        let entry = self.docs.get(id).ok_or_else(|| Problem::new(id.to_string(), "no such document"))?;
        let text = match &entry.body {
            Body::Held(text) => Arc::clone(text),
            Body::Deferred(fetch) => {
                let bytes = fetch().map_err(|why| Problem::new(&entry.origin, why))?;
                Arc::new(builder::clean(id, bytes).0)
            }
        };
        Ok(Document { id: id.clone(), origin: entry.origin.clone(), text })
    }

    /// How much of a kind of fact is here.
    pub fn coverage(&self, need: &Need) -> Coverage {
        self.coverage.get(need).cloned().unwrap_or(Coverage::NotAsked)
    }

    /// All that was noted about coverage.
    pub fn coverages(&self) -> impl Iterator<Item = (&Need, &Coverage)> {
        self.coverage.iter()
    }

    /// What could not be read while the Snapshot was made.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// The proxies that have a document of that shape.
    pub fn proxies_with(&self, shape: Shape) -> impl Iterator<Item = (ProxyRef, &DocId)> {
        self.ids().filter(move |id| id.shape() == shape).filter_map(|id| Some((id.proxy()?, id)))
    }
}
