//! The search: rows in order, narrowed level by level.

use std::borrow::Cow;

use super::super::inspect::Seen;
use super::level::{Key, LEVELS, Level, SourceType, server_names};

/// One combination of the values that a chain lists. Rows that agree up to a level stand together.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row<'a> {
    pub(super) keys: [Key<'a>; LEVELS.len()],
    /// The chain's number.
    pub(super) chain: usize,
}

/// How far a search came.
#[derive(Debug)]
pub(super) struct Path<'c, 'a> {
    /// The rows that were left; they agree in all levels that were passed.
    pub(super) rows: &'c [Row<'a>],
    /// The number of levels that were passed.
    pub(super) passed: usize,
    /// How it ended.
    pub(super) end: End,
}

/// The end of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// At this chain.
    Chain(usize),
    /// At a level where nothing matches.
    Nothing,
    /// At a level that needs this fact.
    Unknown(&'static str),
}

/// See [`longest`].
const AMBIGUOUS: &str =
    "which chain Envoy finds first, one for a range of length 0 or one without a range";

/// Adds a row for each combination of keys.
pub(super) fn push_rows<'a>(
    rows: &mut Vec<Row<'a>>,
    keys: &[Vec<Key<'a>>; LEVELS.len()],
    chain: usize,
) {
    let combinations = keys.iter().map(Vec::len).product();
    for number in 0..combinations {
        let mut rest: usize = number;
        let keys = std::array::from_fn(|level| {
            let values = &keys[level];
            let value = values[rest % values.len()].clone();
            rest /= values.len();
            value
        });
        rows.push(Row { keys, chain });
    }
}

/// Goes from level to level as long as rows are left.
pub(super) fn search<'c, 'a>(mut rows: &'c [Row<'a>], seen: &Seen<'_>) -> Path<'c, 'a> {
    for level in 0..LEVELS.len() {
        match step(level, rows, seen) {
            Ok(bucket) => rows = bucket,
            Err(end) => {
                return Path {
                    rows,
                    passed: level,
                    end,
                };
            }
        }
    }
    let end = rows
        .first()
        .map_or(End::Nothing, |row| End::Chain(row.chain));
    Path {
        rows,
        passed: LEVELS.len(),
        end,
    }
}

/// The rows that stay at a level, or the end of the search.
fn step<'c, 'a>(level: usize, rows: &'c [Row<'a>], seen: &Seen<'_>) -> Result<&'c [Row<'a>], End> {
    // Most levels tell nothing apart.
    match (rows.first(), rows.last()) {
        (Some(first), Some(last))
            if first.keys[level] == Key::Any && last.keys[level] == Key::Any =>
        {
            return Ok(rows);
        }
        (None, _) => return Err(End::Nothing),
        _ => {}
    }
    match LEVELS[level] {
        Level::DestinationPort => first_of(level, rows, [Key::Port(seen.destination.1)]),
        Level::Destination => longest(level, rows, seen),
        Level::ServerName => first_of(
            level,
            rows,
            server_names(&seen.server_name).map(|name| Key::Text(Cow::Borrowed(name))),
        ),
        Level::TransportProtocol => first_of(
            level,
            rows,
            [Key::Text(Cow::Borrowed(seen.transport_protocol))],
        ),
        // The first of the client's list that any chain names.
        Level::ApplicationProtocol => first_of(
            level,
            rows,
            seen.application_protocols
                .iter()
                .map(|p| Key::Text(Cow::Borrowed(p))),
        ),
        Level::DirectSource if seen.direct_source.is_some() => longest(level, rows, seen),
        Level::Source if seen.source.is_some() => longest(level, rows, seen),
        Level::SourceType if seen.source.is_some() => {
            first_of(level, rows, SourceType::seen(seen).map(Key::Source))
        }
        Level::DirectSource | Level::Source | Level::SourceType => {
            Err(End::Unknown("the source address"))
        }
        // Port 0 stands for a port that nobody knows: no connection comes from it.
        Level::SourcePort => match seen.source {
            Some((_, port)) if port != 0 => first_of(level, rows, [Key::Port(port)]),
            _ => Err(End::Unknown("the source port")),
        },
    }
}

/// The rows of the first of the keys that any row has; else those that take everything.
fn first_of<'c, 'a, 'k>(
    level: usize,
    rows: &'c [Row<'a>],
    keys: impl IntoIterator<Item = Key<'k>>,
) -> Result<&'c [Row<'a>], End> {
    let mut buckets = keys
        .into_iter()
        .chain([Key::Any])
        .map(|key| bucket(level, rows, &key));
    buckets.find(|rows| !rows.is_empty()).ok_or(End::Nothing)
}

/// The rows of the longest range that holds the address. "Any" is a range of both families and of
/// length 0; next to a range of length 0 that is written out, which of the two Envoy finds differs
/// from one start to the next.
fn longest<'c, 'a>(
    level: usize,
    rows: &'c [Row<'a>],
    seen: &Seen<'_>,
) -> Result<&'c [Row<'a>], End> {
    let matching =
        Buckets { level, rows }.filter(|bucket| bucket[0].keys[level].matches(LEVELS[level], seen));
    let best = matching
        .max_by_key(|bucket| length(&bucket[0].keys[level]))
        .ok_or(End::Nothing)?;
    let is_ambiguous =
        length(&best[0].keys[level]) == 0 && rows[0].keys[level] != best[0].keys[level];
    if is_ambiguous && rows[0].keys[level] == Key::Any {
        Err(End::Unknown(AMBIGUOUS))
    } else {
        Ok(best)
    }
}

fn length(key: &Key<'_>) -> u8 {
    if let Key::Range(range) = key {
        range.length()
    } else {
        0
    }
}

fn bucket<'c, 'a>(level: usize, rows: &'c [Row<'a>], key: &Key<'_>) -> &'c [Row<'a>] {
    let start = rows.partition_point(|row| row.keys[level] < *key);
    let length = rows[start..].partition_point(|row| row.keys[level] <= *key);
    &rows[start..start + length]
}

/// The rows of each key of a level.
struct Buckets<'c, 'a> {
    level: usize,
    rows: &'c [Row<'a>],
}

impl<'c, 'a> Iterator for Buckets<'c, 'a> {
    type Item = &'c [Row<'a>];

    fn next(&mut self) -> Option<Self::Item> {
        let key = &self.rows.first()?.keys[self.level];
        let length = self
            .rows
            .partition_point(|row| row.keys[self.level] <= *key);
        let (bucket, rest) = self.rows.split_at(length);
        self.rows = rest;
        Some(bucket)
    }
}
