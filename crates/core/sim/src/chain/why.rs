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

    let level = farthest_level(rows, path);
    // It fell out before the search ended: another chain took its place.
    if level < path.passed {
        return (Tri::No, lost(level, rows, path, seen));
    }

    match path.end {
        SearchEnd::Unknown(fact) => (Tri::unknown(fact), format!("depends on {fact}")),
        SearchEnd::Chain(_) | SearchEnd::Nothing => {
            let wanted = wanted(level, rows, path);
            (Tri::No, mismatch(LEVELS[level], &wanted, seen))
        }
    }
}

/// The row that came farthest speaks for the chain.
fn farthest_level(rows: &[&ChainRow<'_>], path: &SearchPath<'_, '_>) -> usize {
    let mut farthest = 0;
    for row in rows {
        farthest = farthest.max(common_levels(row, path));
    }
    farthest
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
    let mut words = Vec::new();
    for (number, level) in LEVELS.into_iter().enumerate() {
        let keys = distinct(rows.iter().map(|row| &row.keys[number]));
        if keys != [&ChainKey::Any] {
            words.push(format!("{} {}", level.words(), listed(level, &keys)));
        }
    }

    if words.is_empty() {
        return "everything".to_owned();
    }
    words.join(", ")
}

/// The number of levels in which a row goes the way of the search.
fn common_levels(row: &ChainRow<'_>, path: &SearchPath<'_, '_>) -> usize {
    let Some(taken) = path.rows.first() else {
        return 0;
    };
    for level in 0..path.passed {
        if row.keys[level] != taken.keys[level] {
            return level;
        }
    }
    path.passed
}

fn won(
    rows: &[&ChainRow<'_>],
    path: &SearchPath<'_, '_>,
    seen: &InspectedConnection<'_>,
) -> String {
    let Some(row) = rows.iter().max_by_key(|row| common_levels(row, path)) else {
        return String::new();
    };

    let mut words = Vec::new();
    for (level, key) in LEVELS.into_iter().zip(&row.keys) {
        if *key != ChainKey::Any {
            words.push(match_words(level, key, seen));
        }
    }

    if words.is_empty() {
        return "takes what no other chain names".to_owned();
    }
    words.join(", ")
}

/// A range or a wildcard does not say what it matched, so what the connection has stands beside it.
fn match_words(level: MatchLevel, key: &ChainKey<'_>, seen: &InspectedConnection<'_>) -> String {
    let (name, wanted) = (level.words(), key.words(level));
    match key {
        ChainKey::Range(_) | ChainKey::Text(_) if level != MatchLevel::TransportProtocol => {
            format!("{name} {} is {wanted}", fact(level, seen))
        }
        _ => format!("{name} is {wanted}"),
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
    let mut keys = Vec::new();
    for row in rows {
        if common_levels(row, path) >= level {
            keys.push(&row.keys[level]);
        }
    }
    distinct(keys.into_iter())
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
    match level {
        MatchLevel::DestinationPort => seen.destination.1.to_string(),
        MatchLevel::Destination => seen.destination.0.to_string(),
        MatchLevel::ServerName => or_not_seen(seen.server_name.to_string()),
        MatchLevel::TransportProtocol => seen.transport_protocol.to_owned(),
        MatchLevel::ApplicationProtocol => {
            let protocols: Vec<_> = seen.application_protocols.iter().collect();
            or_not_seen(protocols.join(", "))
        }
        MatchLevel::DirectSource => or_unknown(seen.direct_source),
        MatchLevel::Source => or_unknown(seen.source.map(|(ip, _)| ip)),
        MatchLevel::SourceType => or_unknown(SourceType::seen(seen).map(ChainKey::Source)),
        MatchLevel::SourcePort => or_unknown(seen.source.map(|(_, port)| port)),
    }
}

fn or_not_seen(text: String) -> String {
    if text.is_empty() {
        return "not seen".to_owned();
    }
    text
}

fn or_unknown(fact: Option<impl ToString>) -> String {
    match fact {
        Some(fact) => fact.to_string(),
        None => "unknown".to_owned(),
    }
}
