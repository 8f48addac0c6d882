//! From counts to causes: what a request's last failing hop says explains what the hops before it
//! say.

use std::collections::{BTreeMap, HashMap};

use super::group::LineGroup;
use super::join::LoggedHop;
use super::judge::{AnswerClass, LogSide, Responder, address};
use super::reason::{self, LogLead};
use super::stats::Stats;

/// What the lines come to.
#[derive(Debug)]
pub struct LogSummary {
    /// The counts.
    pub stats: Stats,
    /// Ways to end, failures first, then by count.
    pub groups: Vec<LineGroup>,
    /// What is behind the failures, the most frequent first.
    pub causes: Vec<LogCause>,
    /// Requests of which lines of several hops were joined.
    pub joined: u64,
}

/// A group that is not explained by another.
#[derive(Debug)]
pub struct LogCause {
    /// Which of the groups.
    pub group: usize,
    /// Groups of other hops' lines of the same requests, with how many requests.
    pub also: Vec<(usize, u64)>,
    /// What it means, sentence by sentence.
    pub says: Vec<String>,
    /// What may be behind it, the likeliest first.
    pub leads: Vec<LogLead>,
}

/// What the joined requests say of the groups.
#[derive(Default)]
struct Links {
    /// Requests in which one group follows from another.
    follows: BTreeMap<(usize, usize), u64>,
    /// Requests of a group that were kept.
    kept: HashMap<usize, u64>,
    /// Requests of a group of which no other hop wrote a line.
    alone: HashMap<usize, u64>,
    joined: u64,
}

impl Stats {
    /// Tells causes from what only relays them.
    pub fn summary(mut self) -> LogSummary {
        let mut keyed: Vec<(u64, LineGroup)> =
            std::mem::take(&mut self.groups).into_iter().collect();
        let order = |group: &LineGroup| {
            (
                group.judgement.class,
                std::cmp::Reverse(group.count),
                group.code,
            )
        };
        let names = |group: &LineGroup| {
            (
                group.flags.clone(),
                group.details.clone(),
                group.cluster.clone(),
            )
        };
        keyed.sort_by(|(_, a), (_, b)| {
            order(a)
                .cmp(&order(b))
                .then_with(|| (names(a), a.judgement.side).cmp(&(names(b), b.judgement.side)))
        });
        let places: HashMap<u64, usize> = keyed
            .iter()
            .enumerate()
            .map(|(i, (key, _))| (*key, i))
            .collect();
        let groups: Vec<LineGroup> = keyed.into_iter().map(|(_, group)| group).collect();
        let is_partial = self.joins.is_partial;
        let links = Links::of(&std::mem::take(&mut self.joins).requests(), &places);
        let mut causes: Vec<LogCause> = (0..groups.len())
            .filter(|&i| is_told(&groups[i]) && !links.is_explained(i))
            .map(|i| links.cause(i, &groups, &self, is_partial))
            .collect();
        let weight = |cause: &LogCause| {
            let class = groups[cause.group].judgement.class;
            (
                class,
                std::cmp::Reverse(groups[cause.group].count),
                cause.group,
            )
        };
        causes.sort_by_key(weight);
        LogSummary {
            groups,
            causes,
            joined: links.joined,
            stats: self,
        }
    }
}

/// Failures; and refusals that somebody else than the application may have made.
fn is_told(group: &LineGroup) -> bool {
    match group.judgement.class {
        AnswerClass::Failed => true,
        AnswerClass::Refused => {
            matches!(group.judgement.by, Responder::NextHop | Responder::Unknown)
        }
        AnswerClass::Left | AnswerClass::Fine => false,
    }
}

/// The hop that others only relay: the last that failed by itself, else the last that failed.
fn root(hops: &[LoggedHop]) -> Option<&LoggedHop> {
    let failed = || {
        hops.iter()
            .rev()
            .filter(|hop| hop.class == AnswerClass::Failed)
    };
    failed()
        .find(|hop| hop.by != Responder::NextHop)
        .or_else(|| failed().next())
}

impl Links {
    fn of(requests: &[Vec<LoggedHop>], places: &HashMap<u64, usize>) -> Self {
        let mut links = Self::default();
        for hops in requests {
            let told: Vec<(&LoggedHop, usize)> = hops
                .iter()
                .filter_map(|hop| Some((hop, *places.get(&hop.group)?)))
                .collect();
            let mut here: Vec<usize> = told.iter().map(|(_, place)| *place).collect();
            here.sort_unstable();
            here.dedup();
            links.joined += u64::from(hops.len() > 1);
            for place in &here {
                *links.kept.entry(*place).or_insert(0) += 1;
            }
            if let ([_], [place]) = (&hops[..], &here[..]) {
                *links.alone.entry(*place).or_insert(0) += 1;
            }
            let Some(root) = root(hops).and_then(|root| places.get(&root.group)) else {
                continue;
            };
            let follows = |place: &&usize| {
                let class = told
                    .iter()
                    .find(|(_, own)| own == *place)
                    .map(|(hop, _)| hop.class);
                **place != *root && class != Some(AnswerClass::Fine)
            };
            here.iter()
                .filter(follows)
                .for_each(|place| *links.follows.entry((*place, *root)).or_insert(0) += 1);
        }
        links
    }

    /// Whether most requests of a group follow from another group.
    fn is_explained(&self, group: usize) -> bool {
        let explained: u64 = self
            .follows
            .iter()
            .filter(|((from, _), _)| *from == group)
            .map(|(_, count)| count)
            .sum();
        explained > 0 && explained * 2 >= self.kept.get(&group).copied().unwrap_or(0)
    }

    fn cause(
        &self,
        group: usize,
        groups: &[LineGroup],
        stats: &Stats,
        is_partial: bool,
    ) -> LogCause {
        let mut also: Vec<(usize, u64)> = self
            .follows
            .iter()
            .filter(|((_, root), _)| *root == group)
            .map(|((from, _), count)| (*from, *count))
            .collect();
        also.sort_by_key(|(place, count)| (std::cmp::Reverse(*count), *place));
        let own = &groups[group];
        let mut says = reason::says(own);
        says.extend(reason::beside(
            own,
            also.iter().map(|(place, _)| &groups[*place]),
        ));
        let alone = self.alone.get(&group).copied().unwrap_or(0);
        if own.judgement.by == Responder::NextHop && alone > 0 {
            let lacking = if is_partial {
                "not among the lines that were kept"
            } else {
                "not among these logs"
            };
            says.push(format!(
                "the next hop's own line is {lacking}: its log tells who failed"
            ));
        }
        says.extend(chainless(own, stats));
        LogCause {
            group,
            also,
            says,
            leads: reason::leads(own),
        }
    }
}

/// "503 at S with nothing logged at D … look for D's listener log `NR filter_chain_not_found`".
fn chainless(group: &LineGroup, stats: &Stats) -> Option<String> {
    let broke = group.judgement.side != LogSide::Server && (group.has("UC") || group.has("UF"));
    if !broke {
        return None;
    }
    let client = address(&group.sample.remote);
    let met = |host: &str| {
        stats
            .chainless
            .get(&(client.to_owned(), host.to_owned()))
            .copied()
    };
    let (host, count) = group
        .upstreams
        .sorted()
        .into_iter()
        .find_map(|(host, _)| Some((host, met(host)?)))?;
    Some(format!(
        "the proxy at {host} had no filter chain for {count} connections from {client}: plaintext where it wants mutual TLS, or an ALPN or server name that it does not serve"
    ))
}
