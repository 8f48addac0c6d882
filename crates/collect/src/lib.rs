//! Fills Snapshots: from files and from live clusters. The only crate that touches disk and
//! network.
//!
//! Whatever the source is, it goes three steps: `gather` finds its files, `layout` tells what each
//! of them is and names it as a document of the bundle layout, and the core's builder takes it,
//! redacted.

use std::fmt;
use std::io::Read;
use std::path::PathBuf;

use meshladder_capture::snapshot::{Builder, Snapshot};

mod archive;
mod bug_report;
pub mod bundle;
mod error;
mod gather;
mod layout;
pub mod live;
mod log;
mod loose;
mod manifest;
mod names;
mod packing;
pub mod prometheus;
mod replace;
mod sniff;
mod source_file;
mod store;
mod walk;

pub use error::CollectError;
use layout::SourceParts;
pub use log::Log;
pub use replace::replace;
use store::Store;

/// Where documents come from. What it is (a bundle, a bug-report, YAML, a dump) is told by its
/// content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A file or a directory.
    Path(PathBuf),
    /// Standard input.
    Stdin,
}

/// How to read sources.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many bytes the documents of all sources may have together, unpacked.
    pub max_size: u64,
    /// How much memory what is read of them may take.
    pub max_memory: u64,
    /// What `-` reads.
    pub stdin: fn() -> Box<dyn Read>,
}

/// Reads sources into one Snapshot. What cannot be read in part becomes a problem or coverage of
/// the Snapshot. With several sources each document's id starts with the number of its source,
/// counted from one. A source that holds several bundles, as of several clusters, is as many sources with the
/// names of their folders.
///
/// # Errors
/// When a source cannot be read at all, or is larger than allowed.
pub fn open(sources: &[Source], options: &Options) -> Result<Snapshot, CollectError> {
    let sources: Vec<_> = sources.iter().map(|source| (None, source)).collect();
    open_named(&sources, options)
}

/// Reads sources like [`open`]; one that is given the name of its cluster has it in place of a
/// number.
///
/// # Errors
/// As [`open`].
pub fn open_named(
    sources: &[(Option<&str>, &Source)],
    options: &Options,
) -> Result<Snapshot, CollectError> {
    if sources
        .iter()
        .filter(|(_, source)| **source == Source::Stdin)
        .count()
        > 1
    {
        return Err(CollectError::StdinTwice);
    }
    let mut store = Store::new(options.max_size);
    let mut builder = Builder::new();
    builder.max_memory(options.max_memory);
    for (at, (cluster, source)) in sources.iter().enumerate() {
        let is_first = !sources[..at].iter().any(|(other, _)| other == cluster);
        let number = match cluster {
            _ if sources.len() == 1 => String::new(),
            Some(name) if is_first => (*name).to_owned(),
            Some(name) => format!("{name}-{}", at + 1),
            None => (at + 1).to_string(),
        };
        let gathered = gather::gather(source, options, &mut store)?;
        for (name, mut settled) in layout::settle(gathered, &mut store)? {
            // Bundles side by side in one source are one of each cluster.
            let folder = Some(name.clone()).filter(|folder| !folder.is_empty());
            settled.meta.name = folder.or_else(|| cluster.map(str::to_owned));
            let dash = if number.is_empty() || name.is_empty() {
                ""
            } else {
                "-"
            };
            add(
                settled,
                &format!("{number}{dash}{name}"),
                &mut builder,
                &mut store,
            )?;
        }
    }
    Ok(builder.finish())
}

fn add(
    settled: SourceParts,
    source: &str,
    builder: &mut Builder,
    store: &mut Store,
) -> Result<(), CollectError> {
    let SourceParts {
        meta,
        documents,
        notes,
        problems,
    } = settled;
    builder.source(source, meta);
    for problem in problems {
        builder.problem(problem);
    }
    for (id, found) in documents {
        store.document(&found.origin, found.body.len())?;
        let id = if source.is_empty() {
            id
        } else {
            id.in_source(source)
        };
        found.add_to(builder, id, store);
    }
    for (need, coverage) in notes {
        builder.note_in(source, need, coverage);
    }
    Ok(())
}

impl Default for Options {
    fn default() -> Self {
        Self {
            max_size: 4 << 30,
            max_memory: 1 << 30,
            stdin: || Box::new(std::io::stdin().lock()),
        }
    }
}

/// `-` is standard input; anything else is a path.
impl<T: Into<PathBuf>> From<T> for Source {
    fn from(text: T) -> Self {
        let path = text.into();
        if path.as_os_str() == "-" {
            Self::Stdin
        } else {
            Self::Path(path)
        }
    }
}

/// As messages name it.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => f.write_str(&names::shown(&path.to_string_lossy())),
            Self::Stdin => f.write_str("stdin"),
        }
    }
}
