//! Reads tar archives, member by member. Nothing is ever written where a member's name says.

use std::io::{self, Read};

use meshladder_capture::snapshot::Problem;
use tar::{EntryType, Header, PaxExtensions};

use crate::CollectError;
use crate::error::plain;
use crate::names::{ends_in, inside, is_hidden, shown, size};
use crate::source_file::{Body, HOLD, SourceFile};
use crate::store::{Slice, Store};

const BLOCK: u64 = 512;

/// A mesh of ten thousand proxies has about a hundred thousand files.
pub(crate) const MAX_FILES: usize = 500_000;

/// How much of a stream may be something else than documents: headers, and what is passed over. A
/// lower limit than --max-size would refuse many small files.
const MIN_OVERHEAD: u64 = 64 << 20;

/// No path is longer; a longer "name" is an attack on memory.
const MAX_NAME: u64 = 1 << 20;

/// The files of a directory or an archive, and what was wrong with it.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<SourceFile>,
    pub(crate) problems: Vec<Problem>,
    /// Why it may hold more than was read.
    pub(crate) cut: Option<String>,
    /// Files, and folders with a `/` at their end, that are there and could not be read, and why.
    pub(crate) lost: Vec<(String, String)>,
}

/// The bytes of an archive.
pub(crate) enum Tape<'a> {
    /// A compressed archive, or a pipe.
    Stream(&'a mut dyn Read),
    /// An archive on disk as it is: its members are parts of the file.
    File(Slice),
}

/// Whether these are the first bytes of a tar archive.
pub(crate) fn is_tar(head: &[u8]) -> bool {
    head.first_chunk::<512>().is_some_and(|block| {
        let zeros = block.iter().all(|&b| b == 0)
            && head.iter().take(1024).all(|&b| b == 0)
            && head.len() >= 1024;
        zeros || &block[257..262] == b"ustar" || has_checksum(block)
    })
}

/// Reads an archive. `name` is the archive as the user knows it.
///
/// # Errors
/// When it holds more than allowed.
pub(crate) fn read(name: &str, tape: Tape<'_>, store: &mut Store) -> Result<Tree, CollectError> {
    let mut reader = Reader {
        name,
        tape,
        at: 0,
        overhead: 0,
        store,
        tree: Tree::default(),
        next: MemberHeader::default(),
    };
    if let Err(stop) = reader.run() {
        let stop = match stop {
            Stop::Cut(why) => why,
            Stop::TooLarge(error) => return Err(error),
        };
        let what = format!(
            "{stop}; {} could be read, what follows is missing",
            files(reader.tree.files.len())
        );
        reader.tree.problems.push(Problem::new(name, what));
        reader.tree.cut = Some(format!("{name}: {stop}"));
    }
    Ok(reader.tree)
}

/// What ended the reading early.
enum Stop {
    /// What came before is of use.
    Cut(String),
    TooLarge(CollectError),
}

struct Reader<'a, 't> {
    name: &'a str,
    tape: Tape<'t>,
    at: u64,
    /// How much of a stream was no document.
    overhead: u64,
    store: &'a mut Store,
    tree: Tree,
    next: MemberHeader,
}

/// What a GNU or PAX header says of the member after it.
#[derive(Default)]
struct MemberHeader {
    name: Option<String>,
    size: Option<u64>,
    sparse: bool,
}

impl Reader<'_, '_> {
    fn run(&mut self) -> Result<(), Stop> {
        while let Some(block) = self.block()? {
            if block.iter().all(|&b| b == 0) {
                return self.drain();
            }
            if !has_checksum(&block) {
                return Err(format!("the archive is damaged at byte {}", self.at - BLOCK).into());
            }
            // What is refused costs memory too: it is told.
            if self.tree.files.len() + self.tree.problems.len() >= MAX_FILES {
                return Err(format!("the archive has more than {}", files(MAX_FILES)).into());
            }
            self.member(Header::from_byte_slice(&block))?;
        }
        Err("the archive is cut short".into())
    }

    /// Reads what is behind the last member: only there a compressed archive has its checksum, and
    /// nothing but zeros belongs there.
    fn drain(&mut self) -> Result<(), Stop> {
        const PART: u64 = 64 << 10;
        let at = self.at;
        loop {
            let mut bytes = Vec::new();
            match &mut self.tape {
                Tape::Stream(stream) => {
                    let read = stream.take(PART).read_to_end(&mut bytes);
                    read.map_err(|error| told(&error))?;
                }
                Tape::File(file) => {
                    let rest = file.len().saturating_sub(self.at).min(PART);
                    if let Some(part) = file.part(self.at, rest) {
                        bytes = part.read(rest).map_err(|error| told(&error))?;
                    }
                }
            }
            self.at += bytes.len() as u64;
            self.pass(bytes.len() as u64)?;
            if bytes.iter().any(|&b| b != 0) {
                let what = format!("there is more behind its end at byte {at}; not read");
                self.tree.problems.push(Problem::new(self.name, what));
                return Ok(());
            }
            if (bytes.len() as u64) < PART {
                return Ok(());
            }
        }
    }

