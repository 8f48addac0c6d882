//! Finds the files of a source: of a directory, an archive, or one file.

use std::fs::{self, File, FileType};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path};

use meshladder_capture::snapshot::Problem;

use crate::archive::{self, Tape, Tree};
use crate::error::{plain, some_of};
use crate::names::unpacked;
use crate::packing::{Packing, PeekReader};
use crate::sniff::{Guess, sniff};
use crate::source_file::{Body, OnDisk, SourceFile};
use crate::store::{OverLimit, Slice, Store, exactly};
use crate::walk::walk;
use crate::{CollectError, Options, Source};

/// The files of one source.
#[derive(Debug)]
pub(crate) struct SourceFiles {
    /// The source as the user knows it.
    pub(crate) origin: String,
    /// The folder that the ids of its documents name, when the ids are made of paths.
    pub(crate) base: String,
    /// Whether it is one document, not a directory or an archive.
    pub(crate) is_file: bool,
    pub(crate) tree: Tree,
}

/// Finds the files of a source.
///
/// # Errors
/// When it cannot be read at all.
pub(crate) fn gather(
    source: &Source,
    options: &Options,
    store: &mut Store,
) -> Result<SourceFiles, CollectError> {
    let origin = source.to_string();
    store.begin(&origin);
    let Source::Path(path) = source else {
        return stream(origin, "stdin", (options.stdin)(), 0, store);
    };
    let unreadable = |why| CollectError::Unreadable {
        origin: origin.clone(),
        why,
    };
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        let tree = walk(path).map_err(unreadable)?;
        if tree.files.is_empty() && tree.problems.is_empty() {
            return Err(CollectError::Empty { origin });
        }
        return Ok(SourceFiles {
            base: base(path),
            origin,
            is_file: false,
            tree,
        });
    }
    if is_substituted(path) {
        let opened = File::open(path).map_err(unreadable)?;
        return stream(origin, "stdin", opened, 0, store);
    }
    if !metadata.is_file() {
        return Err(CollectError::NotAFile {
            origin,
            what: kind_of(metadata.file_type()),
        });
    }
    let opened = File::open(path).map_err(unreadable)?;
    regular(
        origin,
        path,
        OnDisk::new(path.clone(), &metadata),
        opened,
        store,
    )
}

fn regular(
    origin: String,
    path: &Path,
    on_disk: OnDisk,
    mut opened: File,
    store: &mut Store,
) -> Result<SourceFiles, CollectError> {
    let unreadable = |why| CollectError::Unreadable {
        origin: origin.clone(),
        why,
    };
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let head = PeekReader::new(&opened).head().to_vec();
    if head.is_empty() {
        return Err(CollectError::Empty { origin });
    }
    if Packing::of(&head) == Some(Packing::Gzip) {
        let expected = expected(&mut opened).map_err(unreadable)?;
        return stream(origin, &name, opened, expected, store);
    }
    opened.seek(SeekFrom::Start(0)).map_err(unreadable)?;
    if Packing::of(&head).is_some() {
        return stream(origin, &name, opened, 0, store);
    }
    // Some file systems do not tell sizes.
    if head.len() as u64 > on_disk.len() {
        return stream(origin, &name, opened, 0, store);
    }
    if archive::is_tar(&head) {
        let tape = Tape::File(Slice::of(opened).map_err(unreadable)?);
        let tree = archive::read(&origin, tape, store)?;
        return archived(origin, tree);
    }
    let body = Body::OnDisk(on_disk);
    if body.len() > store.max_size() {
        return Err(store.too_large());
    }
    let base = base(path.parent().unwrap_or(Path::new("")));
    Ok(one(origin, base, name, body, None))
}

