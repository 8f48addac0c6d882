//! The search: rows in order, narrowed level by level.

use super::super::inspect::InspectedConnection;
use super::level::{ChainKey, LEVELS, MatchLevel, SourceType, server_names};

/// One combination of the values that a chain lists. Rows that agree up to a level stand together.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChainRow<'a> {
    pub(super) keys: [ChainKey<'a>; LEVELS.len()],
    /// The chain's number.
    pub(super) chain: usize,
}

/// How far a search came.
#[derive(Debug)]
pub(super) struct SearchPath<'c, 'a> {
    /// The rows that were left; they agree in all levels that were passed.
    pub(super) rows: &'c [ChainRow<'a>],
    /// The number of levels that were passed.
    pub(super) passed: usize,
    /// How it ended.
    pub(super) end: SearchEnd,
}

/// The end of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchEnd {
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
    rows: &mut Vec<ChainRow<'a>>,
    keys: &[Vec<ChainKey<'a>>; LEVELS.len()],
    chain: usize,
) {
    let combinations = keys.iter().map(Vec::len).product();
    for number in 0..combinations {
        let keys = combination(number, keys);
        rows.push(ChainRow { keys, chain });
    }
}

/// The combination of that number: its digits, each in the base of how many values a level has.
fn combination<'a>(
    number: usize,
    keys: &[Vec<ChainKey<'a>>; LEVELS.len()],
) -> [ChainKey<'a>; LEVELS.len()] {
    let mut rest = number;
    let mut row = [const { ChainKey::Any }; LEVELS.len()];
    for (key, values) in row.iter_mut().zip(keys) {
        // The level's digit picks the value.
        *key = values[rest % values.len()].clone();
        rest /= values.len();
    }
    row
}

/// Goes from level to level as long as rows are left.
pub(super) fn search<'c, 'a>(
    mut rows: &'c [ChainRow<'a>],
    seen: &InspectedConnection<'_>,
) -> SearchPath<'c, 'a> {
    for level in 0..LEVELS.len() {
        match step(level, rows, seen) {
            Ok(bucket) => rows = bucket,
            Err(end) => {
                return SearchPath {
                    rows,
                    passed: level,
                    end,
                };
            }
        }
    }

    // Envoy refuses a listener in which two chains have the same criteria, so one chain is left.
    let end = match rows.first() {
        Some(row) => SearchEnd::Chain(row.chain),
        None => SearchEnd::Nothing,
    };
    SearchPath {
        rows,
        passed: LEVELS.len(),
        end,
    }
}

/// The rows that stay at a level, or the end of the search.
fn step<'c, 'a>(
    level: usize,
    rows: &'c [ChainRow<'a>],
    seen: &InspectedConnection<'_>,
) -> Result<&'c [ChainRow<'a>], SearchEnd> {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return Err(SearchEnd::Nothing);
    };
    // Most levels tell nothing apart.
    if first.keys[level] == ChainKey::Any && last.keys[level] == ChainKey::Any {
        return Ok(rows);
    }

    // In each step only the most specific match goes on.
    match LEVELS[level] {
        MatchLevel::DestinationPort => first_of(level, rows, [ChainKey::Port(seen.destination.1)]),
        MatchLevel::Destination => longest(level, rows, seen),
        MatchLevel::ServerName => first_of(
            level,
            rows,
            server_names(&seen.server_name).map(ChainKey::named),
        ),
        MatchLevel::TransportProtocol => {
            first_of(level, rows, [ChainKey::named(seen.transport_protocol)])
        }
        // The first of the client's list that any chain names.
        MatchLevel::ApplicationProtocol => {
            let offered = seen.application_protocols.iter();
            first_of(level, rows, offered.map(ChainKey::named))
        }
        MatchLevel::DirectSource | MatchLevel::SourceType | MatchLevel::Source => {
            step_at_source(level, rows, seen)
        }
        MatchLevel::SourcePort => step_at_source_port(level, rows, seen),
    }
}

