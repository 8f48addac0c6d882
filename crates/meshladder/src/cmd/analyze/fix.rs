//! `--fix` and `--diff`: safe fixes, made in the files that the objects stand in.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;

use meshladder_capture::snapshot::{DocId, Snapshot, redact};
use meshladder_judge::finding::{Change, Evidence, Finding, Fix, Patch, Risk};
use meshladder_judge::report::Report;
use meshladder_mesh::{Mesh, Object};
use meshladder_output::edit::{self, FileEdit, Splice};

use crate::exit::{Failure, UNREADABLE};
use crate::out;

/// What can be done about the findings of one run.
#[derive(Debug, Default)]
pub(super) struct Edits {
    /// The change for each finding, by its id.
    pub(super) replacements: BTreeMap<String, FileEdit>,
    /// Findings whose fix waits for another, or cannot be made in a file, and why.
    left: Vec<String>,
    /// The text of each file that is changed.
    files: BTreeMap<String, Arc<String>>,
}

/// Finds the changes of files. Of fixes that may bear on each other only the first is taken: the
/// next run sees whether the others are still needed.
pub(super) fn plan(report: &Report, snapshot: &Snapshot, mesh: &Mesh) -> Edits {
    let mut edits = Edits::default();
    let mut changed = BTreeSet::new();
    let mut looked_at = BTreeSet::new();
    for finding in report.findings.iter().map(|told| &told.finding) {
        let Some((fix, change)) = finding.fixes.iter().find_map(safe) else {
            continue;
        };
        let Some(object) = mesh.objects.find(&change.object) else {
            continue;
        };
        let places: BTreeSet<_> = finding
            .evidence
            .iter()
            .map(Evidence::object_place)
            .collect();
        let own = (object.doc.clone(), object.pointer.to_string());
        if looked_at.contains(&own) || !changed.is_disjoint(&places) || changed.contains(&own) {
            edits.left.push(format!(
                "{} of {}: another fix comes first; run again",
                finding.code, finding.subject
            ));
            continue;
        }
        match edits.edit(finding, fix, change, object, snapshot) {
            Ok(edit) => {
                edits.replacements.insert(finding.id(), edit);
                changed.insert(own);
                looked_at.extend(places);
            }
            Err(why) => edits
                .left
                .push(format!("{} of {}: {why}", finding.code, finding.subject)),
        }
    }
    edits
}

/// A change that was tried on the objects, can be undone, and leaves the object where it is.
fn safe(fix: &Fix) -> Option<(&Fix, &Change)> {
    let change = fix
        .change
        .as_ref()
        .filter(|_| fix.why_untried().is_none() && fix.risk == Risk::Reversible)?;
    matches!(change.patch, Patch::Merge(_) | Patch::Json(_)).then_some((fix, change))
}

impl Edits {
    fn edit(
        &mut self,
        finding: &Finding,
        fix: &Fix,
        change: &Change,
        object: &Object,
        snapshot: &Snapshot,
    ) -> Result<FileEdit, String> {
        if !snapshot.is_files_in(object.doc.split().0) {
            return Err(format!("{} is not in a file", object.id));
        }
        let origin = snapshot.origin(&object.doc).unwrap_or_default().to_owned();
        let before = match self.files.get(&origin) {
            Some(text) => Arc::clone(text),
            None => Arc::new(
                fs::read_to_string(&origin)
                    .map_err(|_| format!("{origin} is not a file of text"))?,
            ),
        };
        let splices = edit::splices(&before, &object.pointer, change)
            .map_err(|why| format!("{origin}: {why}"))?;
        self.files.insert(origin.clone(), Arc::clone(&before));
        let what = format!("{} {}: {}", finding.code, change.object, fix.text);
        Ok(FileEdit {
            origin,
            what,
            before,
            splices,
        })
    }

    /// All changes of each file, in order.
    fn by_file(&self) -> impl Iterator<Item = (&str, &str, Vec<Splice>)> {
        self.files.iter().map(|(origin, text)| {
            let edits = self
                .replacements
                .values()
                .filter(|edit| edit.origin == *origin);
            let mut splices: Vec<Splice> = edits.flat_map(|edit| edit.splices.clone()).collect();
            splices.sort_by_key(|splice| (splice.range.start, splice.range.end));
            (origin.as_str(), text.as_str(), splices)
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.replacements.is_empty()
    }

    /// What is left to do by hand, on stderr.
    pub(super) fn tell_left(&self) {
        self.left
            .iter()
            .for_each(|left| out::note(&format!("not fixed: {left}")));
    }
}

/// The changes as a unified diff.
pub(super) fn diff(edits: &Edits) -> String {
    edits
        .by_file()
        .map(|(origin, text, splices)| {
            let mut covered = BTreeMap::new();
            covered.extend(covered_lines(text));
            let after = edit::apply(text, &splices);
            covered.extend(covered_lines(&after));
            let diff = edit::unified(origin, text, &splices);
            let mut out = String::with_capacity(diff.len());
            for line in diff.split_inclusive('\n') {
                let (sign, rest) = line.split_at(line.chars().next().map_or(0, char::len_utf8));
                out.push_str(sign);
                out.push_str(covered.get(rest).map_or(rest, String::as_str));
            }
            out
        })
        .collect()
}

/// The lines of a file in which something is secret, each with what is shown in its place.
fn covered_lines(text: &str) -> Vec<(String, String)> {
    let mut bytes = text.as_bytes().to_vec();
    if redact(&DocId::new("k8s/file.yaml"), &mut bytes) == 0 {
        return Vec::new();
    }
    let covered = String::from_utf8_lossy(&bytes).into_owned();
    let lines = text
        .split_inclusive('\n')
        .zip(covered.split_inclusive('\n'));
    lines
        .filter(|(before, after)| before != after)
        .map(|(before, after)| (before.to_owned(), after.to_owned()))
        .collect()
}

/// Writes the files.
pub(super) fn apply(edits: &Edits) -> Result<(), Failure> {
    for (origin, text, splices) in edits.by_file() {
        let is_same = fs::read_to_string(origin).is_ok_and(|now| now == text);
        if !is_same {
            return Err(Failure::new(
                UNREADABLE,
                format!("{origin} has changed while it was being read; run again"),
            ));
        }
        meshladder_collect::replace(Path::new(origin), edit::apply(text, &splices).as_bytes())
            .map_err(|error| Failure::new(UNREADABLE, format!("cannot write {origin}: {error}")))?;
    }
    for edit in edits.replacements.values() {
        out::note(&format!("fixed in {}: {}", edit.origin, edit.what));
    }
    Ok(())
}
