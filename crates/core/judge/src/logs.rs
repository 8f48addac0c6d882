//! What the lines of access logs come to: who ended each request, how often, since when, and why.
//!
//! A [`Collector`] reads lines and keeps counts, never lines; those of several threads are merged.
//! [`Stats::summary`] then tells causes from what only relays them.

use meshladder_capture::access_log::{AccessRecord, FormatList, LineKind, LogField, LogReader};
use meshladder_text::time::Time;

mod call;
mod cause;
mod filter;
mod formats;
mod group;
mod hash;
mod histogram;
mod join;
mod judge;
mod reason;
mod stats;

pub use call::{Asking, call, command};
pub use cause::{LogCause, LogSummary};
pub use filter::{Codes, LineFilter, Terms};
pub use formats::{LogFormats, of_logs, of_mesh, of_proxies};
pub use group::{LineExample, LineGroup, Top};
pub use histogram::Histogram;
pub use judge::{AnswerClass, LineJudgement, LogSide, Responder, judge};
pub use reason::{LogLead, grpc_status};
pub use stats::Stats;

/// Some lines of one log.
#[derive(Clone, Copy, Debug)]
pub struct Chunk<'c> {
    /// Which of the logs.
    pub source: usize,
    /// The number of its first line, from 1.
    pub first_line: u64,
    /// Whole lines.
    pub text: &'c str,
}

/// One line that passed the filter.
#[derive(Debug)]
pub enum Event<'e> {
    /// A request or a connection.
    Line {
        /// The log it stands in.
        source: usize,
        /// Its number there.
        number: u64,
        /// Its fields.
        record: &'e AccessRecord<'e>,
        /// Who ended it.
        judgement: LineJudgement,
    },
    /// A line that starts like one and cannot be read.
    Malformed {
        /// The log it stands in.
        source: usize,
        /// Its number there.
        number: u64,
        /// As it is.
        text: &'e str,
    },
}

/// Reads lines and counts them.
#[derive(Debug)]
pub struct Collector<'s> {
    /// One for each set of formats.
    readers: Vec<LogReader<'s>>,
    formats: &'s LogFormats,
    filter: &'s LineFilter,
    /// The filter lets everything through.
    is_open: bool,
    clock: Clock,
    stats: Stats,
}

/// Lines that follow each other started in the same second, most often.
#[derive(Debug, Default)]
struct Clock {
    /// `2026-11-15T06:31:02`
    second: String,
    seconds: i64,
}

impl Clock {
    fn read(&mut self, text: &str) -> Option<Time> {
        let same = text
            .strip_prefix(self.second.as_str())
            .filter(|_| !self.second.is_empty());
        // `.101Z`
        if let Some([b'.', a, b, c, b'Z']) = same.map(str::as_bytes)
            && [a, b, c].iter().all(|digit| digit.is_ascii_digit())
        {
            let ms = [a, b, c]
                .iter()
                .fold(0, |ms, digit| ms * 10 + u32::from(**digit - b'0'));
            return Some(Time {
                seconds: self.seconds,
                nanos: ms * 1_000_000,
            });
        }
        let time = Time::parse(text)?;
        self.second.clear();
        // With an offset the text before it is not UTC.
        if text.ends_with('Z') {
            self.second.push_str(text.get(..19).unwrap_or_default());
        }
        self.seconds = time.seconds;
        Some(time)
    }
}

impl<'s> Collector<'s> {
    /// A collector of what the filter lets through.
    pub fn new(formats: &'s LogFormats, filter: &'s LineFilter) -> Self {
        Self {
            readers: formats.sets().iter().map(FormatList::reader).collect(),
            formats,
            filter,
            is_open: filter.is_open(),
            clock: Clock::default(),
            stats: Stats::default(),
        }
    }

    /// Counts all lines of a chunk.
    pub fn chunk(&mut self, chunk: Chunk<'_>) {
        self.each(chunk, |_| {});
    }

    /// Collects a chunk, and tells each line.
    pub fn each(&mut self, chunk: Chunk<'_>, mut tell: impl FnMut(Event<'_>)) {
        let Chunk {
            source,
            first_line,
            text,
        } = chunk;
        let set = self.formats.set_of(source);
        let mut rest = text;
        let mut number = first_line;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |at| at + 1);
            let (line, after) = rest.split_at(end);
            self.line((source, set), number, line, &mut tell);
            rest = after;
            number += 1;
        }
    }

    fn line(
        &mut self,
        (source, set): (usize, usize),
        number: u64,
        text: &str,
        tell: &mut impl FnMut(Event<'_>),
    ) {
        match self.readers[set].read(text) {
            LineKind::Access(record) => {
                let judgement = judge(&record);
                let start = self.clock.read(record.get(LogField::Start));
                if self.is_open || self.filter.takes(&record, start, judgement) {
                    self.stats.add(
                        &record,
                        judgement,
                        start,
                        LineExample {
                            source,
                            number,
                            text,
                        },
                    );
                    tell(Event::Line {
                        source,
                        number,
                        record: &record,
                        judgement,
                    });
                } else {
                    self.stats.left_out += 1;
                }
            }
            LineKind::Malformed => {
                let text = text.trim_end();
                self.stats.malformed(LineExample {
                    source,
                    number,
                    text,
                });
                tell(Event::Malformed {
                    source,
                    number,
                    text,
                });
            }
            LineKind::Other => self.stats.other += 1,
            LineKind::Part => {}
        }
    }

    /// What was counted.
    pub fn finish(self) -> Stats {
        self.stats
    }
}

#[cfg(test)]
mod tests;
