//! Counts of lines, which can be merged.

use std::collections::BTreeMap;

use super::group::{LineExample, LineGroup};
use super::hash::{ByHash, hash};
use super::histogram::Histogram;
use super::join::Joins;
use super::judge::{AnswerClass, LineJudgement, address};
use meshladder_capture::access_log::{AccessRecord, LogField};
use meshladder_text::time::Time;

/// What was counted.
#[derive(Clone, Debug, Default)]
pub struct Stats {
    /// Requests.
    pub requests: u64,
    /// Connections that carry something else than HTTP.
    pub connections: u64,
    /// Requests and connections that the filter left out.
    pub left_out: u64,
    /// Lines that start like one of these and cannot be read.
    pub malformed: u64,
    /// Other lines.
    pub other: u64,
    /// How many are of each class, in the order of [`AnswerClass::ALL`].
    pub classes: [u64; 4],
    /// Over time: all that failed.
    pub failed: Histogram,
    /// The first and the last time.
    pub between: Option<(Time, Time)>,
    /// Lines of groups that were too many to be told apart.
    pub ungrouped: u64,
    /// The first few lines that cannot be read.
    pub malformed_examples: Vec<LineExample>,
    /// By the hash of what they have in common.
    pub(super) groups: ByHash<LineGroup>,
    pub(super) joins: Joins,
    /// Connections for which a listener had no filter chain: from which address, to which.
    pub(super) chainless: BTreeMap<(String, String), u64>,
}

/// More ways to end than this are not told apart.
const MOST_GROUPS: usize = 2_000;

/// How many pairs of addresses are kept.
const MOST_PAIRS: usize = 4096;

const MOST_MALFORMED: usize = 5;

impl Stats {
    pub(super) fn add(
        &mut self,
        record: &AccessRecord<'_>,
        judgement: LineJudgement,
        start: Option<Time>,
        example: LineExample<&str>,
    ) {
        if record.is_connection() {
            self.connections += 1;
        } else {
            self.requests += 1;
        }
        self.classes[judgement.class as usize] += 1;
        if let Some(start) = start {
            self.between = Some(
                self.between
                    .map_or((start, start), |(a, b)| (a.min(start), b.max(start))),
            );
            if judgement.class == AnswerClass::Failed {
                self.failed.add(start.seconds);
            }
        }
        self.chainless(record);
        let key = LineGroup::key(record, judgement.side);
        let source = example.source;
        let has_room = self.groups.len() < MOST_GROUPS;
        match self.groups.get_mut(&key) {
            Some(group) if group.is_of(record, judgement.side) => group.add(record, start, example),
            None if has_room => {
                let mut group = LineGroup::new(record, judgement);
                group.add(record, start, example);
                self.groups.insert(key, group);
            }
            _ => self.ungrouped += 1,
        }
        let id = record.get(LogField::RequestId);
        if !id.is_empty() {
            self.joins.add(hash(id), judgement, start, key, source);
        }
    }

    pub(super) fn malformed(&mut self, example: LineExample<&str>) {
        self.malformed += 1;
        if self.malformed_examples.len() < MOST_MALFORMED {
            let LineExample {
                source,
                number,
                text,
            } = example;
            self.malformed_examples.push(LineExample {
                source,
                number,
                text: text.to_owned(),
            });
        }
    }

    /// Such a line has no request id; addresses tell whose connection it was.
    fn chainless(&mut self, record: &AccessRecord<'_>) {
        if record.get(LogField::Details) == "filter_chain_not_found"
            && self.chainless.len() < MOST_PAIRS
        {
            let pair = (
                address(record.get(LogField::Remote)).to_owned(),
                record.get(LogField::Local).to_owned(),
            );
            *self.chainless.entry(pair).or_insert(0) += 1;
        }
    }

    /// Adds what another collector counted.
    pub fn merge(&mut self, other: Self) {
        self.requests += other.requests;
        self.connections += other.connections;
        self.left_out += other.left_out;
        self.malformed += other.malformed;
        self.other += other.other;
        self.ungrouped += other.ungrouped;
        self.classes
            .iter_mut()
            .zip(other.classes)
            .for_each(|(own, other)| *own += other);
        self.failed.merge(&other.failed);
        self.between = match (self.between, other.between) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, two) => one.or(two),
        };
        self.malformed_examples.extend(other.malformed_examples);
        self.malformed_examples.sort();
        self.malformed_examples.truncate(MOST_MALFORMED);
        let mut groups: Vec<_> = other.groups.into_iter().collect();
        groups.sort_by_key(|(key, _)| *key);
        for (key, group) in groups {
            if let Some(own) = self.groups.get_mut(&key) {
                own.merge(group);
            } else if self.groups.len() < MOST_GROUPS {
                self.groups.insert(key, group);
            } else {
                self.ungrouped += group.count;
            }
        }
        self.joins.merge(other.joins);
        other
            .chainless
            .into_iter()
            .for_each(|(pair, count)| *self.chainless.entry(pair).or_insert(0) += count);
    }

    /// How many are of a class.
    pub fn of(&self, class: AnswerClass) -> u64 {
        self.classes[class as usize]
    }
}
