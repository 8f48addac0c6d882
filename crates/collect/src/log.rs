//! A log, read piece by piece: however long it is, memory stays the same.

use std::fs::{self, File};
use std::io::{self, Read};

use crate::archive::is_tar;
use crate::error::plain;
use crate::packing::{Packing, PeekReader};
use crate::{CollectError, Options, Source};

/// How much is read at once. Small enough for the processor's cache, large enough to be worth a
/// thread's while.
const PIECE: usize = 512 << 10;

/// A longer line is no log's.
const LONGEST_LINE: usize = 64 << 20;

/// An open log.
pub struct Log {
    origin: String,
    input: Box<dyn Read>,
    /// The start of a line that goes on in what is not read yet.
    rest: Vec<u8>,
    next_line: u64,
    is_done: bool,
}

impl Log {
    /// Opens a file or standard input, compressed or not.
    ///
    /// # Errors
    /// When it cannot be read, or is an archive or a directory.
    pub fn open(source: &Source, options: &Options) -> Result<Self, CollectError> {
        let origin = source.to_string();
        let unreadable = |why| CollectError::Unreadable {
            origin: origin.clone(),
            why,
        };
        let file: Box<dyn Read> = match source {
            Source::Stdin => (options.stdin)(),
            Source::Path(path) if fs::metadata(path).map_err(unreadable)?.is_dir() => {
                return Err(CollectError::NoLog {
                    origin,
                    what: "a directory",
                });
            }
            Source::Path(path) => Box::new(File::open(path).map_err(unreadable)?),
        };
        let packed = PeekReader::new(file);
        let input: Box<dyn Read> = match Packing::of(packed.head()) {
            Some(packing) => {
                let decoder = packing.decoder(packed);
                decoder.map_err(|why| CollectError::Damaged {
                    origin: origin.clone(),
                    why: plain(&why),
                })?
            }
            None => Box::new(packed),
        };
        let input = PeekReader::new(input);
        if is_tar(input.head()) {
            return Err(CollectError::NoLog {
                origin,
                what: "an archive",
            });
        }
        Ok(Self {
            origin,
            input: Box::new(input),
            rest: Vec::new(),
            next_line: 1,
            is_done: false,
        })
    }

    /// The file, as the user knows it.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Fills the buffer with the next whole lines and gives the number of the first of them;
    /// nothing at the end.
    ///
    /// # Errors
    /// What the operating system or the decoder says. What was read before it is in the buffer,
    /// with its number lost.
    pub fn fill(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<u64>> {
        buffer.clear();
        buffer.append(&mut self.rest);
        while !self.is_done {
            let wanted = PIECE.saturating_sub(buffer.len()).max(PIECE / 2);
            let read = (&mut self.input).take(wanted as u64).read_to_end(buffer)?;
            self.is_done = read < wanted;
            let end = if self.is_done {
                buffer.len()
            } else {
                whole_lines(buffer)
            };
            if end > 0 || buffer.len() > LONGEST_LINE {
                let end = if end == 0 { buffer.len() } else { end };
                self.rest.extend_from_slice(&buffer[end..]);
                buffer.truncate(end);
                break;
            }
        }
        if buffer.is_empty() {
            return Ok(None);
        }
        let first = self.next_line;
        self.next_line += memchr::memchr_iter(b'\n', buffer).count() as u64;
        Ok(Some(first))
    }
}

/// How many bytes are whole lines. A line that the container runtime has cut (`<time> stdout P …`)
/// is not whole without the next.
fn whole_lines(buffer: &[u8]) -> usize {
    let mut end = memchr::memrchr(b'\n', buffer).map_or(0, |at| at + 1);
    while end > 0 {
        let start = memchr::memrchr(b'\n', &buffer[..end - 1]).map_or(0, |at| at + 1);
        if !is_part(&buffer[start..end]) {
            break;
        }
        end = start;
    }
    end
}

fn is_part(line: &[u8]) -> bool {
    let head = &line[..line.len().min(64)];
    line.first().is_some_and(u8::is_ascii_digit)
        && [&b" stdout P "[..], b" stderr P "]
            .iter()
            .any(|mark| memchr::memmem::find(head, mark).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        io::Write::write_all(&mut file, text).expect("it takes text");
        let mut log = Log::open(&Source::Path(file.path().to_owned()), &Options::default())
            .expect("it opens");
        let mut all = Vec::new();
        let mut buffer = Vec::new();
        while let Some(first) = log.fill(&mut buffer).expect("it reads") {
            all.push((first, buffer.clone()));
        }
        all
    }

    #[test]
    fn pieces_are_whole_lines_and_nothing_is_lost() {
        let lines: Vec<String> = (1..80_000)
            .map(|n| format!("{n} {}\n", "x".repeat(n % 40)))
            .collect();
        let text = lines.concat() + "the end";
        let pieces = pieces(text.as_bytes());
        assert!(pieces.len() > 2, "{}", pieces.len());
        assert_eq!(
            pieces
                .iter()
                .flat_map(|(_, piece)| piece.clone())
                .collect::<Vec<u8>>(),
            text.as_bytes()
        );
        for (first, piece) in &pieces {
            assert!(piece.starts_with(format!("{first} ").as_bytes()), "{first}");
        }
    }

    #[test]
    fn a_line_that_the_runtime_has_cut_stays_with_its_rest() {
        let line = |n: usize, tag| {
            format!(
                "2026-11-15T06:31:02.{n:09}Z stdout {tag} {}\n",
                "y".repeat(80)
            )
        };
        let text: String = (0..20_001)
            .map(|n| line(n, if n % 3 == 2 { "F" } else { "P" }))
            .collect();
        let pieces = pieces(text.as_bytes());
        assert!(pieces.len() > 2);
        for (_, piece) in pieces {
            let last = piece
                .strip_suffix(b"\n")
                .and_then(|text| text.rsplit(|b| *b == b'\n').next())
                .expect("a line");
            assert!(memchr::memmem::find(last, b" F ").is_some());
        }
    }

    #[test]
    fn an_archive_is_no_log_and_an_empty_file_has_no_lines() {
        assert!(pieces(b"").is_empty());
        let folder = Source::Path(std::env::temp_dir());
        assert!(matches!(
            Log::open(&folder, &Options::default()),
            Err(CollectError::NoLog { .. })
        ));
    }
}
