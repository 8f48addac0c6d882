//! Which logs are read: files, stdin, or those of a bundle.

use std::path::Path;

use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Shape};
use meshladder_collect::{Log, Options, Source};
use meshladder_judge::ladder::Scope;
use meshladder_mesh::{ObjectRef, PodFacts};

use super::BundleContext;
use crate::args::Global;
use crate::args::logs::Logs;
use crate::cmd::target;
use crate::exit::{Failure, UNREADABLE, USAGE};

/// One log.
pub(super) enum LogInput {
    /// A file or stdin.
    File { name: String, source: Source },
    /// A document of the bundle.
    Document(DocId),
}

impl LogInput {
    /// As messages name it.
    pub(super) fn name(&self) -> &str {
        match self {
            Self::File { name, .. } => name,
            Self::Document(id) => id.as_str(),
        }
    }

    /// The document it is; a file is none of a bundle's.
    pub(super) fn document(&self) -> DocId {
        match self {
            Self::File { name, .. } => DocId::new(name.as_str()),
            Self::Document(id) => id.clone(),
        }
    }

    /// Opens a file; a document is opened by its Snapshot.
    pub(super) fn open(&self) -> Result<Option<Log>, Failure> {
        match self {
            Self::File { source, .. } => Ok(Some(Log::open(source, &Options::default())?)),
            Self::Document(_) => Ok(None),
        }
    }
}

/// What the arguments name.
pub(super) fn find(
    global: &Global,
    args: &Logs,
    behind: Option<&BundleContext>,
) -> Result<Vec<LogInput>, Failure> {
    let mut inputs = Vec::new();
    for word in &args.what {
        let source = Source::from(word.as_str());
        match behind {
            _ if is_file(word) => inputs.push(LogInput::File {
                name: source.to_string(),
                source,
            }),
            Some(behind) => inputs.extend(of_target(global, word, behind)?),
            None => {
                return Err(Failure::new(
                    UNREADABLE,
                    format!("there is no file `{word}`"),
                ));
            }
        }
    }
    let stdin = args.what.iter().filter(|word| *word == "-").count();
    if stdin > 1 || (stdin == 1 && global.source.iter().any(|path| path == Path::new("-"))) {
        return Err(Failure::new(USAGE, "stdin is named twice"));
    }
    match behind {
        Some(behind) if args.what.is_empty() => {
            inputs.extend(
                documents(behind)
                    .filter(|id| in_namespace(id, global))
                    .cloned()
                    .map(LogInput::Document),
            );
            if inputs.is_empty() {
                return Err(Failure::new(UNREADABLE, "the source has no log"));
            }
        }
        None if args.what.is_empty() => {
            let hint = "name a file, `-` for stdin, or a bundle with -s";
            return Err(Failure::new(USAGE, "no log to read").hint(hint));
        }
        _ => {}
    }
    Ok(inputs)
}

/// Who wrote each log of a bundle, as namespace and pod: of each workload the first, since its pods
/// write alike.
pub(super) fn writers(
    inputs: &[LogInput],
    behind: &BundleContext,
) -> Vec<Option<(String, String)>> {
    let mut found = std::collections::BTreeMap::new();
    let writer = |input: &LogInput| {
        let LogInput::Document(id) = input else {
            return None;
        };
        let mut parts = id.split().1.split('/').skip(1);
        let (namespace, pod) = (parts.next()?, parts.next()?);
        let own = || ObjectRef::of(Kind::Pod, namespace, pod);
        let workload = behind
            .mesh
            .pod(namespace, pod)
            .map_or_else(own, PodFacts::workload);
        Some(
            found
                .entry(workload)
                .or_insert_with(|| (namespace.to_owned(), pod.to_owned()))
                .clone(),
        )
    };
    inputs.iter().map(writer).collect()
}

/// Whether a word names a file, or stdin; else it names a pod or workload.
pub(super) fn is_file(word: &str) -> bool {
    word == "-" || Path::new(word).exists()
}

fn documents(behind: &BundleContext) -> impl Iterator<Item = &DocId> {
    behind.snapshot.ids().filter(|id| id.shape() == Shape::Log)
}

fn in_namespace(id: &DocId, global: &Global) -> bool {
    let namespace = id.split().1.split('/').nth(1);
    global
        .namespace
        .as_deref()
        .is_none_or(|wanted| namespace == Some(wanted))
}

/// The logs of a pod, or of the pods of a workload.
fn of_target(
    global: &Global,
    word: &str,
    behind: &BundleContext,
) -> Result<Vec<LogInput>, Failure> {
    let logs_of = |namespace: &str, pod: &str| -> Vec<LogInput> {
        let start = format!("logs/{namespace}/{pod}/");
        documents(behind)
            .filter(|id| id.split().1.starts_with(&start))
            .cloned()
            .map(LogInput::Document)
            .collect()
    };
    // Where pods may not be read, the logs' own names have to do.
    if let Some((namespace, pod)) = word.split_once('/') {
        let found = logs_of(namespace, pod);
        if !found.is_empty() {
            return Ok(found);
        }
    }
    let found = match target::scope(
        word,
        global.namespace.as_deref(),
        &behind.snapshot,
        &behind.mesh,
    )? {
        Scope::Workload { pods, .. } => pods
            .iter()
            .filter(|pod| pod.is(Kind::Pod))
            .flat_map(|pod| logs_of(&pod.namespace, &pod.name))
            .collect(),
        _ => Vec::new(),
    };
    if found.is_empty() {
        Err(Failure::new(
            UNREADABLE,
            format!("the source has no log of {word}"),
        ))
    } else {
        Ok(found)
    }
}
