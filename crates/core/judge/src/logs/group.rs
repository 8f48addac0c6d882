//! Lines that ended alike.

use std::collections::BTreeMap;

use super::hash::{hash, mix};
use super::histogram::Histogram;
use super::judge::{AnswerClass, LineJudgement, LogSide};
use meshladder_capture::access_log::{AccessLine, AccessRecord, LogField};
use meshladder_text::time::Time;

/// A line, as evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineExample<T = String> {
    /// The log it stands in.
    pub source: usize,
    /// Its number there.
    pub number: u64,
    /// As it is.
    pub text: T,
}

/// How often each of some values was met; of too many only that there are more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Top {
    counts: BTreeMap<String, u64>,
    /// How often it was one that is not counted by itself.
    pub more: u64,
}

/// Lines with the same status, flags, details, cluster and hop.
#[derive(Clone, Debug)]
pub struct LineGroup {
    /// Status.
    pub code: u16,
    /// The flags as a set, sorted.
    pub flags: Vec<String>,
    /// Response code details; for a connection why it was ended.
    pub details: String,
    /// The cluster.
    pub cluster: String,
    /// Who answered, where, and how it went.
    pub judgement: LineJudgement,
    /// How many lines.
    pub count: u64,
    /// The first and the last.
    pub between: Option<(Time, Time)>,
    /// Over time.
    pub histogram: Histogram,
    /// Milliseconds: the shortest, the longest, the sum.
    pub duration: Option<(u64, u64, u64)>,
    /// Upstream addresses; not counted when all went well.
    pub upstreams: Top,
    /// `GET /path`, the same.
    pub requests: Top,
    /// Why the connection to the upstream failed.
    pub failures: Top,
    /// The first few lines.
    pub examples: Vec<LineExample>,
    /// The first line, taken apart.
    pub sample: AccessLine,
}

/// How many values are counted one by one. With more, which of them depends on how the lines were
/// shared out.
const MOST_VALUES: usize = 256;

/// How many lines are kept as evidence.
const MOST_EXAMPLES: usize = 3;

impl Top {
    pub(super) fn add(&mut self, value: &str, count: u64) {
        if let Some(known) = self.counts.get_mut(value) {
            *known += count;
        } else if self.counts.len() < MOST_VALUES {
            self.counts.insert(value.to_owned(), count);
        } else {
            self.more += count;
        }
    }

    fn merge(&mut self, other: &Self) {
        other
            .counts
            .iter()
            .for_each(|(value, count)| self.add(value, *count));
        self.more += other.more;
    }

    /// The most frequent first.
    pub fn sorted(&self) -> Vec<(&str, u64)> {
        let mut all: Vec<_> = self
            .counts
            .iter()
            .map(|(value, count)| (value.as_str(), *count))
            .collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        all
    }
}

/// A line as evidence: nobody reads a megabyte of it.
fn excerpt(text: &str) -> String {
    const LONGEST: usize = 4 << 10;
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let end = (0..=LONGEST)
        .rev()
        .find(|&at| text.is_char_boundary(at))
        .unwrap_or(0);
    format!("{}… ({} bytes more)", &text[..end], text.len() - end)
}

impl LineGroup {
    /// What lines of one group have in common. "Compare as sets, never as strings": the order of
    /// flags does not count.
    pub(super) fn key(record: &AccessRecord<'_>, side: LogSide) -> u64 {
        let flags = record
            .flags()
            .fold(0, |sum: u64, flag| sum.wrapping_add(hash(flag)));
        let texts = [
            record.get(LogField::Code),
            details(record),
            record.get(LogField::Cluster),
        ];
        texts
            .iter()
            .fold(mix(flags, side as u64), |key, text| mix(key, hash(text)))
    }

