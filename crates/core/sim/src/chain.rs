//! Which filter chain of a listener takes a connection
//! (`envoy.config.listener.v3.FilterChainMatch`).
//!
//! "For criteria that allow ranges or wildcards, the most specific value in any of the configured
//! filter chains that matches the incoming connection is going to be used." "Suppose there exists N
//! filter chains. Prune the filter chain set using the above 8 steps. In each step, filter chains
//! which most specifically matches the attributes continue to the next step." So a chain that a
//! more specific one has pushed aside does not come back when that one fails later.

use std::borrow::Cow;

use super::cidr::Cidr;
use super::inspect::Seen;
use super::matcher::unmodelled;
use super::{Record, StepCandidate};
use meshladder_text::json::Raw;

mod index;
mod level;
mod why;

use index::{End, Row};
use level::{Key, LEVELS, SourceType};

/// What an access log has when no chain takes the connection: code 0, flag `NR` and these details.
pub const NOT_FOUND: &str = "filter_chain_not_found";

/// The filter chains of one listener, ready to be searched.
#[derive(Debug, Default)]
pub struct FilterChains<'a> {
    chains: Vec<Chain<'a>>,
    /// One row for each combination of the values that a chain lists, in order.
    rows: Vec<Row<'a>>,
    default: Option<Chain<'a>>,
    /// Whether a matcher tree decides, which is not modelled.
    has_matcher: bool,
}

/// One filter chain.
#[derive(Debug)]
pub struct Chain<'a> {
    /// Its name; istiod leaves many without one.
    pub name: Cow<'a, str>,
    /// Where it stands: a byte offset in the config dump.
    pub at: usize,
    /// The `FilterChain`.
    pub raw: Raw<'a>,
    /// Whether it is the listener's `default_filter_chain`.
    pub is_default: bool,
}

/// The result of a search.
#[derive(Debug)]
pub enum Found<'c, 'a> {
    /// This chain takes the connection.
    Chain(&'c Chain<'a>),
    /// None does: the connection is closed, see [`NOT_FOUND`].
    None,
    /// It cannot be told without this fact.
    Undecided(Box<str>),
}

impl<'a> FilterChains<'a> {
    /// Reads a listener's `filter_chains` and `default_filter_chain`.
    pub fn compile(listener: Raw<'a>) -> Self {
        let mut compiled = Self::default();
        for (key, value) in listener.members() {
            match &*key {
                "filter_chains" => value.elements().for_each(|chain| compiled.add(chain)),
                "default_filter_chain" => compiled.default = Some(Chain::read(value, true)),
                "filter_chain_matcher" => compiled.has_matcher = true,
                _ => {}
            }
        }
        compiled.rows.sort();
        compiled
    }

    /// The chain that takes the connection.
    pub fn find(&self, seen: &Seen<'_>, record: &mut Record) -> Found<'_, 'a> {
        if self.has_matcher {
            return Found::Undecided(unmodelled("the listener's filter_chain_matcher"));
        }
        let path = index::search(&self.rows, seen);
        let found = match &path.end {
            End::Chain(chain) => Found::Chain(&self.chains[*chain]),
            End::Nothing => self.default.as_ref().map_or(Found::None, Found::Chain),
            End::Unknown(fact) => Found::Undecided((*fact).into()),
        };
        if record.keep {
            self.explain(&path, seen, record);
        }
        found
    }

    /// A chain's name, or what stands in for it.
    pub fn label(&self, chain: &Chain<'a>) -> String {
        let number = self.chains.iter().position(|other| other.at == chain.at);
        let rows: Vec<_> = self
            .rows
            .iter()
            .filter(|row| Some(row.chain) == number)
            .collect();
        chain.label(&rows)
    }

    /// Every chain, and what became of it.
    fn explain(&self, path: &index::Path<'_, 'a>, seen: &Seen<'_>, record: &mut Record) {
        for (number, chain) in self.chains.iter().enumerate() {
            let rows: Vec<_> = self.rows.iter().filter(|row| row.chain == number).collect();
            let (matched, why) = why::of_chain(number, &rows, path, seen);
            record.add(|| StepCandidate {
                what: chain.label(&rows).into(),
                matched,
                why,
                at: chain.at,
            });
        }
        if let Some(default) = &self.default {
            let (matched, why) = why::of_default(&path.end);
            record.add(|| StepCandidate {
                what: default.label(&[]).into(),
                matched,
                why,
                at: default.at,
            });
        }
    }

    fn add(&mut self, raw: Raw<'a>) {
        let keys = raw
            .get("filter_chain_match")
            .map_or_else(|| LEVELS.map(|_| vec![Key::Any]), read_match);
        index::push_rows(&mut self.rows, &keys, self.chains.len());
        self.chains.push(Chain::read(raw, false));
    }
}

impl<'a> Chain<'a> {
    fn read(raw: Raw<'a>, is_default: bool) -> Self {
        Self {
            name: raw.string_at("name").unwrap_or_default(),
            at: raw.offset(),
            raw,
            is_default,
        }
    }

    /// The name, or what stands in for it.
    fn label(&self, rows: &[&Row<'_>]) -> String {
        match (&*self.name, self.is_default) {
            ("", true) => "default filter chain".to_owned(),
            ("", false) => format!("filter chain for {}", why::criteria(rows)),
            (name, _) => name.to_owned(),
        }
    }
}

/// The values of a `FilterChainMatch`, level by level; a level without any has the one that takes
/// everything.
fn read_match(criteria: Raw<'_>) -> [Vec<Key<'_>>; LEVELS.len()] {
    let ranges = |field| {
        criteria
            .list(field)
            .filter_map(Cidr::read)
            .map(Key::Range)
            .collect()
    };
    let texts = |field| criteria.list(field).filter_map(Raw::string);
    let number = |raw: Raw<'_>| raw.number().and_then(|n| u16::try_from(n).ok());
    let or_any = |keys: Vec<_>| {
        if keys.is_empty() {
            vec![Key::Any]
        } else {
            keys
        }
    };
    [
        or_any(
            criteria
                .get("destination_port")
                .and_then(number)
                .map(Key::port)
                .into_iter()
                .collect(),
        ),
        or_any(ranges("prefix_ranges")),
        or_any(texts("server_names").map(Key::server_name).collect()),
        or_any(
            criteria
                .string_at("transport_protocol")
                .map(Key::text)
                .into_iter()
                .collect(),
        ),
        or_any(texts("application_protocols").map(Key::text).collect()),
        or_any(ranges("direct_source_prefix_ranges")),
        or_any(
            criteria
                .string_at("source_type")
                .and_then(|t| SourceType::of(&t))
                .map(Key::Source)
                .into_iter()
                .collect(),
        ),
        or_any(ranges("source_prefix_ranges")),
        or_any(
            criteria
                .list("source_ports")
                .filter_map(number)
                .map(Key::port)
                .collect(),
        ),
    ]
}

#[cfg(test)]
mod tests;
