//! `bundle`: make, list and check bundles.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use meshladder_capture::object;
use meshladder_capture::snapshot::{Problem, Snapshot};
use meshladder_collect::{Source, bundle};
use meshladder_output::bundle::to_json;
use meshladder_output::tables::Table;

use super::source;
use crate::args::{BundleCommand, Global, TextOrJson};
use crate::exit::{Outcome, UNREADABLE, USAGE};
use crate::out;
use crate::progress;

pub(super) fn run(global: &Global, command: &BundleCommand) -> Outcome {
    match command {
        BundleCommand::Pack { to } => pack(global, to),
        BundleCommand::List { path, output } => {
            list(&source::named(global, path.as_ref(), USAGE)?, *output)
        }
        BundleCommand::Verify { path } => verify(global, path.as_ref()),
    }
}

fn pack(global: &Global, to: &Path) -> Outcome {
    let snapshot = source::named(global, None, USAGE)?;
    progress::start(format!("writing {}", to.display()));
    let summary = bundle::write(&snapshot, to)?;
    for (id, why) in &summary.failed {
        out::warn(&format!("{id} is not in the bundle: {why}"));
    }
    let (size, written) = (megabytes(summary.bytes), megabytes(summary.written));
    out::note(&format!(
        "{}: {} documents, {size}, written as {written}",
        to.display(),
        summary.documents
    ));
    Ok(if summary.failed.is_empty() {
        0
    } else {
        UNREADABLE
    })
}

fn list(snapshot: &Snapshot, output: TextOrJson) -> Outcome {
    let (kinds, problems) = kinds(snapshot);
    for problem in &problems {
        out::warn(&problem.to_string());
    }
    let mut out = out::stdout();
    match output {
        TextOrJson::Text => write!(out, "{}", text(snapshot, &kinds))?,
        TextOrJson::Json => writeln!(out, "{}", to_json(snapshot, &kinds))?,
    }
    out.flush()?;
    Ok(0)
}

/// How many objects of each kind there are, and what could not be read of them: broken YAML,
/// duplicate keys.
fn kinds(snapshot: &Snapshot) -> (BTreeMap<String, usize>, Vec<Problem>) {
    let mut kinds = BTreeMap::new();
    let problems = object::each(snapshot, |object| {
        let dot = if object.group().is_empty() { "" } else { "." };
        *kinds
            .entry(format!("{}{dot}{}", object.kind(), object.group()))
            .or_insert(0) += 1;
    });
    (kinds, problems)
}

fn text(snapshot: &Snapshot, kinds: &BTreeMap<String, usize>) -> String {
    let mut documents = Table::new(3, &["SIZE", "DOCUMENT"]);
    for (id, size) in snapshot.sizes() {
        documents.row([size.to_string().into(), id.as_str().into()]);
    }
    let mut lacking = Table::new(3, &["NOT COMPLETE", "STATE", "WHY"]);
    for (source, need, coverage) in snapshot.coverages() {
        let need = if source.is_empty() {
            need.to_string()
        } else {
            format!("{source}/{need}")
        };
        lacking.row([
            need.into(),
            coverage.word().into(),
            coverage.why().unwrap_or_default().into(),
        ]);
    }
    let mut objects = Table::new(3, &["OBJECTS", "KIND"]);
    for (kind, count) in kinds {
        objects.row([count.to_string().into(), kind.into()]);
    }
    let taken = snapshot
        .taken_at()
        .map_or("unknown".to_owned(), |time| time.to_string());
    let part = |table: &Table<'_>| {
        if table.is_empty() {
            String::new()
        } else {
            format!("\n{table}")
        }
    };
    format!(
        "taken at {taken}\n{}{}{}",
        part(&documents),
        part(&objects),
        part(&lacking)
    )
}

fn verify(global: &Global, path: Option<&PathBuf>) -> Outcome {
    let sources: Vec<&PathBuf> = path.into_iter().chain(&global.source).collect();
    if sources.is_empty() {
        return Err(source::none_named(USAGE));
    }
    let mut sound = true;
    for name in sources {
        progress::start(format!("reading {}", name.display()));
        let verified = bundle::verify(&Source::from(name.as_path()), &source::options(global))?;
        verified.notes.iter().for_each(|note| out::note(note));
        for problem in &verified.problems {
            out::warn(&problem.to_string());
        }
        let name = name.display();
        let mut out = out::stdout();
        let (count, size) = (verified.documents, megabytes(verified.bytes));
        let word = if verified.problems.is_empty() {
            "sound"
        } else {
            "not sound"
        };
        writeln!(
            out,
            "{name}: {word}: {count} documents, {size}, {} problems",
            verified.problems.len()
        )?;
        out.flush()?;
        sound &= verified.problems.is_empty();
    }
    Ok(if sound { 0 } else { UNREADABLE })
}

pub(super) fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}
