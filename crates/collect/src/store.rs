//! Where unpacked bytes are kept: in memory as long as they are few, then in one private temporary
//! file.

use std::cell::Cell;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use crate::CollectError;
use crate::names::size;
use crate::source_file::Body;

/// How much of all sources together is held in memory.
const MEMORY: u64 = 64 << 20;

/// What one run may read, and what it has kept so far.
#[derive(Debug)]
pub(crate) struct Store {
    max_size: u64,
    /// How much more may be found in archives and unpacked.
    left: Rc<Cell<u64>>,
    /// The size of the documents so far.
    documents: u64,
    /// The source that is being read, as the user knows it, and whether there were documents before
    /// it.
    source: String,
    is_first: bool,
    memory: u64,
    spool: Option<Slice>,
}

/// A part of a file that stays open.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    file: Arc<Mutex<File>>,
    at: u64,
    len: u64,
}

/// What a reader says when more would be unpacked than allowed.
#[derive(Debug)]
pub(crate) struct OverLimit;

impl Store {
    pub(crate) fn new(max_size: u64) -> Self {
        let left = Rc::new(Cell::new(max_size));
        Self {
            max_size,
            left,
            documents: 0,
            source: String::new(),
            is_first: true,
            memory: MEMORY,
            spool: None,
        }
    }

    /// The limit for all documents together.
    pub(crate) fn max_size(&self) -> u64 {
        self.max_size
    }

    /// From now on another source is read.
    pub(crate) fn begin(&mut self, source: &str) {
        source.clone_into(&mut self.source);
        self.is_first = self.documents == 0;
        self.left
            .set(self.left.get().min(self.max_size - self.documents));
    }

    /// Counts a member of an archive before it is read.
    ///
    /// # Errors
    /// When that is more than allowed.
    pub(crate) fn member(&self, name: &str, len: u64) -> Result<(), CollectError> {
        let left = self
            .left
            .get()
            .checked_sub(len)
            .ok_or_else(|| self.too_large_with(name, len))?;
        self.left.set(left);
        Ok(())
    }

    /// Counts a document, wherever it comes from.
    ///
    /// # Errors
    /// When all of them together are more than allowed.
    pub(crate) fn document(&mut self, name: &str, len: u64) -> Result<(), CollectError> {
        let sum = self
            .documents
            .checked_add(len)
            .filter(|sum| *sum <= self.max_size);
        self.documents = sum.ok_or_else(|| self.too_large_with(name, len))?;
        Ok(())
    }

    /// The source is too large.
    pub(crate) fn too_large(&self) -> CollectError {
        let before = (!self.is_first).then(|| "the sources before it count too".to_owned());
        self.too_large_because(before)
    }

    /// The source is too large, and why that is known before it is read.
    pub(crate) fn too_large_because(&self, why: Option<String>) -> CollectError {
        CollectError::TooLarge {
            origin: self.source.clone(),
            max: self.max_size,
            why,
        }
    }

    fn too_large_with(&self, name: &str, len: u64) -> CollectError {
        if len > self.max_size && name != self.source {
            return self.too_large_because(Some(format!("{name} alone is {}", size(len))));
        }
        self.too_large()
    }

    /// A reader whose bytes count as unpacked.
    pub(crate) fn metered<R: Read>(&self, inner: R) -> MeteredReader<R> {
        MeteredReader {
            inner,
            left: Rc::clone(&self.left),
        }
    }

    /// Whether so many more bytes may be held in memory; they count from now on.
    pub(crate) fn hold(&mut self, bytes: u64) -> bool {
        let held = self.memory >= bytes;
        self.memory -= if held { bytes } else { 0 };
        held
    }

    /// Keeps what a reader gives. When reading fails, what came before is kept, and the error is
    /// told.
    pub(crate) fn keep(
        &mut self,
        reader: &mut dyn Read,
        expected: u64,
    ) -> (Body, Option<io::Error>) {
        let mut bytes = Vec::new();
        if expected <= self.memory
            && bytes
                .try_reserve_exact(usize::try_from(expected).unwrap_or(0))
                .is_ok()
        {
            let read = reader.take(self.memory).read_to_end(&mut bytes);
            if read.is_err() || (bytes.len() as u64) < self.memory {
                bytes.shrink_to_fit();
                self.hold(bytes.len() as u64);
                return (Body::Held(bytes), read.err());
            }
        }
        self.spill(&bytes, reader)
    }

