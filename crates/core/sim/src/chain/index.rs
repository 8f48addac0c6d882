//! The search: rows in order, narrowed level by level.

use std::borrow::Cow;

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
        let mut rest: usize = number;
        let keys = std::array::from_fn(|level| {
            let values = &keys[level];
            let value = values[rest % values.len()].clone();
            rest /= values.len();
            value
        });
        rows.push(ChainRow { keys, chain });
    }
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
    let end = rows
        .first()
        .map_or(SearchEnd::Nothing, |row| SearchEnd::Chain(row.chain));
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
    // Most levels tell nothing apart.
    match (rows.first(), rows.last()) {
        (Some(first), Some(last))
            if first.keys[level] == ChainKey::Any && last.keys[level] == ChainKey::Any =>
        {
            return Ok(rows);
        }
        (None, _) => return Err(SearchEnd::Nothing),
        _ => {}
    }
    match LEVELS[level] {
        MatchLevel::DestinationPort => first_of(level, rows, [ChainKey::Port(seen.destination.1)]),
        MatchLevel::Destination => longest(level, rows, seen),
        MatchLevel::ServerName => first_of(
            level,
            rows,
            server_names(&seen.server_name).map(|name| ChainKey::Text(Cow::Borrowed(name))),
        ),
        MatchLevel::TransportProtocol => first_of(
            level,
            rows,
            [ChainKey::Text(Cow::Borrowed(seen.transport_protocol))],
        ),
        // The first of the client's list that any chain names.
        MatchLevel::ApplicationProtocol => first_of(
            level,
            rows,
            seen.application_protocols
                .iter()
                .map(|p| ChainKey::Text(Cow::Borrowed(p))),
        ),
        MatchLevel::DirectSource if seen.direct_source.is_some() => longest(level, rows, seen),
        MatchLevel::Source if seen.source.is_some() => longest(level, rows, seen),
        MatchLevel::SourceType if seen.source.is_some() => {
            first_of(level, rows, SourceType::seen(seen).map(ChainKey::Source))
        }
        MatchLevel::DirectSource | MatchLevel::Source | MatchLevel::SourceType => {
            Err(SearchEnd::Unknown("the source address"))
        }
        // Port 0 stands for a port that nobody knows: no connection comes from it.
        MatchLevel::SourcePort => match seen.source {
            Some((_, port)) if port != 0 => first_of(level, rows, [ChainKey::Port(port)]),
            _ => Err(SearchEnd::Unknown("the source port")),
        },
    }
}

/// The rows of the first of the keys that any row has; else those that take everything.
fn first_of<'c, 'a, 'k>(
    level: usize,
    rows: &'c [ChainRow<'a>],
    keys: impl IntoIterator<Item = ChainKey<'k>>,
) -> Result<&'c [ChainRow<'a>], SearchEnd> {
    let mut buckets = keys
        .into_iter()
        .chain([ChainKey::Any])
        .map(|key| bucket(level, rows, &key));
    buckets
        .find(|rows| !rows.is_empty())
        .ok_or(SearchEnd::Nothing)
}

/// The rows of the longest range that holds the address. "Any" is a range of both families and of
/// length 0; next to a range of length 0 that is written out, which of the two Envoy finds differs
/// from one start to the next.
fn longest<'c, 'a>(
    level: usize,
    rows: &'c [ChainRow<'a>],
    seen: &InspectedConnection<'_>,
) -> Result<&'c [ChainRow<'a>], SearchEnd> {
    let matching =
        Buckets { level, rows }.filter(|bucket| bucket[0].keys[level].matches(LEVELS[level], seen));
    let best = matching
        .max_by_key(|bucket| length(&bucket[0].keys[level]))
        .ok_or(SearchEnd::Nothing)?;
    let is_ambiguous =
        length(&best[0].keys[level]) == 0 && rows[0].keys[level] != best[0].keys[level];
    if is_ambiguous && rows[0].keys[level] == ChainKey::Any {
        Err(SearchEnd::Unknown(AMBIGUOUS))
    } else {
        Ok(best)
    }
}

fn length(key: &ChainKey<'_>) -> u8 {
    if let ChainKey::Range(range) = key {
        range.length()
    } else {
        0
    }
}

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
        let length = self
            .rows
            .partition_point(|row| row.keys[self.level] <= *key);
        let (bucket, rest) = self.rows.split_at(length);
        self.rows = rest;
        Some(bucket)
    }
}
