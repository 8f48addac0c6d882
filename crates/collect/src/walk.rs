//! Finds the files of a directory.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use meshladder_capture::snapshot::Problem;

use crate::archive::{MAX_FILES, Tree};
use crate::error::plain;
use crate::names::{self, shown};
use crate::source_file::{Body, OnDisk, SourceFile};

/// The files below a directory, sorted. Hidden ones are left out; links to directories are not
/// followed, and links to files only when they stay below the directory.
///
/// # Errors
/// When the directory itself cannot be listed.
pub(crate) fn walk(root: &Path) -> io::Result<Tree> {
    let real = fs::canonicalize(root)?;
    let mut walk = Walk {
        root,
        real,
        tree: Tree::default(),
        links: Vec::new(),
        seen: BTreeSet::new(),
    };
    let mut folders = walk.list(Path::new(""))?;
    while let Some(folder) = folders.pop() {
        match walk.list(&folder) {
            Ok(inner) => folders.extend(inner),
            Err(error) => {
                let folder = folder.join("");
                walk.problem(&folder, format!("cannot be listed: {}", plain(&error)));
            }
        }
        if walk.tree.files.len() + walk.links.len() > MAX_FILES {
            let why = format!("has more than {MAX_FILES} files; the rest was not read");
            walk.tree.cut = Some(why.clone());
            walk.problem(Path::new(""), why);
            break;
        }
    }
    walk.follow_links();
    walk.tree.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(walk.tree)
}

struct Walk<'a> {
    root: &'a Path,
    real: PathBuf,
    tree: Tree,
    links: Vec<PathBuf>,
    /// The real paths of the files found so far.
    seen: BTreeSet<PathBuf>,
}

impl Walk<'_> {
    /// Notes the files of one folder and gives the folders in it. Paths are relative to the root.
    fn list(&mut self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let mut folders = Vec::new();
        for entry in fs::read_dir(self.root.join(folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with('.') {
                continue;
            }
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(path),
                Ok(kind) if kind.is_symlink() => self.links.push(path),
                Ok(kind) if kind.is_file() => self.file(&path, entry.metadata()),
                Ok(_) if is_document(&path) => {
                    self.problem(&path, "is a pipe, a socket or a device; not read");
                }
                Ok(_) => {}
                Err(error) => self.problem(&path, format!("cannot be read: {}", plain(&error))),
            }
        }
        Ok(folders)
    }

    fn file(&mut self, path: &Path, metadata: io::Result<Metadata>) {
        match (metadata, path.to_string_lossy()) {
            (Ok(_), name) if name.contains(char::is_control) => {
                self.problem(path, "has control characters in its name; not read");
            }
            (Ok(metadata), name) => {
                self.seen.insert(self.real.join(path));
                let full = self.root.join(path);
                let (path, origin) = (name.replace('\\', "/"), shown(&full.to_string_lossy()));
                self.tree.files.push(SourceFile {
                    path,
                    origin,
                    body: Body::OnDisk(OnDisk::new(full, &metadata)),
                });
            }
            (Err(error), _) => self.problem(path, format!("cannot be read: {}", plain(&error))),
        }
    }

    /// A mounted `ConfigMap` is links to `..data/…`, a hidden folder beside them; so links that
    /// stay inside are followed, unless what they lead to was found anyway.
    fn follow_links(&mut self) {
        let mut links = std::mem::take(&mut self.links);
        links.sort();
        for link in links {
            let target = fs::canonicalize(self.root.join(&link));
            match target.and_then(|target| Ok((fs::metadata(&target)?, target))) {
                Ok((_, target)) if self.seen.contains(&target) => {}
                Ok((metadata, target)) if !target.starts_with(&self.real) => {
                    if metadata.is_dir() || is_document(&link) {
                        self.problem(
                            &link,
                            "is a link that leads out of the directory; not followed",
                        );
                    }
                }
                Ok((metadata, target)) if metadata.is_file() => {
                    self.file(&link, Ok(metadata));
                    self.seen.insert(target);
                }
                Err(error) if is_document(&link) => {
                    self.problem(
                        &link,
                        format!("is a link that leads nowhere: {}", plain(&error)),
                    );
                }
                Ok(_) | Err(_) => {}
            }
        }
    }

    fn problem(&mut self, path: &Path, what: impl Into<String>) {
        let full = self.root.join(path);
        let problem = Problem::new(shown(full.to_string_lossy().trim_end_matches('/')), what);
        let lost = path.to_string_lossy().replace('\\', "/");
        self.tree.lost.push((lost, problem.to_string()));
        self.tree.problems.push(problem);
    }
}

/// A socket or a broken link matters only when it has the name of a document.
fn is_document(path: &Path) -> bool {
    names::is_document(names::unpacked(&path.to_string_lossy()))
}