    fn spill(&mut self, first: &[u8], rest: &mut dyn Read) -> (Body, Option<io::Error>) {
        let spool = match self.spool.take().map_or_else(new_spool, Ok) {
            Ok(spool) => spool,
            Err(error) => return (Body::Held(Vec::new()), Some(error)),
        };
        let (written, error) = spool.append(first, rest);
        let kept = Slice {
            at: spool.len,
            len: written,
            ..spool.clone()
        };
        self.spool = Some(Slice {
            len: spool.len + written,
            ..spool
        });
        (Body::Slice(kept), error)
    }
}

/// A file without a name: it is gone with the process, whatever happens.
fn new_spool() -> io::Result<Slice> {
    let file = tempfile::tempfile().map_err(|error| temporary(&error))?;
    Ok(Slice {
        file: Arc::new(Mutex::new(file)),
        at: 0,
        len: 0,
    })
}

fn temporary(error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("temporary file: {}", crate::error::plain(error)),
    )
}

impl Slice {
    /// A whole file.
    pub(crate) fn of(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self {
            file: Arc::new(Mutex::new(file)),
            at: 0,
            len,
        })
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// A part of this part; it may reach no further than this one.
    pub(crate) fn part(&self, at: u64, len: u64) -> Option<Self> {
        let end = at.checked_add(len).filter(|end| *end <= self.len);
        end.map(|_| Self {
            file: Arc::clone(&self.file),
            at: self.at + at,
            len,
        })
    }

    /// Reads the first `max` bytes.
    pub(crate) fn read(&self, max: u64) -> io::Result<Vec<u8>> {
        // The lock guards only the file's position, which every reader sets first.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.at))?;
        exactly(&mut *file, self.len.min(max))
    }

    fn append(&self, first: &[u8], rest: &mut dyn Read) -> (u64, Option<io::Error>) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let mut writer = BufWriter::with_capacity(1 << 18, &mut *file);
        let mut copy = || -> io::Result<()> {
            writer
                .seek(SeekFrom::Start(self.at + self.len))
                .map_err(|error| temporary(&error))?;
            writer.write_all(first).map_err(|error| temporary(&error))?;
            let copied = io::copy(rest, &mut writer);
            writer.flush().map_err(|error| temporary(&error))?;
            copied.map(drop)
        };
        let error = copy().err();
        drop(writer);
        let end = file.stream_position().unwrap_or(self.len);
        (end.saturating_sub(self.at + self.len), error)
    }
}

/// Reads so many bytes into memory that is reserved once.
///
/// # Errors
/// When there are fewer, or memory is short.
pub(crate) fn exactly(reader: &mut dyn Read, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let room = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes
        .try_reserve_exact(room)
        .map_err(|_| io::ErrorKind::OutOfMemory)?;
    reader.take(len).read_to_end(&mut bytes)?;
    if bytes.len() < room {
        Err(io::ErrorKind::UnexpectedEof.into())
    } else {
        Ok(bytes)
    }
}

/// See [`Store::metered`].
pub(crate) struct MeteredReader<R> {
    inner: R,
    left: Rc<Cell<u64>>,
}

impl<R: Read> Read for MeteredReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        if left == 0 && !buf.is_empty() {
            return if self.inner.read(&mut [0])? == 0 {
                Ok(0)
            } else {
                Err(io::Error::other(OverLimit))
            };
        }
        let room = usize::try_from(left).unwrap_or(usize::MAX).min(buf.len());
        let read = self.inner.read(&mut buf[..room])?;
        self.left.set(left - read as u64);
        Ok(read)
    }
}

impl OverLimit {
    /// Whether that is what a reader said.
    pub(crate) fn is(error: &io::Error) -> bool {
        error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<Self>())
            .is_some()
    }
}

impl fmt::Display for OverLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unpacked it is larger than --max-size allows")
    }
}

impl std::error::Error for OverLimit {}