    fn member(&mut self, header: &Header) -> Result<(), Stop> {
        let at = self.at - BLOCK;
        let len = header
            .entry_size()
            .map_err(|_| format!("the archive is damaged at byte {at}"))?;
        match header.entry_type() {
            EntryType::GNULongName => {
                let name = self.small(len)?;
                self.next.name = Some(
                    String::from_utf8_lossy(name.strip_suffix(b"\0").unwrap_or(&name)).into_owned(),
                );
                return Ok(());
            }
            EntryType::XHeader => return self.pax(len),
            EntryType::GNULongLink | EntryType::XGlobalHeader => return self.skip(len),
            _ => {}
        }
        let told = std::mem::take(&mut self.next);
        let name = told
            .name
            .unwrap_or_else(|| String::from_utf8_lossy(&header.path_bytes()).into_owned());
        if told.size.is_some_and(|size| size != len) {
            return Err(format!("`{}` has two sizes", shown(&name)).into());
        }
        match header.entry_type() {
            EntryType::Regular | EntryType::Continuous if name.ends_with('/') => self.skip(len),
            EntryType::Regular | EntryType::Continuous if !told.sparse => self.file(&name, len),
            EntryType::Directory => self.skip(len),
            EntryType::GNUSparse => {
                self.refuse(
                    &name,
                    "is stored as a sparse file; pack it again without --sparse",
                );
                self.sparse_map(header)?;
                self.skip(len)
            }
            kind => {
                self.refuse(&name, kind_of(kind));
                self.skip(len)
            }
        }
    }

    fn file(&mut self, name: &str, len: u64) -> Result<(), Stop> {
        let path = match inside(name) {
            Ok(path) if !is_hidden(&path) && !is_core_dump(&path) => path,
            Ok(_) => return self.skip(len),
            Err(why) => {
                self.refuse(name, why);
                return self.skip(len);
            }
        };
        let body = self.body(&path, len)?;
        self.tree.files.push(SourceFile {
            origin: format!("{}!{path}", self.name),
            path,
            body,
        });
        Ok(())
    }

    fn body(&mut self, path: &str, len: u64) -> Result<Body, Stop> {
        self.store.member(path, len)?;
        let cut = || format!("the archive is cut short inside `{path}`");
        let body = match &mut self.tape {
            Tape::File(file) => {
                let part = file.part(self.at, len).ok_or_else(cut)?;
                let hold = len <= HOLD && self.store.hold(len);
                if hold {
                    Body::Held(part.read(len).map_err(|_| cut())?)
                } else {
                    Body::Slice(part)
                }
            }
            Tape::Stream(stream) => {
                let (body, error) = self.store.keep(&mut stream.take(len), len);
                if let Some(error) = error {
                    return Err(told(&error).into());
                }
                if body.len() < len {
                    return Err(cut().into());
                }
                body
            }
        };
        self.at += len;
        self.padding(len)?;
        Ok(body)
    }

    /// `x` headers: "the following fields … override the associated fields in the header block"
    /// (POSIX pax).
    fn pax(&mut self, len: u64) -> Result<(), Stop> {
        let records = self.small(len)?;
        for record in PaxExtensions::new(&records).flatten() {
            match record.key_bytes() {
                b"path" => {
                    self.next.name =
                        Some(String::from_utf8_lossy(record.value_bytes()).into_owned());
                }
                b"size" => self.next.size = record.value().ok().and_then(|size| size.parse().ok()),
                key if key.starts_with(b"GNU.sparse.") => self.next.sparse = true,
                _ => {}
            }
        }
        Ok(())
    }

    /// "extended sparse headers … follow the header" (GNU tar); the last one has a zero in byte
    /// 504.
    fn sparse_map(&mut self, header: &Header) -> Result<(), Stop> {
        let mut more = header.as_gnu().is_some_and(tar::GnuHeader::is_extended);
        while more {
            more = self.block()?.is_some_and(|block| block[504] != 0);
        }
        Ok(())
    }

    fn refuse(&mut self, name: &str, why: &str) {
        let origin = format!("{}!{}", self.name, shown(name));
        let problem = Problem::new(origin, format!("{why}; not read"));
        if let Ok(path) = inside(name) {
            self.tree.lost.push((path, problem.to_string()));
        }
        self.tree.problems.push(problem);
    }

