//! Compressed files, told by their first bytes.

use std::io::{self, Read};

use meshladder_capture::snapshot::Problem;

use crate::CollectError;
use crate::archive;
use crate::error::plain;
use crate::names::unpacked;
use crate::source_file::{Body, HEAD, SourceFile};
use crate::store::{OverLimit, Store};

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x1f, 0x8b, 8, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// A reader of what is inside.
    pub(crate) fn decoder<'a>(self, reader: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Self::Gzip => Box::new(flate2::read::MultiGzDecoder::new(reader)),
            Self::Zstd => Box::new(zstd::stream::read::Decoder::new(reader)?),
        })
    }
}

/// A reader whose first bytes have been looked at.
pub(crate) struct PeekReader<R> {
    head: Vec<u8>,
    at: usize,
    failed: Option<io::Error>,
    rest: R,
}

impl<R: Read> PeekReader<R> {
    pub(crate) fn new(mut rest: R) -> Self {
        let mut head = Vec::new();
        let failed = rest.by_ref().take(HEAD as u64).read_to_end(&mut head).err();
        Self {
            head,
            at: 0,
            failed,
            rest,
        }
    }

    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// What went wrong while the first bytes were read.
    pub(crate) fn failed(&self) -> Option<&io::Error> {
        self.failed.as_ref()
    }

    /// Whether the first bytes are all.
    pub(crate) fn is_whole(&self) -> bool {
        self.failed.is_none() && self.head.len() < HEAD
    }
}

impl<R: Read> Read for PeekReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.at < self.head.len() {
            let read = (&self.head[self.at..]).read(buf)?;
            self.at += read;
            return Ok(read);
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.rest.read(buf),
        }
    }
}

/// What a file turns out to be when it is unpacked.
pub(crate) enum PackedFile {
    /// A document: as it was, or what was compressed in it.
    File(SourceFile, Option<Problem>),
    /// An archive. It is a source of its own, not a document.
    Archive(SourceFile),
    Unreadable(Problem),
}

/// Unpacks a file of a directory or an archive when it is compressed.
///
/// # Errors
/// When it holds more than allowed.
pub(crate) fn unpack(found: SourceFile, store: &mut Store) -> Result<PackedFile, CollectError> {
    match try_unpack(found, store) {
        Ok(Some(unpacked)) => Ok(unpacked),
        Ok(None) => Err(store.too_large()),
        Err(problem) => Ok(PackedFile::Unreadable(problem)),
    }
}

/// Nothing when it is too much.
fn try_unpack(found: SourceFile, store: &mut Store) -> Result<Option<PackedFile>, Problem> {
    let (head, _) = found.head()?;
    if archive::is_tar(&head) {
        return Ok(Some(PackedFile::Archive(found)));
    }
    let Some(packing) = Packing::of(&head) else {
        return Ok(Some(PackedFile::File(found, None)));
    };
    drop(head);
    let problem = |error: &io::Error| {
        Problem::new(
            &found.origin,
            format!("cannot be unpacked: {}", plain(error)),
        )
    };
    let packed: Box<dyn Read> = match &found.body {
        Body::OnDisk(file) => Box::new(file.open().map_err(|error| problem(&error))?),
        _ => Box::new(io::Cursor::new(found.bytes()?)),
    };
    let decoder = packing.decoder(packed).map_err(|error| problem(&error))?;
    let mut reader = PeekReader::new(decoder);
    if archive::is_tar(reader.head()) {
        drop(reader);
        return Ok(Some(PackedFile::Archive(found)));
    }
    let (body, error) = store.keep(&mut store.metered(&mut reader), 0);
    drop(reader);
    let problem = match error {
        Some(error) if OverLimit::is(&error) => return Ok(None),
        Some(error) if body.len() == 0 => return Err(problem(&error)),
        error => error.map(|error| problem(&error)),
    };
    let path = unpacked(&found.path).to_owned();
    Ok(Some(PackedFile::File(
        SourceFile {
            path,
            origin: found.origin,
            body,
        },
        problem,
    )))
}
