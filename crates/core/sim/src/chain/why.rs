//! Why a filter chain was chosen, or not.

use super::super::Tri;
use super::super::inspect::Seen;
use super::index::{End, Path, Row};
use super::level::{Key, LEVELS, Level, SourceType};

/// What became of a chain with these rows, and the one thing that decided.
pub(super) fn of_chain(
    number: usize,
    rows: &[&Row<'_>],
    path: &Path<'_, '_>,
    seen: &Seen<'_>,
) -> (Tri, String) {
    if path.end == End::Chain(number) {
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
        End::Unknown(fact) => (Tri::unknown(fact), format!("depends on {fact}")),
        End::Chain(_) | End::Nothing => (
            Tri::No,
            mismatch(LEVELS[level], &wanted(level, rows, path), seen),
        ),
    }
}

/// What became of the default chain.
pub(super) fn of_default(end: &End) -> (Tri, String) {
    match end {
        End::Chain(_) => (Tri::No, "another chain matches".to_owned()),
        End::Nothing => (Tri::Yes, "no other chain matches".to_owned()),
        End::Unknown(fact) => (Tri::unknown(*fact), format!("depends on {fact}")),
    }
}

/// All that a chain names, for chains without a name.
pub(super) fn criteria(rows: &[&Row<'_>]) -> String {
    let words: Vec<_> = (0..LEVELS.len())
        .filter_map(|level| {
            let keys = distinct(rows.iter().map(|row| &row.keys[level]));
            (keys != [&Key::Any])
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
fn common_levels(row: &Row<'_>, path: &Path<'_, '_>) -> usize {
    let Some(taken) = path.rows.first() else {
        return 0;
    };
    let differs = |level: &usize| row.keys[*level] != taken.keys[*level];
    (0..path.passed).find(differs).unwrap_or(path.passed)
}

fn won(rows: &[&Row<'_>], path: &Path<'_, '_>, seen: &Seen<'_>) -> String {
    let Some(row) = rows.iter().max_by_key(|row| common_levels(row, path)) else {
        return String::new();
    };
    let words: Vec<_> = LEVELS
        .iter()
        .zip(&row.keys)
        .filter(|(_, key)| **key != Key::Any)
        .map(|(level, key)| match key {
            Key::Range(_) | Key::Text(_) if *level != Level::TransportProtocol => {
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
fn lost(level: usize, rows: &[&Row<'_>], path: &Path<'_, '_>, seen: &Seen<'_>) -> String {
    let wanted = wanted(level, rows, path);
    let words = LEVELS[level].words();
    let Some(matching) = wanted.iter().find(|key| key.matches(LEVELS[level], seen)) else {
        return mismatch(LEVELS[level], &wanted, seen);
    };
    let taken = path.rows[0].keys[level].words(LEVELS[level]);
    match matching {
        Key::Any => format!(
            "takes any {words}, but another chain names {taken} and Envoy does not come back"
        ),
        key => format!(
            "{words} {} also matches, but {taken} of another chain goes first",
            key.words(LEVELS[level])
        ),
    }
}

fn mismatch(level: Level, wanted: &[&Key<'_>], seen: &Seen<'_>) -> String {
    format!(
        "{} is {}, the chain wants {}",
        level.words(),
        fact(level, seen),
        listed(level, wanted)
    )
}

/// What the chain's rows that came to a level name there.
fn wanted<'r, 'a>(level: usize, rows: &[&'r Row<'a>], path: &Path<'_, '_>) -> Vec<&'r Key<'a>> {
    distinct(
        rows.iter()
            .filter(|row| common_levels(row, path) >= level)
            .map(|row| &row.keys[level]),
    )
}

fn distinct<'r, 'a: 'r>(keys: impl Iterator<Item = &'r Key<'a>>) -> Vec<&'r Key<'a>> {
    let mut keys: Vec<_> = keys.collect();
    keys.sort();
    keys.dedup();
    keys
}

fn listed(level: Level, keys: &[&Key<'_>]) -> String {
    let words: Vec<_> = keys.iter().map(|key| key.words(level)).collect();
    words.join(" or ")
}

/// What the connection has at a level.
fn fact(level: Level, seen: &Seen<'_>) -> String {
    let unknown = || "unknown".to_owned();
    match level {
        Level::DestinationPort => seen.destination.1.to_string(),
        Level::Destination => seen.destination.0.to_string(),
        Level::ServerName if seen.server_name.is_empty() => "not seen".to_owned(),
        Level::ServerName => seen.server_name.to_string(),
        Level::TransportProtocol => seen.transport_protocol.to_owned(),
        Level::ApplicationProtocol => {
            let protocols: Vec<_> = seen.application_protocols.iter().collect();
            if protocols.is_empty() {
                "not seen".to_owned()
            } else {
                protocols.join(", ")
            }
        }
        Level::DirectSource => seen.direct_source.map_or_else(unknown, |ip| ip.to_string()),
        Level::Source => seen.source.map_or_else(unknown, |(ip, _)| ip.to_string()),
        Level::SourceType => {
            SourceType::seen(seen).map_or_else(unknown, |source| Key::Source(source).to_string())
        }
        Level::SourcePort => seen
            .source
            .map_or_else(unknown, |(_, port)| port.to_string()),
    }
}
