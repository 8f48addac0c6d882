//! A file of a source, before anybody knows what it is.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use meshladder_capture::snapshot::{Builder, DocId, Problem};

use crate::error::plain;
use crate::store::{Slice, Store, exactly};

/// How much of a file is looked at to tell what it is.
pub(crate) const HEAD: usize = 64 << 10;

/// A document up to this size is held in memory; a larger one is read when its turn comes.
pub(crate) const HOLD: u64 = 1 << 20;

/// See the module.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// Its path inside the source, with `/`.
    pub(crate) path: String,
    /// Its name as the user knows it.
    pub(crate) origin: String,
    pub(crate) body: Body,
}

/// Where the bytes of a file are.
#[derive(Debug)]
pub(crate) enum Body {
    Held(Vec<u8>),
    Slice(Slice),
    OnDisk(OnDisk),
}

/// A file that is read when it is needed, if it is still the same then.
#[derive(Clone, Debug)]
pub(crate) struct OnDisk {
    path: PathBuf,
    len: u64,
    modified: Option<SystemTime>,
}

impl SourceFile {
    /// The first bytes, and whether they are all.
    pub(crate) fn head(&self) -> Result<(Cow<'_, [u8]>, bool), Problem> {
        let head = match &self.body {
            Body::Held(bytes) => Ok(Cow::Borrowed(bytes.get(..HEAD).unwrap_or(bytes))),
            Body::Slice(slice) => slice.read(HEAD as u64).map(Cow::Owned),
            Body::OnDisk(file) => file.read(HEAD as u64).map(Cow::Owned),
        };
        let head = head.map_err(|error| self.problem(&error))?;
        let whole = head.len() as u64 == self.body.len();
        Ok((head, whole))
    }

    /// All bytes.
    pub(crate) fn bytes(&self) -> Result<Cow<'_, [u8]>, Problem> {
        match &self.body {
            Body::Held(bytes) => Ok(Cow::Borrowed(bytes)),
            Body::Slice(slice) => slice
                .read(u64::MAX)
                .map(Cow::Owned)
                .map_err(|error| self.problem(&error)),
            Body::OnDisk(file) => file
                .read(u64::MAX)
                .map(Cow::Owned)
                .map_err(|error| self.problem(&error)),
        }
    }

    /// Reads a small file that is known to be of use now, so that it is opened only once.
    pub(crate) fn loaded(self, store: &mut Store) -> Result<Self, Problem> {
        match &self.body {
            Body::OnDisk(file) if file.len <= HOLD && store.hold(file.len) => {
                let bytes = file.read(u64::MAX).map_err(|error| self.problem(&error))?;
                Ok(Self {
                    body: Body::Held(bytes),
                    ..self
                })
            }
            _ => Ok(self),
        }
    }

    /// Makes it a document: at once when it is small, else a handle.
    pub(crate) fn add_to(self, builder: &mut Builder, id: DocId, store: &mut Store) {
        let len = self.body.len();
        let Self { origin, body, .. } = match self.loaded(store) {
            Ok(found) => found,
            Err(problem) => return builder.damage(&id, problem),
        };
        match body {
            Body::Held(bytes) => builder.add(id, origin, bytes),
            Body::OnDisk(file) => {
                let fetch = move || file.read(u64::MAX).map_err(|error| changed(&error));
                builder.defer(id, origin, len, Arc::new(fetch));
            }
            Body::Slice(slice) => {
                let fetch = move || slice.read(u64::MAX).map_err(|error| changed(&error));
                builder.defer(id, origin, len, Arc::new(fetch));
            }
        }
    }

    fn problem(&self, error: &io::Error) -> Problem {
        Problem::new(&self.origin, changed(error))
    }
}

impl Body {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::Held(bytes) => bytes.len() as u64,
            Self::Slice(slice) => slice.len(),
            Self::OnDisk(file) => file.len,
        }
    }
}

impl OnDisk {
    /// Notes a file's size and time, to see later whether it is still the same.
    pub(crate) fn new(path: PathBuf, metadata: &std::fs::Metadata) -> Self {
        Self {
            path,
            len: metadata.len(),
            modified: metadata.modified().ok(),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Opens it, if it is still what it was.
    pub(crate) fn open(&self) -> io::Result<File> {
        let file = File::open(&self.path)?;
        let now = file.metadata()?;
        if now.is_file() && now.len() == self.len && now.modified().ok() == self.modified {
            Ok(file)
        } else {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }

    fn read(&self, max: u64) -> io::Result<Vec<u8>> {
        exactly(&mut self.open()? as &mut dyn Read, self.len.min(max))
    }
}

/// What to say when a file that was there can no longer be read.
fn changed(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "has changed while it was being read; run again".to_owned(),
        io::ErrorKind::NotFound => "has vanished since it was first seen; run again".to_owned(),
        _ => format!("cannot be read: {}", plain(error)),
    }
}
