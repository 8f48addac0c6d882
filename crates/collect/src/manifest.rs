//! `manifest.json` of a bundle: when it was taken, of which cluster, and what is not complete.

use std::borrow::Cow;
use std::fmt::Write;

use meshladder_capture::snapshot::{Coverage, DocId, Meta, Need, Problem, Snapshot};
use meshladder_text::json::{self, Kind, Raw};
use meshladder_text::place::Place;
use meshladder_text::time::Time;

use crate::found::Found;

const FORMAT: &str = "meshladder-bundle";
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
    pub(crate) fn of(found: &Found) -> Option<Self> {
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
        if coverage.kind() != Kind::Object {
            return self.problem(coverage.offset(), "`coverage` is not an object".to_owned());
        }
        for (path, entry) in coverage.members() {
            let why = entry.string_at("why").unwrap_or_default();
            let state = entry
                .string_at("state")
                .and_then(|word| Coverage::from_word(&word, &why));
            match state {
                Some(state) => self.manifest.coverage.push((Need::of_path(&path), state)),
                None => self.problem(
                    entry.offset(),
                    format!("the coverage of `{path}` has no known `state`"),
                ),
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
    let mut text = format!(
        "{{\n  \"format\": {},\n  \"version\": {VERSION},\n",
        quoted(FORMAT)
    );
    if let Some(time) = meta.taken_at.or_else(|| snapshot.taken_at()) {
        let _ = writeln!(text, "  \"takenAt\": {},", quoted(&time.to_string()));
    }
    let or_empty = |value: &Option<String>| quoted(value.as_deref().unwrap_or_default());
    let (cluster, network) = (or_empty(&meta.cluster), or_empty(&meta.network));
    let _ = writeln!(
        text,
        "  \"cluster\": {{\"id\": {cluster}, \"network\": {network}}},"
    );
    if let Some(version) = &meta.istio_version {
        let _ = writeln!(text, "  \"istioVersion\": {},", quoted(version));
    }
    text.push_str("  \"coverage\": {");
    let failed = failed.iter().filter(|(id, _)| id.split().0 == source);
    let failed = failed.map(|(id, why)| (id.split().1.to_owned(), Coverage::Partial(why.clone())));
    let noted = snapshot.coverages().filter(|(of, ..)| *of == source);
    let noted = noted.map(|(_, need, coverage)| (need.path(), coverage.clone()));
    let id = |path: &str| {
        if source.is_empty() {
            DocId::new(path)
        } else {
            DocId::new(path).in_source(source)
        }
    };
    // That a document is complete goes without saying, unless the kind lies in a document of
    // another name.
    let is_said = |path: &str, coverage: &Coverage| {
        *coverage != Coverage::Complete || !snapshot.has(&id(path))
    };
    let entries = noted
        .filter(|(path, coverage)| is_said(path, coverage))
        .chain(failed);
    for (number, (path, coverage)) in entries.enumerate() {
        let why = coverage
            .why()
            .map(|why| format!(", \"why\": {}", quoted(why)))
            .unwrap_or_default();
        let comma = if number == 0 { "" } else { "," };
        let _ = write!(
            text,
            "{comma}\n    {}: {{\"state\": {}{why}}}",
            quoted(&path),
            quoted(coverage.word())
        );
    }
    text.push_str("\n  }\n}\n");
    text
}

fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
