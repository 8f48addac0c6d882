//! Writes a Snapshot as a bundle, whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use meshladder_capture::snapshot::{DocId, Snapshot};

use crate::CollectError;
use crate::layout::{Layout, id_in_bundle, tell};
use crate::manifest;
use crate::names::{ends_in, shown};
use crate::walk::walk;

/// The folder around all files of an archive, so that unpacking it makes one directory.
const TOP: &str = "bundle/";

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// How many documents.
    pub documents: usize,
    /// Their size in bytes.
    pub bytes: u64,
    /// The size of the archive; of a directory the same as `bytes` and the manifest.
    pub written: u64,
    /// Documents that could no longer be read, and why. The manifest notes them as partial.
    pub failed: Vec<(DocId, String)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Directory,
    Tar,
    TarGz,
    TarZst,
}

/// Writes a bundle: `.tar`, `.tar.gz`, `.tar.zst` or a directory, by its name. It appears under its
/// name only when it is whole. An archive of that name is replaced, and so is a directory that is
/// empty or a bundle. Several sources are bundles side by side, each in the folder of its name.
///
/// # Errors
/// When something else has that name, or the disk refuses.
pub fn write(snapshot: &Snapshot, to: &Path) -> Result<Summary, CollectError> {
    let format = check(to)?;
    let unwritable = |why| CollectError::Unwritable {
        path: shown(&to.to_string_lossy()),
        why,
    };
    match format {
        Format::Directory => directory(snapshot, to).map_err(unwritable),
        _ => archive(snapshot, to, format).map_err(unwritable),
    }
}

/// Whether a bundle can be written under that name: who collects for minutes wants to know before.
///
/// # Errors
/// When the name tells no format, or something else has it.
pub fn check_name(to: &Path) -> Result<(), CollectError> {
    check(to).map(drop)
}

fn check(to: &Path) -> Result<Format, CollectError> {
    let path = || shown(&to.to_string_lossy());
    let format = Format::of(to).ok_or_else(|| CollectError::NoFormat { path: path() })?;
    check_target(to, format)?;
    fs::metadata(parent(to)).map_err(|why| CollectError::Unwritable { path: path(), why })?;
    Ok(format)
}

impl Format {
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let (stem, ending) = name.rsplit_once('.').unwrap_or((&name, ""));
        Some(match ending {
            "tar" => Self::Tar,
            "tgz" => Self::TarGz,
            "tzst" => Self::TarZst,
            "gz" if ends_in(stem, &["tar"]) => Self::TarGz,
            "zst" if ends_in(stem, &["tar"]) => Self::TarZst,
            // Most likely a slip: nobody wants a directory named `x.zip`.
            "zip" | "7z" | "xz" | "bz2" | "gz" | "zst" | "json" | "yaml" | "yml" | "txt" => {
                return None;
            }
            _ => Self::Directory,
        })
    }
}

/// Whether the name is free, or has what may be replaced.
fn check_target(to: &Path, format: Format) -> Result<(), CollectError> {
    let in_the_way = |what| {
        Err(CollectError::InTheWay {
            path: shown(&to.to_string_lossy()),
            what,
        })
    };
    let Ok(metadata) = fs::symlink_metadata(to) else {
        return Ok(());
    };
    match format {
        Format::Directory if !metadata.is_dir() => in_the_way("not a directory"),
        Format::Directory if !may_replace(to) => {
            in_the_way("a directory that is neither empty nor a bundle")
        }
        Format::Tar | Format::TarGz | Format::TarZst if !metadata.is_file() => {
            in_the_way("not a file")
        }
        _ => Ok(()),
    }
}

/// Only what is nothing but a bundle with a manifest may be replaced: somebody's notes beside it
/// must not be lost.
fn may_replace(directory: &Path) -> bool {
    let Ok(entries) = fs::read_dir(directory) else {
        return false;
    };
    let names: Vec<String> = entries
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    let of_bundle = ["k8s", "proxies", "istiod", "logs", "other", "manifest.json"];
    if names.is_empty() {
        return true;
    }
    if !holds_only_documents(directory) {
        return false;
    }
    match walk(directory).map(|tree| tell(&tree)) {
        Ok(Layout::Bundle {
            manifest: Some(_),
            top,
        }) if top.is_empty() => names.iter().all(|name| of_bundle.contains(&name.as_str())),
        Ok(Layout::Several { top, bundles }) if top.is_empty() => {
            let is_ours = |folder: &str| {
                fs::read_dir(directory.join(folder)).is_ok_and(|inside| {
                    inside.flatten().all(|entry| {
                        of_bundle.contains(&entry.file_name().to_string_lossy().as_ref())
                    })
                })
            };
            names
                .iter()
                .all(|name| bundles.iter().any(|(folder, _)| folder == name) && is_ours(name))
        }
        _ => false,
    }
}

/// Whether every file below a folder, hidden or not, has the name of a document or a manifest.
fn holds_only_documents(directory: &Path) -> bool {
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(directory.join(&folder)) else {
            return false;
        };
        for entry in entries {
            let Ok(entry) = entry else { return false };
            let path = folder.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_file() && is_of_bundle(&path.to_string_lossy()) => {}
                _ => return false,
            }
        }
    }
    true
}

