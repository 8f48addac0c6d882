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
use super::inspect::InspectedConnection;
use super::message;
use super::{DecisionRecord, MatchCandidate, Tri};
use meshladder_text::json::Raw;

mod index;
mod level;
mod tree;
mod why;

use index::{ChainRow, SearchEnd};
use level::{ChainKey, LEVELS, SourceType};

/// What an access log has when no chain takes the connection: code 0, flag `NR` and these details.
pub const NOT_FOUND: &str = "filter_chain_not_found";

/// The filter chains of one listener, ready to be searched.
#[derive(Debug, Default)]
pub struct FilterChains<'a> {
    chains: Vec<FilterChain<'a>>,
    /// One row for each combination of the values that a chain lists, in order.
    rows: Vec<ChainRow<'a>>,
    default: Option<FilterChain<'a>>,
    /// The tree that names the chain, where there is one.
    matcher: Option<Raw<'a>>,
}

/// One filter chain.
#[derive(Debug)]
pub struct FilterChain<'a> {
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
pub enum ChainChoice<'c, 'a> {
    /// This chain takes the connection.
    Chain(&'c FilterChain<'a>),
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
                "filter_chains" => {
                    for chain in value.elements() {
                        compiled.add(chain);
                    }
                }
                "default_filter_chain" => compiled.default = Some(FilterChain::read(value, true)),
                // A matcher tree names the chain, whatever the chains say of themselves.
                "filter_chain_matcher" => compiled.matcher = Some(value),
                _ => {}
            }
        }
        // The search narrows a range of rows, so rows with equal keys must stand together.
        compiled.rows.sort();
        compiled
    }

    /// The chain that takes the connection.
    pub fn find(
        &self,
        seen: &InspectedConnection<'_>,
        record: &mut DecisionRecord,
    ) -> ChainChoice<'_, 'a> {
        if let Some(matcher) = self.matcher {
            return self.by_tree(matcher, seen);
        }

        let path = index::search(&self.rows, seen);
        if record.is_kept() {
            self.explain(&path, seen, record);
        }

        match (path.end, &self.default) {
            (SearchEnd::Chain(number), _) => ChainChoice::Chain(&self.chains[number]),
            // "default_filter_chain: The default filter chain if none of the filter chain matches."
            (SearchEnd::Nothing, Some(default)) => ChainChoice::Chain(default),
            (SearchEnd::Nothing, None) => ChainChoice::None,
            (SearchEnd::Unknown(fact), _) => ChainChoice::Undecided(fact.into()),
        }
    }

    /// The chain that a matcher tree names.
    fn by_tree(&self, matcher: Raw<'a>, seen: &InspectedConnection<'_>) -> ChainChoice<'_, 'a> {
        let name = match tree::search(matcher, seen) {
            Ok(name) => name,
            Err(fact) => return ChainChoice::Undecided(fact),
        };
        let named = name.and_then(|name| self.chains.iter().find(|chain| chain.name == name));
        match named.or(self.default.as_ref()) {
            Some(chain) => ChainChoice::Chain(chain),
            None => ChainChoice::None,
        }
    }

    /// A chain's name, or what stands in for it.
    pub fn label(&self, chain: &FilterChain<'a>) -> String {
        for (number, other) in self.chains.iter().enumerate() {
            if other.at == chain.at {
                return chain.label(&self.rows_of(number));
            }
        }
        chain.label(&[])
    }

    /// The rows of the chain with that number.
    fn rows_of(&self, number: usize) -> Vec<&ChainRow<'a>> {
        let mut rows = Vec::new();
        for row in &self.rows {
            if row.chain == number {
                rows.push(row);
            }
        }
        rows
    }

    /// Every chain, and what became of it.
    fn explain(
        &self,
        path: &index::SearchPath<'_, 'a>,
        seen: &InspectedConnection<'_>,
        record: &mut DecisionRecord,
    ) {
        for (number, chain) in self.chains.iter().enumerate() {
            let rows = self.rows_of(number);
            let (matched, why) = why::of_chain(number, &rows, path, seen);
            record.push(chain.candidate(&rows, matched, why));
        }

        if let Some(default) = &self.default {
            let (matched, why) = why::of_default(&path.end);
            record.push(default.candidate(&[], matched, why));
        }
    }

    fn add(&mut self, raw: Raw<'a>) {
        let keys = match raw.get("filter_chain_match") {
            Some(criteria) => read_match(criteria),
            None => LEVELS.map(|_| vec![ChainKey::Any]),
        };
        index::push_rows(&mut self.rows, &keys, self.chains.len());
        self.chains.push(FilterChain::read(raw, false));
    }
}

