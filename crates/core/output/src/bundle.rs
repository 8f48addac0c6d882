//! What a bundle holds, as JSON.

use std::collections::BTreeMap;

use crate::json::to_line;
use meshladder_capture::snapshot::Snapshot;
use serde::Serialize;

/// The documents of a bundle, how many objects of each kind they hold, and what is not complete.
pub fn to_json(snapshot: &Snapshot, kinds: &BTreeMap<String, usize>) -> String {
    let mut documents = Vec::new();
    for (id, size) in snapshot.sizes() {
        documents.push(DocumentJson {
            id: id.as_str(),
            size,
        });
    }
    let mut coverage = Vec::new();
    for (source, need, state) in snapshot.coverages() {
        coverage.push(BundleGapJson {
            source,
            need: need.to_string(),
            state: state.word(),
            why: state.why(),
        });
    }
    to_line(&BundleJson {
        taken_at: snapshot.taken_at().map(|time| time.to_string()),
        documents,
        objects: kinds,
        coverage,
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BundleJson<'a> {
    taken_at: Option<String>,
    documents: Vec<DocumentJson<'a>>,
    objects: &'a BTreeMap<String, usize>,
    coverage: Vec<BundleGapJson<'a>>,
}

#[derive(Serialize)]
struct DocumentJson<'a> {
    id: &'a str,
    size: u64,
}

#[derive(Serialize)]
struct BundleGapJson<'a> {
    source: &'a str,
    need: String,
    state: &'static str,
    why: Option<&'a str>,
}