fn is_of_bundle(path: &str) -> bool {
    let id = DocId::new(path);
    let inside = id.split().1;
    let is_manifest = path == "manifest.json" || path.ends_with("/manifest.json");
    let is_hidden = path.split('/').any(|part| part.starts_with('.'));
    !is_hidden && (is_manifest || id_in_bundle(inside).is_some())
}

/// Calls `put` with the path and text of each file of the bundle, the manifests last.
fn each(
    snapshot: &Snapshot,
    mut put: impl FnMut(&str, &[u8]) -> io::Result<()>,
) -> io::Result<Summary> {
    let mut summary = Summary {
        documents: 0,
        bytes: 0,
        written: 0,
        failed: Vec::new(),
    };
    for id in snapshot.ids() {
        let text = match snapshot.open(id) {
            Ok(document) if is_safe(id.as_str()) => document.text,
            Ok(_) => {
                summary
                    .failed
                    .push((id.clone(), "its name is no path inside a bundle".to_owned()));
                continue;
            }
            Err(problem) => {
                summary.failed.push((id.clone(), problem.to_string()));
                continue;
            }
        };
        put(id.as_str(), text.as_bytes())?;
        summary.documents += 1;
        summary.bytes += text.len() as u64;
    }
    summary.written = summary.bytes;
    let sources: Vec<&str> = snapshot.sources().map(|(name, _)| name).collect();
    for name in if sources.is_empty() {
        vec![""]
    } else {
        sources
    } {
        let manifest = manifest::write(snapshot, name, &summary.failed);
        let slash = if name.is_empty() { "" } else { "/" };
        put(&format!("{name}{slash}manifest.json"), manifest.as_bytes())?;
        summary.written += manifest.len() as u64;
    }
    Ok(summary)
}

fn is_safe(path: &str) -> bool {
    crate::names::inside(path).is_ok_and(|inside| inside == path)
}

fn parent(to: &Path) -> &Path {
    to.parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

fn archive(snapshot: &Snapshot, to: &Path, format: Format) -> io::Result<Summary> {
    let mut file = tempfile::Builder::new()
        .prefix(".meshladder-")
        .tempfile_in(parent(to))?;
    let writer = BufWriter::with_capacity(1 << 18, file.as_file_mut());
    let mut summary = match format {
        Format::TarGz => {
            let mut packer = flate2::write::GzEncoder::new(writer, flate2::Compression::default());
            let summary = tar(snapshot, &mut packer)?;
            packer.finish()?.flush()?;
            summary
        }
        Format::TarZst => {
            let mut packer = zstd::stream::write::Encoder::new(writer, 0)?;
            packer.include_checksum(true)?;
            let summary = tar(snapshot, &mut packer)?;
            packer.finish()?.flush()?;
            summary
        }
        Format::Tar | Format::Directory => {
            let mut writer = writer;
            let summary = tar(snapshot, &mut writer)?;
            writer.flush()?;
            summary
        }
    };
    summary.written = file.as_file().metadata()?.len();
    file.as_file().sync_all()?;
    file.persist(to)?;
    Ok(summary)
}

/// Nothing of this machine or this minute gets into the archive: the same Snapshot gives the same
/// bytes.
fn tar(snapshot: &Snapshot, writer: &mut dyn Write) -> io::Result<Summary> {
    let mtime = snapshot
        .taken_at()
        .and_then(|time| u64::try_from(time.seconds).ok())
        .unwrap_or(0);
    let mut tar = tar::Builder::new(writer);
    let summary = each(snapshot, |path, bytes| {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(mtime);
        tar.append_data(&mut header, format!("{TOP}{path}"), bytes)
    })?;
    tar.finish()?;
    Ok(summary)
}

fn directory(snapshot: &Snapshot, to: &Path) -> io::Result<Summary> {
    let temporary = tempfile::Builder::new()
        .prefix(".meshladder-")
        .tempdir_in(parent(to))?;
    // Private, like the archives: a mesh's innards are nobody else's business until their owner
    // says so.
    let fresh = tempfile::Builder::new()
        .prefix("new-")
        .tempdir_in(temporary.path())?
        .keep();
    let summary = each(snapshot, |path, bytes| {
        let file = fresh.join(path);
        fs::create_dir_all(file.parent().unwrap_or(&fresh))?;
        File::create_new(file)?.write_all(bytes)
    })?;
    swap(&fresh, to, &temporary.path().join("old"))?;
    Ok(summary)
}

/// Puts `fresh` in the place of `to`, which goes to `old`, to be removed with its parent.
fn swap(fresh: &Path, to: &Path, old: &Path) -> io::Result<()> {
    if to.exists() {
        fs::rename(to, old)?;
    }
    fs::rename(fresh, to).inspect_err(|_| {
        // Better the old bundle than none; the error is told in any case.
        let _: io::Result<()> = fs::rename(old, PathBuf::from(to));
    })
}