impl<'a> FilterChain<'a> {
    fn read(raw: Raw<'a>, is_default: bool) -> Self {
        Self {
            name: message::text(raw, "name"),
            at: raw.offset(),
            raw,
            is_default,
        }
    }

    /// The name, or what stands in for it.
    fn label(&self, rows: &[&ChainRow<'_>]) -> String {
        match (&*self.name, self.is_default) {
            ("", true) => "default filter chain".to_owned(),
            ("", false) => format!("filter chain for {}", why::criteria(rows)),
            (name, _) => name.to_owned(),
        }
    }

    fn candidate(&self, rows: &[&ChainRow<'_>], matched: Tri, why: String) -> MatchCandidate {
        MatchCandidate {
            what: self.label(rows).into(),
            matched,
            why,
            at: self.at,
        }
    }
}

/// The values of a `FilterChainMatch`, in the order of [`LEVELS`].
fn read_match(criteria: Raw<'_>) -> [Vec<ChainKey<'_>>; LEVELS.len()] {
    [
        or_any(destination_port(criteria)),
        or_any(ranges(criteria, "prefix_ranges")),
        or_any(server_names(criteria)),
        or_any(transport_protocol(criteria)),
        or_any(application_protocols(criteria)),
        or_any(ranges(criteria, "direct_source_prefix_ranges")),
        or_any(source_type(criteria)),
        or_any(ranges(criteria, "source_prefix_ranges")),
        or_any(source_ports(criteria)),
    ]
}

/// A level at which a chain names nothing has the one key that takes everything.
fn or_any(mut keys: Vec<ChainKey<'_>>) -> Vec<ChainKey<'_>> {
    if keys.is_empty() {
        keys.push(ChainKey::Any);
    }
    keys
}

fn destination_port(criteria: Raw<'_>) -> Vec<ChainKey<'_>> {
    criteria
        .get("destination_port")
        .and_then(port)
        .into_iter()
        .collect()
}

fn source_ports(criteria: Raw<'_>) -> Vec<ChainKey<'_>> {
    criteria.list("source_ports").filter_map(port).collect()
}

fn port(raw: Raw<'_>) -> Option<ChainKey<'_>> {
    let port = u16::try_from(raw.number()?).ok()?;
    Some(ChainKey::port(port))
}

fn ranges<'a>(criteria: Raw<'a>, field: &str) -> Vec<ChainKey<'a>> {
    let ranges = criteria.list(field).filter_map(Cidr::read);
    ranges.map(ChainKey::Range).collect()
}

fn server_names(criteria: Raw<'_>) -> Vec<ChainKey<'_>> {
    let names = message::texts(criteria, "server_names");
    names.into_iter().map(ChainKey::server_name).collect()
}

fn transport_protocol(criteria: Raw<'_>) -> Vec<ChainKey<'_>> {
    let protocol = criteria.string_at("transport_protocol");
    protocol.into_iter().map(ChainKey::text).collect()
}

fn application_protocols(criteria: Raw<'_>) -> Vec<ChainKey<'_>> {
    let protocols = message::texts(criteria, "application_protocols");
    protocols.into_iter().map(ChainKey::text).collect()
}

fn source_type(criteria: Raw<'_>) -> Vec<ChainKey<'_>> {
    let source = SourceType::of(&message::text(criteria, "source_type"));
    source.into_iter().map(ChainKey::Source).collect()
}

#[cfg(test)]
mod tests;