    /// What a long name or a PAX header holds.
    fn small(&mut self, len: u64) -> Result<Vec<u8>, Stop> {
        if len > MAX_NAME {
            return Err(format!("the archive has a file name of {}", size(len)).into());
        }
        let bytes = self.take(len)?.ok_or("the archive is cut short")?;
        self.padding(len)?;
        Ok(bytes)
    }

    fn block(&mut self) -> Result<Option<[u8; 512]>, Stop> {
        let bytes = self.take(BLOCK)?;
        Ok(bytes.and_then(|bytes| bytes.try_into().ok()))
    }

    /// So many bytes; none at the end.
    fn take(&mut self, len: u64) -> Result<Option<Vec<u8>>, Stop> {
        self.pass(len)?;
        let mut bytes = Vec::new();
        match &mut self.tape {
            Tape::File(file) => {
                let part = file
                    .part(self.at, len)
                    .or_else(|| file.part(self.at, file.len().checked_sub(self.at)?));
                bytes = part
                    .map_or(Ok(bytes), |part| part.read(len))
                    .map_err(|error| told(&error))?;
            }
            Tape::Stream(stream) => {
                stream
                    .take(len)
                    .read_to_end(&mut bytes)
                    .map_err(|error| told(&error))?;
            }
        }
        self.at += bytes.len() as u64;
        match bytes.len() as u64 {
            0 if len > 0 => Ok(None),
            read if read < len => Err("the archive is cut short".into()),
            _ => Ok(Some(bytes)),
        }
    }

    /// Passes over a member's content.
    fn skip(&mut self, len: u64) -> Result<(), Stop> {
        let end = self.at.checked_add(len).ok_or("the archive is damaged")?;
        self.pass(len)?;
        match &mut self.tape {
            Tape::File(file) if end > file.len() => return Err("the archive is cut short".into()),
            Tape::File(_) => {}
            Tape::Stream(stream) => {
                let passed = io::copy(&mut stream.take(len), &mut io::sink())
                    .map_err(|error| told(&error))?;
                if passed < len {
                    return Err("the archive is cut short".into());
                }
            }
        }
        self.at = end;
        self.padding(len)
    }

    /// Counts what is no document. In a file it costs nothing.
    fn pass(&mut self, len: u64) -> Result<(), Stop> {
        self.overhead = self.overhead.saturating_add(len);
        if matches!(self.tape, Tape::Stream(_))
            && self.overhead > self.store.max_size().max(MIN_OVERHEAD)
        {
            let why = "it has too much that is no document".to_owned();
            return Err(self.store.too_large_because(Some(why)).into());
        }
        Ok(())
    }

    /// Content fills whole blocks. The padding of the last member may be missing.
    fn padding(&mut self, len: u64) -> Result<(), Stop> {
        let padding = (BLOCK - len % BLOCK) % BLOCK;
        self.take(padding).map(drop)
    }
}

impl From<CollectError> for Stop {
    fn from(error: CollectError) -> Self {
        Self::TooLarge(error)
    }
}

impl<T: Into<String>> From<T> for Stop {
    fn from(why: T) -> Self {
        Self::Cut(why.into())
    }
}

/// The header's checksum: "the simple sum of all bytes in the header block", its own field taken as
/// blanks.
fn has_checksum(block: &[u8; 512]) -> bool {
    let sum: u32 = block
        .iter()
        .enumerate()
        .map(|(at, &b)| u32::from(if (148..156).contains(&at) { b' ' } else { b }))
        .sum();
    Header::from_byte_slice(block)
        .cksum()
        .is_ok_and(|told| told == sum)
}

/// Envoy's core dumps, in a bug-report: large, and of no use here.
fn is_core_dump(path: &str) -> bool {
    path.contains("/cores/") && ends_in(path, &["core"])
}

fn kind_of(kind: EntryType) -> &'static str {
    match kind {
        EntryType::Link => "is a hard link",
        EntryType::Symlink => "is a symbolic link",
        EntryType::Char | EntryType::Block => "is a device",
        EntryType::Fifo => "is a named pipe",
        EntryType::Regular | EntryType::Continuous => {
            "is stored as a sparse file; pack it again without --sparse"
        }
        _ => "is of a kind that is not known",
    }
}

/// What ended the stream, in our words.
fn told(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the archive is cut short".to_owned(),
        _ => format!("the archive is damaged: {}", plain(error)),
    }
}

fn files(count: usize) -> String {
    format!("{count} file{}", if count == 1 { "" } else { "s" })
}
