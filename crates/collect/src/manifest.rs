//! `manifest.json` of a bundle: when it was taken, of which cluster, and what is not complete.

use std::borrow::Cow;
use std::collections::BTreeMap;

use meshladder_capture::snapshot::{Coverage, DocId, Meta, Need, Part, Problem, Snapshot};
use meshladder_text::json::{self, Raw, ValueKind};
use meshladder_text::place::Place;
use meshladder_text::time::Time;
use serde::Serialize;

use crate::source_file::SourceFile;

pub(crate) const FORMAT: &str = "meshladder-bundle";
const VERSION: u64 = 1;

/// A manifest that was read.
#[derive(Debug, Default)]
pub(crate) struct Manifest {
    pub(crate) meta: Meta,
    pub(crate) coverage: Vec<(Need, Coverage)>,
    pub(crate) problems: Vec<Problem>,
}

impl Manifest {
    /// Reads the manifest; none when the file is another kind of `manifest.json`.
    pub(crate) fn of(found: &SourceFile) -> Option<Self> {
        let bytes = found.bytes().ok()?;
        let text = String::from_utf8_lossy(&bytes);
        let root = Raw::of(&text).ok()?;
        if root.string_at("format")? != FORMAT {
            return None;
        }
        let mut reading = ManifestReader {
            origin: &found.origin,
            text: &text,
            manifest: Self::default(),
        };
        reading.read(root);
        Some(reading.manifest)
    }
}

struct ManifestReader<'a> {
    origin: &'a str,
    text: &'a str,
    manifest: Manifest,
}

impl ManifestReader<'_> {
    fn read(&mut self, root: Raw<'_>) {
        if let Err(fault) = json::check(self.text) {
            let lost = Coverage::Lost(format!("{}: {}", self.origin, fault.what));
            self.manifest
                .coverage
                .push((Need::Part(Part::Everything), lost));
            self.problem(fault.at, fault.what);
        }
        let version = root.get("version").and_then(Raw::number);
        if version != Some(VERSION) {
            let told = version.map_or("missing".to_owned(), |version| version.to_string());
            self.problem(
                0,
                format!("the bundle's version is {told}; this program knows version {VERSION}"),
            );
        }
        let text = |value: Option<Raw<'_>>| {
            value
                .and_then(Raw::string)
                .filter(|s| !s.is_empty())
                .map(Cow::into_owned)
        };
        self.manifest.meta.cluster = text(root.at(["cluster", "id"]));
        self.manifest.meta.network = text(root.at(["cluster", "network"]));
        self.manifest.meta.istio_version = text(root.get("istioVersion"));
        if let Some(value) = root.get("takenAt") {
            self.manifest.meta.taken_at = value.string().and_then(|time| Time::parse(&time));
            if self.manifest.meta.taken_at.is_none() {
                self.problem(
                    value.offset(),
                    format!("`takenAt` is no time: {}", value.text()),
                );
            }
        }
        if let Some(coverage) = root.get("coverage") {
            self.coverage(coverage);
        }
    }

    fn coverage(&mut self, coverage: Raw<'_>) {
        if coverage.kind() != ValueKind::Object {
            let what = "`coverage` is not an object".to_owned();
            let lost = Coverage::Lost(format!("{}: {what}", self.origin));
            self.manifest
                .coverage
                .push((Need::Part(Part::Everything), lost));
            return self.problem(coverage.offset(), what);
        }
        for (path, entry) in coverage.members() {
            let why = entry.string_at("why").unwrap_or_default();
            let state = entry
                .string_at("state")
                .and_then(|word| Coverage::from_word(&word, &why));
            let is_lost = entry
                .get("lost")
                .is_some_and(|lost| lost.text().trim_end() == "true");
            match state {
                Some(Coverage::Partial(why)) if is_lost => {
                    let lost = Coverage::Lost(why);
                    self.manifest.coverage.push((Need::of_path(&path), lost));
                }
                Some(state) => self.manifest.coverage.push((Need::of_path(&path), state)),
                None => {
                    let what = format!("the coverage of `{path}` has no known `state`");
                    let lost = Coverage::Lost(format!("{}: {what}", self.origin));
                    self.manifest.coverage.push((Need::of_path(&path), lost));
                    self.problem(entry.offset(), what);
                }
            }
        }
    }

    fn problem(&mut self, at: usize, what: String) {
        let place = Some(Place::of(self.text, at));
        self.manifest.problems.push(Problem {
            origin: self.origin.to_owned(),
            place,
            what,
        });
    }
}

/// The manifest of one source of a Snapshot. `failed` are documents that could not be written, and
/// why.
pub(crate) fn write(snapshot: &Snapshot, source: &str, failed: &[(DocId, String)]) -> String {
    let meta = snapshot
        .sources()
        .find_map(|(name, meta)| meta.filter(|_| name == source))
        .cloned()
        .unwrap_or_default();
    let taken_at = meta.taken_at.or_else(|| snapshot.taken_at());
    let manifest = ManifestJson {
        format: FORMAT,
        version: VERSION,
        taken_at: taken_at.map(|time| time.to_string()),
        cluster: ClusterJson {
            id: meta.cluster.as_deref().unwrap_or_default(),
            network: meta.network.as_deref().unwrap_or_default(),
        },
        istio_version: meta.istio_version.as_deref(),
        coverage: gaps(snapshot, source, failed),
    };
    json::to_pretty(&manifest, 2) + "\n"
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ManifestJson<'a> {
    format: &'static str,
    version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    taken_at: Option<String>,
    cluster: ClusterJson<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    istio_version: Option<&'a str>,
    coverage: BTreeMap<String, GapJson>,
}

#[derive(Serialize)]
struct ClusterJson<'a> {
    id: &'a str,
    network: &'a str,
}

/// How much there is of a document or a folder, and why not all.
#[derive(Serialize)]
struct GapJson {
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    /// Whether the rest should be there and could not be read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    lost: bool,
}

fn gaps(
    snapshot: &Snapshot,
    source: &str,
    failed: &[(DocId, String)],
) -> BTreeMap<String, GapJson> {
    let id = |path: &str| {
        if source.is_empty() {
            DocId::new(path)
        } else {
            DocId::new(path).in_source(source)
        }
    };
    let mut gaps = BTreeMap::new();
    for (of, need, coverage) in snapshot.coverages() {
        let path = need.path();
        // That a document is complete goes without saying, unless the kind lies in a document of
        // another name.
        let is_said = *coverage != Coverage::Complete || !snapshot.has(&id(&path));
        if of == source && is_said {
            let gap = GapJson {
                state: coverage.word(),
                why: coverage.why().map(str::to_owned),
                lost: matches!(coverage, Coverage::Lost(_)),
            };
            gaps.insert(path, gap);
        }
    }
    for (id, why) in failed {
        let (of, path) = id.split();
        if of == source {
            let lost = Coverage::Lost(why.clone());
            let gap = GapJson {
                state: lost.word(),
                why: Some(why.clone()),
                lost: true,
            };
            gaps.insert(path.to_owned(), gap);
        }
    }
    gaps
}
