//! Why a filter chain was chosen, or not.

use super::super::Tri;
use super::super::inspect::InspectedConnection;
use super::index::{ChainRow, SearchEnd, SearchPath};
use super::level::{ChainKey, LEVELS, MatchLevel, SourceType};

/// What became of a chain with these rows, and the one thing that decided.
pub(super) fn of_chain(
    number: usize,
    rows: &[&ChainRow<'_>],
    path: &SearchPath<'_, '_>,
    seen: &InspectedConnection<'_>,
) -> (Tri, String) {
    if path.end == SearchEnd::Chain(number) {
        return (Tri::Yes, won(rows, path, seen));
    }
    // The row that came farthest speaks for the chain.
    let level = rows
        .iter()
        .map(|row| common_levels(row, path))
        .max()
        .unwrap_or(0);
    if level < path.passed {
        return (Tri::No, lost(level, rows, path, seen));
    }
    match path.end {
        SearchEnd::Unknown(fact) => (Tri::unknown(fact), format!("depends on {fact}")),
        SearchEnd::Chain(_) | SearchEnd::Nothing => (
            Tri::No,
            mismatch(LEVELS[level], &wanted(level, rows, path), seen),
        ),
    }
}

/// What became of the default chain.
pub(super) fn of_default(end: &SearchEnd) -> (Tri, String) {
    match end {
        SearchEnd::Chain(_) => (Tri::No, "another chain matches".to_owned()),
        SearchEnd::Nothing => (Tri::Yes, "no other chain matches".to_owned()),
        SearchEnd::Unknown(fact) => (Tri::unknown(*fact), format!("depends on {fact}")),
    }
}

/// All that a chain names, for chains without a name.
pub(super) fn criteria(rows: &[&ChainRow<'_>]) -> String {
    let words: Vec<_> = (0..LEVELS.len())
        .filter_map(|level| {
            let keys = distinct(rows.iter().map(|row| &row.keys[level]));
            (keys != [&ChainKey::Any])
                .then(|| format!("{} {}", LEVELS[level].words(), listed(LEVELS[level], &keys)))
        })
        .collect();
    if words.is_empty() {
        "everything".to_owned()
    } else {
        words.join(", ")
    }
}

/// The number of levels in which a row goes the way of the search.
fn common_levels(row: &ChainRow<'_>, path: &SearchPath<'_, '_>) -> usize {
    let Some(taken) = path.rows.first() else {
        return 0;
    };
    let differs = |level: &usize| row.keys[*level] != taken.keys[*level];
    (0..path.passed).find(differs).unwrap_or(path.passed)
}

fn won(
    rows: &[&ChainRow<'_>],
    path: &SearchPath<'_, '_>,
    seen: &InspectedConnection<'_>,
) -> String {
    let Some(row) = rows.iter().max_by_key(|row| common_levels(row, path)) else {
        return String::new();
    };
    let words: Vec<_> = LEVELS
        .iter()
        .zip(&row.keys)
        .filter(|(_, key)| **key != ChainKey::Any)
        .map(|(level, key)| match key {
            ChainKey::Range(_) | ChainKey::Text(_) if *level != MatchLevel::TransportProtocol => {
                format!(
                    "{} {} is {}",
                    level.words(),
                    fact(*level, seen),
                    key.words(*level)
                )
            }
            key => format!("{} is {}", level.words(), key.words(*level)),
        })
        .collect();
    if words.is_empty() {
        "takes what no other chain names".to_owned()
    } else {
        words.join(", ")
    }
}

/// A chain that fell out at a level which the search passed: either it does not match there, or
/// another one matches better and the search does not come back.
fn lost(
    level: usize,
    rows: &[&ChainRow<'_>],
    path: &SearchPath<'_, '_>,
    seen: &InspectedConnection<'_>,
) -> String {
    let wanted = wanted(level, rows, path);
    let words = LEVELS[level].words();
    let Some(matching) = wanted.iter().find(|key| key.matches(LEVELS[level], seen)) else {
        return mismatch(LEVELS[level], &wanted, seen);
    };
    let taken = path.rows[0].keys[level].words(LEVELS[level]);
    match matching {
        ChainKey::Any => format!(
            "takes any {words}, but another chain names {taken} and Envoy does not come back"
        ),
        key => format!(
            "{words} {} also matches, but {taken} of another chain goes first",
            key.words(LEVELS[level])
        ),
    }
}

fn mismatch(level: MatchLevel, wanted: &[&ChainKey<'_>], seen: &InspectedConnection<'_>) -> String {
    format!(
        "{} is {}, the chain wants {}",
        level.words(),
        fact(level, seen),
        listed(level, wanted)
    )
}

/// What the chain's rows that came to a level name there.
fn wanted<'r, 'a>(
    level: usize,
    rows: &[&'r ChainRow<'a>],
    path: &SearchPath<'_, '_>,
) -> Vec<&'r ChainKey<'a>> {
    distinct(
        rows.iter()
            .filter(|row| common_levels(row, path) >= level)
            .map(|row| &row.keys[level]),
    )
}

fn distinct<'r, 'a: 'r>(keys: impl Iterator<Item = &'r ChainKey<'a>>) -> Vec<&'r ChainKey<'a>> {
    let mut keys: Vec<_> = keys.collect();
    keys.sort();
    keys.dedup();
    keys
}

fn listed(level: MatchLevel, keys: &[&ChainKey<'_>]) -> String {
    let words: Vec<_> = keys.iter().map(|key| key.words(level)).collect();
    words.join(" or ")
}

/// What the connection has at a level.
fn fact(level: MatchLevel, seen: &InspectedConnection<'_>) -> String {
    let unknown = || "unknown".to_owned();
    match level {
        MatchLevel::DestinationPort => seen.destination.1.to_string(),
        MatchLevel::Destination => seen.destination.0.to_string(),
        MatchLevel::ServerName if seen.server_name.is_empty() => "not seen".to_owned(),
        MatchLevel::ServerName => seen.server_name.to_string(),
        MatchLevel::TransportProtocol => seen.transport_protocol.to_owned(),
        MatchLevel::ApplicationProtocol => {
            let protocols: Vec<_> = seen.application_protocols.iter().collect();
            if protocols.is_empty() {
                "not seen".to_owned()
            } else {
                protocols.join(", ")
            }
        }
        MatchLevel::DirectSource => seen.direct_source.map_or_else(unknown, |ip| ip.to_string()),
        MatchLevel::Source => seen.source.map_or_else(unknown, |(ip, _)| ip.to_string()),
        MatchLevel::SourceType => SourceType::seen(seen)
            .map_or_else(unknown, |source| ChainKey::Source(source).to_string()),
        MatchLevel::SourcePort => seen
            .source
            .map_or_else(unknown, |(_, port)| port.to_string()),
    }
}
