//! Which virtual host a host belongs to.

use std::borrow::Cow;
use std::collections::HashMap;

use super::VirtualHost;
use crate::Request;
use crate::path::port_start;

/// The domains of a route table, in the order in which they are looked up.
#[derive(Clone, Debug, Default)]
pub(super) struct Domains {
    exact: HashMap<Box<str>, DomainPlace>,
    /// `*.b.test` by the length behind the star, longest first.
    suffixes: Vec<(usize, HashMap<Box<str>, DomainPlace>)>,
    /// `a.*` by the length before the star, longest first.
    prefixes: Vec<(usize, HashMap<Box<str>, DomainPlace>)>,
    /// `*`
    default: Option<DomainPlace>,
    /// `ignore_port_in_host_matching`
    pub(super) ignore_port: bool,
    /// `vhost_header`
    pub(super) header: Option<Box<str>>,
}

/// The virtual host and which of its domains.
type DomainPlace = (u32, u32);

/// What was found.
pub(super) enum DomainMatch {
    /// The virtual host and which of its domains.
    Host(usize, usize),
    Nothing,
    Unknown(Box<str>),
}

impl Domains {
    /// Takes in all domains, in lower case. Envoy refuses a table in which one occurs twice.
    pub(super) fn index(&mut self, virtual_hosts: &[VirtualHost<'_>]) {
        for (host, virtual_host) in virtual_hosts.iter().enumerate() {
            for (nth, domain) in virtual_host.domains.iter().enumerate() {
                let place = (number(host), number(nth));
                let domain = domain.to_ascii_lowercase();
                if domain == "*" {
                    self.default.get_or_insert(place);
                } else if let Some(suffix) = domain.strip_prefix('*') {
                    insert(&mut self.suffixes, suffix, place);
                } else if let Some(prefix) = domain.strip_suffix('*') {
                    insert(&mut self.prefixes, prefix, place);
                } else {
                    self.exact.entry(domain.into()).or_insert(place);
                }
            }
        }
        for wildcards in [&mut self.suffixes, &mut self.prefixes] {
            wildcards.sort_by_key(|(length, _)| std::cmp::Reverse(*length));
        }
    }

    /// "Exact domain names, then suffix domain wildcards, then prefix domain wildcards, then the
    /// special wildcard `*` … The longest wildcards match first."
    pub(super) fn find(&self, request: &Request) -> DomainMatch {
        if self.exact.is_empty() && self.suffixes.is_empty() && self.prefixes.is_empty() {
            return found(self.default);
        }
        let host = match &self.header {
            None => &*request.authority,
            Some(name) => match request.values(name).next() {
                Some(value) => value,
                None => {
                    return request
                        .missing(name)
                        .map_or(DomainMatch::Nothing, DomainMatch::Unknown);
                }
            },
        };
        let end = if self.ignore_port {
            port_start(host)
        } else {
            None
        };
        found(self.lookup(&lower(&host[..end.unwrap_or(host.len())])))
    }

    fn lookup(&self, host: &str) -> Option<DomainPlace> {
        let suffix = |length: usize| host.get(host.len() - length..);
        let prefix = |length: usize| host.get(..length);
        let exact = self.exact.get(host).copied();
        exact
            .or_else(|| wildcard(&self.suffixes, host, suffix))
            .or_else(|| wildcard(&self.prefixes, host, prefix))
            .or(self.default)
    }
}

/// A wildcard stands for at least one character.
fn wildcard<'h>(
    wildcards: &[(usize, HashMap<Box<str>, DomainPlace>)],
    host: &str,
    part: impl Fn(usize) -> Option<&'h str>,
) -> Option<DomainPlace> {
    let shorter = wildcards.iter().filter(|(length, _)| *length < host.len());
    shorter
        .into_iter()
        .find_map(|(length, domains)| domains.get(part(*length)?).copied())
}

fn insert(
    wildcards: &mut Vec<(usize, HashMap<Box<str>, DomainPlace>)>,
    text: &str,
    place: DomainPlace,
) {
    let at = wildcards
        .iter()
        .position(|(length, _)| *length == text.len())
        .unwrap_or_else(|| {
            wildcards.push((text.len(), HashMap::new()));
            wildcards.len() - 1
        });
    wildcards[at].1.entry(text.into()).or_insert(place);
}

fn lower(host: &str) -> Cow<'_, str> {
    if host.bytes().any(|b| b.is_ascii_uppercase()) {
        Cow::Owned(host.to_ascii_lowercase())
    } else {
        Cow::Borrowed(host)
    }
}

fn found(place: Option<DomainPlace>) -> DomainMatch {
    let index = |n: u32| usize::try_from(n).unwrap_or(usize::MAX);
    place.map_or(DomainMatch::Nothing, |(host, nth)| {
        DomainMatch::Host(index(host), index(nth))
    })
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