/// A source that can be read only once, from its start: a pipe, or anything compressed.
fn stream(
    origin: String,
    name: &str,
    input: impl Read,
    expected: u64,
    store: &mut Store,
) -> Result<SourceFiles, CollectError> {
    let damaged = |why: &io::Error| CollectError::Damaged {
        origin: origin.clone(),
        why: plain(why),
    };
    let packed = PeekReader::new(input);
    let input: Box<dyn Read> = match Packing::of(packed.head()) {
        Some(packing) => packing.decoder(packed).map_err(|error| damaged(&error))?,
        None => Box::new(packed),
    };
    let mut reader = PeekReader::new(input);
    if archive::is_tar(reader.head()) {
        let tree = archive::read(&origin, Tape::Stream(&mut reader), store)?;
        return archived(origin, tree);
    }
    if reader.head().is_empty() {
        return Err(reader.failed().map_or(
            CollectError::Empty {
                origin: origin.clone(),
            },
            damaged,
        ));
    }
    // What is nothing known is not worth unpacking to the end: a bomb is not even lit.
    if let Guess::Unknown(what) = sniff(reader.head(), reader.is_whole()) {
        return Err(CollectError::Unknown { origin, what });
    }
    let (body, error) = store.keep(&mut store.metered(reader), expected);
    let problem = match error {
        Some(error) if OverLimit::is(&error) => return Err(store.too_large()),
        Some(error) => Some(Problem::new(
            &origin,
            format!("is cut short: {}", plain(&error)),
        )),
        None => None,
    };
    Ok(one(
        origin,
        String::new(),
        unpacked(name).to_owned(),
        body,
        problem,
    ))
}

fn one(
    origin: String,
    base: String,
    name: String,
    body: Body,
    problem: Option<Problem>,
) -> SourceFiles {
    let file = SourceFile {
        path: name,
        origin: origin.clone(),
        body,
    };
    let cut = problem.as_ref().map(Problem::to_string);
    let tree = Tree {
        files: vec![file],
        problems: problem.into_iter().collect(),
        cut,
        lost: Vec::new(),
    };
    SourceFiles {
        origin,
        base,
        is_file: true,
        tree,
    }
}

fn archived(origin: String, tree: Tree) -> Result<SourceFiles, CollectError> {
    match tree.problems.as_slice() {
        [] if tree.files.is_empty() => Err(CollectError::Empty { origin }),
        [problem] if tree.files.is_empty() => Err(CollectError::Damaged {
            origin,
            why: problem.what.clone(),
        }),
        problems if tree.files.is_empty() => Err(CollectError::Damaged {
            origin,
            why: some_of(problems),
        }),
        _ => Ok(SourceFiles {
            origin,
            base: String::new(),
            is_file: false,
            tree,
        }),
    }
}

/// How much a gzip file says it holds: its last four bytes, modulo 4 GiB. Only a hint, so it may
/// not ask for more than the file can hold (deflate packs 1,032 to 1 at best).
fn expected(file: &mut File) -> io::Result<u64> {
    let packed = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(packed.saturating_sub(4)))?;
    let told = exactly(file, 4)
        .ok()
        .and_then(|bytes| bytes.try_into().ok())
        .map_or(0, u32::from_le_bytes);
    file.seek(SeekFrom::Start(0))?;
    Ok(u64::from(told).min(packed.saturating_mul(1032)))
}

/// The folder for ids made of paths: as given, or none when it leads up or from the root, which is
/// nobody's business.
fn base(folder: &Path) -> String {
    let parts: Option<Vec<String>> = folder
        .components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| {
            matches!(part, Component::Normal(_))
                .then(|| part.as_os_str().to_string_lossy().into_owned())
        })
        .collect();
    parts.unwrap_or_default().join("/")
}

/// Whether the path is an open file of this very process, such as the shell's `<(kubectl get … -o
/// yaml)`.
fn is_substituted(path: &Path) -> bool {
    ["/dev/fd", "/proc/self/fd", "/dev/stdin"]
        .iter()
        .any(|folder| path.starts_with(folder))
}

#[cfg(unix)]
fn kind_of(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        kind if kind.is_fifo() => "a named pipe",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(not(unix))]
fn kind_of(_: FileType) -> &'static str {
    "a pipe, a socket or a device"
}