/// A step at one of the levels that need the source address.
fn step_at_source<'c, 'a>(
    level: usize,
    rows: &'c [ChainRow<'a>],
    seen: &InspectedConnection<'_>,
) -> Result<&'c [ChainRow<'a>], SearchEnd> {
    let is_known = match LEVELS[level] {
        MatchLevel::DirectSource => seen.direct_source.is_some(),
        _ => seen.source.is_some(),
    };
    if !is_known {
        return Err(SearchEnd::Unknown("the source address"));
    }
    if LEVELS[level] != MatchLevel::SourceType {
        return longest(level, rows, seen);
    }
    first_of(level, rows, SourceType::seen(seen).map(ChainKey::Source))
}

fn step_at_source_port<'c, 'a>(
    level: usize,
    rows: &'c [ChainRow<'a>],
    seen: &InspectedConnection<'_>,
) -> Result<&'c [ChainRow<'a>], SearchEnd> {
    // Port 0 stands for a port that nobody knows: no connection comes from it.
    match seen.source {
        None | Some((_, 0)) => Err(SearchEnd::Unknown("the source port")),
        Some((_, port)) => first_of(level, rows, [ChainKey::Port(port)]),
    }
}

/// The rows of the first of the keys that any row has; else those that take everything.
fn first_of<'c, 'a, 'k>(
    level: usize,
    rows: &'c [ChainRow<'a>],
    keys: impl IntoIterator<Item = ChainKey<'k>>,
) -> Result<&'c [ChainRow<'a>], SearchEnd> {
    // The first key that any chain has is taken for good, also when its chains fall out later.
    for key in keys.into_iter().chain([ChainKey::Any]) {
        let rows = bucket(level, rows, &key);
        if !rows.is_empty() {
            return Ok(rows);
        }
    }
    Err(SearchEnd::Nothing)
}

/// The rows of the longest range that holds the address. "Any" is a range of both families and of
/// length 0; next to a range of length 0 that is written out, which of the two Envoy finds differs
/// from one start to the next.
fn longest<'c, 'a>(
    level: usize,
    rows: &'c [ChainRow<'a>],
    seen: &InspectedConnection<'_>,
) -> Result<&'c [ChainRow<'a>], SearchEnd> {
    let mut best: Option<&'c [ChainRow<'a>]> = None;
    for bucket in (Buckets { level, rows }) {
        let key = &bucket[0].keys[level];
        if !key.matches(LEVELS[level], seen) {
            continue;
        }
        let is_as_long = best.is_none_or(|best| length(key) >= length(&best[0].keys[level]));
        if is_as_long {
            best = Some(bucket);
        }
    }
    let best = best.ok_or(SearchEnd::Nothing)?;

    let key = &best[0].keys[level];
    // Rows are in order, and "any" is the first of all keys.
    let first = &rows[0].keys[level];
    if length(key) == 0 && *first == ChainKey::Any && first != key {
        return Err(SearchEnd::Unknown(AMBIGUOUS));
    }
    Ok(best)
}

fn length(key: &ChainKey<'_>) -> u8 {
    match key {
        ChainKey::Range(range) => range.length(),
        _ => 0,
    }
}

/// The rows that have a key at a level; rows before it agree, so they are in the key's order.
fn bucket<'c, 'a>(
    level: usize,
    rows: &'c [ChainRow<'a>],
    key: &ChainKey<'_>,
) -> &'c [ChainRow<'a>] {
    let start = rows.partition_point(|row| row.keys[level] < *key);
    let length = rows[start..].partition_point(|row| row.keys[level] <= *key);
    &rows[start..start + length]
}

/// The rows of each key of a level.
struct Buckets<'c, 'a> {
    level: usize,
    rows: &'c [ChainRow<'a>],
}

impl<'c, 'a> Iterator for Buckets<'c, 'a> {
    type Item = &'c [ChainRow<'a>];

    fn next(&mut self) -> Option<Self::Item> {
        let key = &self.rows.first()?.keys[self.level];
        let length = bucket(self.level, self.rows, key).len();
        let (bucket, rest) = self.rows.split_at(length);
        self.rows = rest;
        Some(bucket)
    }
}
