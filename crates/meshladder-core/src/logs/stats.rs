//! Counts of lines, which can be merged.

use std::collections::{BTreeMap, HashMap};

use super::group::{Example, Group, details};
use super::histogram::Histogram;
use super::join::{Joins, hash};
use super::judge::{Class, Judgement, Side, address};
use crate::access_log::{Field, Record};
use crate::time::Time;

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
    /// How many failed, by class: failed, refused, left, fine.
    pub classes: BTreeMap<Class, u64>,
    /// Over time: all that failed.
    pub failed: Histogram,
    /// The first and the last time.
    pub between: Option<(Time, Time)>,
    /// Lines of groups that were too many to be told apart.
    pub ungrouped: u64,
    /// The first few lines that cannot be read.
    pub malformed_examples: Vec<Example>,
    pub(super) groups: HashMap<String, Group>,
    pub(super) joins: Joins,
    /// Connections for which a listener had no filter chain: from which address, to which.
    pub(super) chainless: BTreeMap<(String, String), u64>,
    /// The key of the group being looked up.
    key: String,
}

/// More ways to end than this are not told apart.
const MOST_GROUPS: usize = 10_000;

/// How many pairs of addresses are kept.
const MOST_PAIRS: usize = 4096;

const MOST_MALFORMED: usize = 5;

impl Stats {
    pub(super) fn add(
        &mut self,
        record: &Record<'_>,
        judgement: Judgement,
        start: Option<Time>,
        example: Example<&str>,
    ) {
        if record.is_connection() {
            self.connections += 1;
        } else {
            self.requests += 1;
        }
        *self.classes.entry(judgement.class).or_insert(0) += 1;
        if let Some(start) = start {
            self.between = Some(self.between.map_or((start, start), |(a, b)| (a.min(start), b.max(start))));
            if judgement.class == Class::Failed {
                self.failed.add(start.seconds);
            }
        }
        self.chainless(record);
        self.key(record, judgement.side);
        let source = example.source;
        if let Some(group) = self.groups.get_mut(self.key.as_str()) {
            group.add(record, start, example);
        } else if self.groups.len() < MOST_GROUPS {
            let mut group = Group::new(record, judgement);
            group.add(record, start, example);
            self.groups.insert(self.key.clone(), group);
        } else {
            self.ungrouped += 1;
        }
        self.joins.add(record.get(Field::RequestId), judgement, start, hash(&self.key), source);
    }

    pub(super) fn malformed(&mut self, example: Example<&str>) {
        self.malformed += 1;
        if self.malformed_examples.len() < MOST_MALFORMED {
            let Example { source, number, text } = example;
            self.malformed_examples.push(Example { source, number, text: text.to_owned() });
        }
    }

    /// "compare as sets, never as strings": flags are sorted.
    fn key(&mut self, record: &Record<'_>, side: Side) {
        self.key.clear();
        self.key.push_str(record.get(Field::Code));
        self.key.push(char::from(b'0' + side as u8));
        let flags = record.get(Field::Flags);
        if flags.contains(',') {
            let mut flags: Vec<&str> = flags.split(',').collect();
            flags.sort_unstable();
            flags.iter().for_each(|flag| self.key.extend([flag, "\0"]));
        } else {
            self.key.push_str(flags);
            self.key.push('\0');
        }
        self.key.push_str(details(record));
        self.key.push('\0');
        self.key.push_str(record.get(Field::Cluster));
    }

    /// Such a line has no request id; addresses tell whose connection it was.
    fn chainless(&mut self, record: &Record<'_>) {
        if record.get(Field::Details) == "filter_chain_not_found" && self.chainless.len() < MOST_PAIRS {
            let pair = (address(record.get(Field::Remote)).to_owned(), record.get(Field::Local).to_owned());
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
        other.classes.iter().for_each(|(class, count)| *self.classes.entry(*class).or_insert(0) += count);
        self.failed.merge(&other.failed);
        self.between = match (self.between, other.between) {
            (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
            (one, two) => one.or(two),
        };
        self.malformed_examples.extend(other.malformed_examples);
        self.malformed_examples.sort();
        self.malformed_examples.truncate(MOST_MALFORMED);
        let mut groups: Vec<_> = other.groups.into_iter().collect();
        groups.sort_by(|a, b| a.0.cmp(&b.0));
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
        other.chainless.into_iter().for_each(|(pair, count)| *self.chainless.entry(pair).or_insert(0) += count);
    }

    /// How many are of a class.
    pub fn of(&self, class: Class) -> u64 {
        self.classes.get(&class).copied().unwrap_or(0)
    }
}
