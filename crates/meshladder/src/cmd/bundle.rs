//! `bundle`: make, list and check bundles.

use std::io::Write;
use std::path::Path;

use meshladder_collect::bundle;
use meshladder_core::doc::json::escape;
use meshladder_core::snapshot::Snapshot;
use meshladder_core::tables::Table;

use super::source;
use crate::args::{BundleCommand, Global, TextOrJson};
use crate::exit::{Outcome, UNREADABLE};
use crate::out;
use crate::progress::Progress;

pub(super) fn run(global: &Global, command: &BundleCommand) -> Outcome {
    match command {
        BundleCommand::Pack { to } => pack(global, to),
        BundleCommand::List { path, output } => list(&source::named(global, path.as_ref())?, *output),
        BundleCommand::Verify { path } => verify(global, path.as_ref()),
    }
}

fn pack(global: &Global, to: &Path) -> Outcome {
    let snapshot = source::snapshot(global)?;
    let _progress = Progress::start(format!("writing {}", to.display()));
    let summary = bundle::write(&snapshot, to)?;
    for (id, why) in &summary.failed {
        out::warn(&format!("{id} is not in the bundle: {why}"));
    }
    let (size, written) = (megabytes(summary.bytes), megabytes(summary.written));
    out::note(&format!("{}: {} documents, {size}, written as {written}", to.display(), summary.documents));
    Ok(if summary.failed.is_empty() { 0 } else { UNREADABLE })
}

fn list(snapshot: &Snapshot, output: TextOrJson) -> Outcome {
    let mut out = out::stdout();
    match output {
        TextOrJson::Text => write!(out, "{}", text(snapshot))?,
        TextOrJson::Json => writeln!(out, "{}", json(snapshot))?,
    }
    out.flush()?;
    Ok(0)
}

fn text(snapshot: &Snapshot) -> String {
    let mut documents = Table::new(3, &["SIZE", "DOCUMENT"]);
    for (id, size) in snapshot.sizes() {
        documents.row([size.to_string().into(), id.as_str().into()]);
    }
    let mut lacking = Table::new(3, &["NOT COMPLETE", "STATE", "WHY"]);
    for (source, need, coverage) in snapshot.coverages() {
        let need = if source.is_empty() { need.to_string() } else { format!("{source}/{need}") };
        lacking.row([need.into(), coverage.word().into(), coverage.why().unwrap_or_default().into()]);
    }
    let taken = snapshot.taken_at().map_or("unknown".to_owned(), |time| time.to_string());
    let lacking = if lacking.is_empty() { String::new() } else { format!("\n{lacking}") };
    format!("taken at {taken}\n\n{documents}{lacking}")
}

fn json(snapshot: &Snapshot) -> String {
    let documents: Vec<_> =
        snapshot.sizes().map(|(id, size)| format!("{{\"id\":{},\"size\":{size}}}", escape(id.as_str()))).collect();
    let coverage: Vec<_> = snapshot
        .coverages()
        .map(|(source, need, coverage)| {
            let why = coverage.why().map_or("null".to_owned(), escape);
            let (source, need) = (escape(source), escape(&need.to_string()));
            format!("{{\"source\":{source},\"need\":{need},\"state\":\"{}\",\"why\":{why}}}", coverage.word())
        })
        .collect();
    let taken = snapshot.taken_at().map_or("null".to_owned(), |time| escape(&time.to_string()));
    format!("{{\"takenAt\":{taken},\"documents\":[{}],\"coverage\":[{}]}}", documents.join(","), coverage.join(","))
}

fn verify(global: &Global, path: Option<&String>) -> Outcome {
    let sources: Vec<&String> = path.into_iter().chain(&global.source).collect();
    if sources.is_empty() {
        return Err(source::none_named());
    }
    let mut sound = true;
    for name in sources {
        let _progress = Progress::start(format!("reading {name}"));
        let verified = bundle::verify(&source::source(name), &source::options(global))?;
        for problem in &verified.problems {
            out::warn(&problem.to_string());
        }
        let mut out = out::stdout();
        let (count, size) = (verified.documents, megabytes(verified.bytes));
        let word = if verified.problems.is_empty() { "sound" } else { "not sound" };
        writeln!(out, "{name}: {word}: {count} documents, {size}, {} problems", verified.problems.len())?;
        out.flush()?;
        sound &= verified.problems.is_empty();
    }
    Ok(if sound { 0 } else { UNREADABLE })
}

fn megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}