    /// Whether a line is of this group, should two keys ever be the same by chance.
    pub(super) fn is_of(&self, record: &AccessRecord<'_>, side: LogSide) -> bool {
        let flags = || {
            record.flags().all(|flag| self.has(flag)) && record.flags().count() == self.flags.len()
        };
        self.cluster == record.get(LogField::Cluster)
            && self.details == details(record)
            && self.judgement.side == side
            && flags()
    }

    pub(super) fn new(record: &AccessRecord<'_>, judgement: LineJudgement) -> Self {
        let mut flags: Vec<String> = record.flags().map(str::to_owned).collect();
        flags.sort();
        Self {
            code: record.code(),
            flags,
            details: details(record).to_owned(),
            cluster: record.get(LogField::Cluster).to_owned(),
            judgement,
            count: 0,
            between: None,
            histogram: Histogram::default(),
            duration: None,
            upstreams: Top::default(),
            requests: Top::default(),
            failures: Top::default(),
            examples: Vec::new(),
            sample: AccessLine::from(record),
        }
    }

    pub(super) fn add(
        &mut self,
        record: &AccessRecord<'_>,
        start: Option<Time>,
        example: LineExample<&str>,
    ) {
        self.count += 1;
        if let Some(start) = start {
            self.histogram.add(start.seconds);
            self.between = Some(
                self.between
                    .map_or((start, start), |(a, b)| (a.min(start), b.max(start))),
            );
        }
        if let Some(ms) = record.number(LogField::Duration) {
            self.duration = Some(
                self.duration
                    .map_or((ms, ms, ms), |(a, b, sum)| (a.min(ms), b.max(ms), sum + ms)),
            );
        }
        if self.judgement.class == AnswerClass::Fine {
            return;
        }
        self.upstreams.add(record.get(LogField::UpstreamHost), 1);
        self.failures.add(record.get(LogField::Failure), 1);
        if !record.is_connection() {
            let path = record
                .get(LogField::Path)
                .split(['?', '#'])
                .next()
                .unwrap_or_default();
            self.requests
                .add(&format!("{} {path}", record.get(LogField::Method)), 1);
        }
        if self.examples.len() < MOST_EXAMPLES {
            let LineExample {
                source,
                number,
                text,
            } = example;
            self.examples.push(LineExample {
                source,
                number,
                text: excerpt(text.trim_end()),
            });
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.histogram.merge(&other.histogram);
        self.between = match (self.between, other.between) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, two) => one.or(two),
        };
        self.duration = match (self.duration, other.duration) {
            (Some((a, b, sum)), Some((c, d, more))) => Some((a.min(c), b.max(d), sum + more)),
            (one, two) => one.or(two),
        };
        self.upstreams.merge(&other.upstreams);
        self.requests.merge(&other.requests);
        self.failures.merge(&other.failures);
        if other.examples.first() < self.examples.first() && !other.examples.is_empty() {
            self.sample = other.sample;
        }
        self.examples.extend(other.examples);
        self.examples.sort();
        self.examples.truncate(MOST_EXAMPLES);
    }

    /// Whether it is about connections, not about requests of HTTP.
    pub fn is_connection(&self) -> bool {
        let AccessLine {
            method,
            protocol,
            path,
            ..
        } = &self.sample;
        self.code == 0 && [method, protocol, path].iter().all(|text| text.is_empty())
    }

    /// Whether a flag is set.
    pub fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|own| own == flag)
    }

    /// The flags as a log shows them.
    pub fn flags_text(&self) -> String {
        if self.flags.is_empty() {
            "-".to_owned()
        } else {
            self.flags.join(",")
        }
    }

    /// The details without what stands in brackets.
    pub fn details_name(&self) -> &str {
        self.details
            .split(['{', '[', '('])
            .next()
            .unwrap_or_default()
    }
}

/// Response code details, or for a connection why it was ended.
pub(super) fn details<'r>(record: &'r AccessRecord<'_>) -> &'r str {
    let details = record.get(LogField::Details);
    if details.is_empty() {
        record.get(LogField::Termination)
    } else {
        details
    }
}
