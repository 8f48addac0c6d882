//! How one proxy differs from another, or one capture of a mesh from another: noise left out, each
//! change with what it means and the object that made it.

use std::collections::BTreeMap;

use meshladder_capture::snapshot::DocId;
use meshladder_mesh::ObjectRef;
use meshladder_text::tree::Node;

mod fate;
mod meaning;
mod meshes;
mod names;
mod objects;
mod origin;
mod proxies;
mod proxy_changes;
mod resources;
mod revisions;
mod siblings;
mod tree;

pub use fate::Fate;
pub use meshes::meshes;
pub use names::CommonNames;
pub use origin::is_one_mesh;
pub use proxies::{ProxySide, proxies};
pub use revisions::{Pair, pair_revisions, revision_of, revisions};
pub use siblings::{Odd, odd_ones};

/// How two things differ.
#[derive(Clone, Debug, Default)]
pub struct Diff {
    /// What the one side is called.
    pub a: String,
    /// What the other side is called.
    pub b: String,
    /// The differences: objects first, then what proxies have.
    pub changes: Vec<DiffChange>,
    /// Differences that are expected between any two.
    pub noise: Noise,
    /// How many resources and objects were compared.
    pub compared: usize,
    /// Requests that end otherwise.
    pub fates: Vec<Fate>,
    /// What could not be compared, and why.
    pub unknown: Vec<String>,
}

/// One thing that differs: a route, a cluster, a filter chain, an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffChange {
    /// What happened to it.
    pub what: ChangeKind,
    /// `route`, `cluster`, `VirtualService`, …
    pub kind: String,
    /// The name of the thing.
    pub name: String,
    /// What it means, in a sentence without a full stop.
    pub means: Option<String>,
    /// The objects that made it, as far as the two sides tell.
    pub objects: Vec<ObjectRef>,
    /// The parts that differ; for what is only on one side, the thing itself.
    pub edits: Vec<DiffEdit>,
    /// The proxies that show it, as `namespace/workload` or `namespace/pod`; nobody for an object.
    pub on: Vec<String>,
    /// The document on each side.
    pub docs: (Option<DocId>, Option<DocId>),
}

/// One part that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffEdit {
    /// What happened to it.
    pub what: ChangeKind,
    /// Where, with list elements by what they are: `/route/weighted_clusters/clusters[…]/weight`.
    pub path: String,
    /// The value on the one side, as JSON.
    pub old: Option<String>,
    /// The value on the other side.
    pub new: Option<String>,
    /// Byte offset in each side's document.
    pub at: (Option<usize>, Option<usize>),
}

/// What happened to a thing from the one side to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// Only the second side has it.
    Added,
    /// Only the first side has it.
    Removed,
    /// Both have it, and it differs.
    Changed,
    /// Both have the same, in another order.
    Moved,
}

/// Differences that are expected, by reason.
#[derive(Clone, Debug, Default)]
pub struct Noise {
    /// Reason and number.
    pub counts: BTreeMap<&'static str, usize>,
    /// The first of them, for who wants to look: reason, place, both values.
    pub listed: Vec<(&'static str, String, String, String)>,
}

/// So many are kept to be listed.
const LISTED: usize = 1000;

impl Diff {
    /// Whether nothing differs that should not.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty() && self.fates.is_empty()
    }
}

impl DiffChange {
    /// Whether it is an object of the cluster that differs, and not a part of what a proxy has.
    pub fn is_object(&self) -> bool {
        self.on.is_empty()
    }
}

impl ChangeKind {
    /// In a word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Moved => "moved",
        }
    }
}

impl DiffEdit {
    fn new(what: ChangeKind, path: &str, old: Option<&Node>, new: Option<&Node>) -> Self {
        let at = |node: Option<&Node>| node.map(|node| node.span.start());
        let json = |node: Option<&Node>| node.map(Node::to_json);
        Self {
            what,
            path: path.to_owned(),
            old: json(old),
            new: json(new),
            at: (at(old), at(new)),
        }
    }
}

impl Noise {
    fn add(&mut self, why: &'static str, path: &str, old: &str, new: &str) {
        *self.counts.entry(why).or_default() += 1;
        if self.listed.len() < LISTED {
            self.listed
                .push((why, path.to_owned(), old.to_owned(), new.to_owned()));
        }
    }

    fn count(&mut self, why: &'static str, path: &str) {
        self.add(why, path, "", "");
    }

    fn absorb(&mut self, other: Self) {
        for (why, count) in other.counts {
            *self.counts.entry(why).or_default() += count;
        }
        let room = LISTED.saturating_sub(self.listed.len());
        self.listed.extend(other.listed.into_iter().take(room));
    }

    /// All of it.
    pub fn total(&self) -> usize {
        self.counts.values().sum()
    }
}

#[cfg(test)]
mod tests;
