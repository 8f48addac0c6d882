//! Lines of one request, joined by its id: "correlate S and D by x-request-id".

use super::hash::ByHash;
use super::judge::{AnswerClass, LineJudgement, LogSide, Responder};
use meshladder_text::time::Time;

/// One hop's line of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LoggedHop {
    /// When it started there: a later hop starts later.
    pub(super) start: Option<Time>,
    pub(super) side: LogSide,
    pub(super) by: Responder,
    pub(super) class: AnswerClass,
    /// Its group, by the hash of the group's key.
    pub(super) group: u64,
    pub(super) source: usize,
}

/// The requests of which lines were read; a part of them when there are many.
#[derive(Clone, Debug, Default)]
pub(super) struct Joins {
    hops: ByHash<Vec<LoggedHop>>,
    /// Whether some were left out.
    pub(super) is_partial: bool,
}

/// Up to this many every request is kept, then only those that failed.
const ALL: usize = 50_000;

/// Up to this many.
const MOST: usize = 200_000;

/// A request crosses few proxies; the id of one that retries for ever, or is not unique, must not
/// fill the memory.
const MOST_HOPS: usize = 32;

impl Joins {
    /// `id` is the hash of a request's id.
    pub(super) fn add(
        &mut self,
        id: u64,
        judgement: LineJudgement,
        start: Option<Time>,
        group: u64,
        source: usize,
    ) {
        let full = self.hops.len()
            >= if judgement.class == AnswerClass::Fine {
                ALL
            } else {
                MOST
            };
        let LineJudgement {
            side, by, class, ..
        } = judgement;
        let hop = LoggedHop {
            start,
            side,
            by,
            class,
            group,
            source,
        };
        match self.hops.get_mut(&id) {
            Some(hops) if hops.len() < MOST_HOPS => hops.push(hop),
            Some(_) => self.is_partial = true,
            None if full => self.is_partial = true,
            None => drop(self.hops.insert(id, vec![hop])),
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.is_partial |= other.is_partial;
        for (key, hops) in sorted(other.hops) {
            if let Some(own) = self.hops.get_mut(&key) {
                own.extend(hops);
            } else if self.hops.len() < MOST {
                self.hops.insert(key, hops);
            } else {
                self.is_partial = true;
            }
        }
    }

    /// Every request's hops, the first proxy first.
    pub(super) fn requests(self) -> Vec<Vec<LoggedHop>> {
        let mut requests: Vec<Vec<LoggedHop>> = sorted(self.hops)
            .into_iter()
            .map(|(_, hops)| hops)
            .collect();
        for hops in &mut requests {
            hops.sort();
        }
        requests
    }
}

fn sorted(hops: ByHash<Vec<LoggedHop>>) -> Vec<(u64, Vec<LoggedHop>)> {
    let mut all: Vec<_> = hops.into_iter().collect();
    all.sort_by_key(|(key, _)| *key);
    all
}
