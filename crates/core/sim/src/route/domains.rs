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
    suffixes: Vec<Wildcards>,
    /// `a.*` by the length before the star, longest first.
    prefixes: Vec<Wildcards>,
    /// `*`
    default: Option<DomainPlace>,
    /// `ignore_port_in_host_matching`
    pub(super) ignore_port: bool,
    /// `vhost_header`
    pub(super) header: Option<Box<str>>,
}

/// The virtual host and which of its domains.
type DomainPlace = (u32, u32);

/// Wildcards whose text has the same length.
#[derive(Clone, Debug)]
struct Wildcards {
    length: usize,
    domains: HashMap<Box<str>, DomainPlace>,
}

/// What the lookup of a host gives.
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
                self.insert(&domain.to_ascii_lowercase(), (number(host), number(nth)));
            }
        }
        for wildcards in [&mut self.suffixes, &mut self.prefixes] {
            wildcards.sort_by_key(|wildcards| std::cmp::Reverse(wildcards.length));
        }
    }

    fn insert(&mut self, domain: &str, place: DomainPlace) {
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

    /// "Exact domain names, then suffix domain wildcards, then prefix domain wildcards, then the
    /// special wildcard `*` … The longest wildcards match first."
    pub(super) fn find(&self, request: &Request) -> DomainMatch {
        // A table with the one domain `*` need not look at the host, which may not even be known.
        if self.exact.is_empty() && self.suffixes.is_empty() && self.prefixes.is_empty() {
            return DomainMatch::of(self.default);
        }

        let mut host = &*request.authority;
        if let Some(name) = &self.header {
            let Some(value) = request.values(name).next() else {
                return match request.missing(name) {
                    Some(fact) => DomainMatch::Unknown(fact),
                    None => DomainMatch::Nothing,
                };
            };
            host = value;
        }

        // "With this option enabled, Envoy will ignore the port number in the :authority header (if
        // any) when picking VirtualHost."
        if self.ignore_port
            && let Some(port) = port_start(host)
        {
            host = &host[..port];
        }
        DomainMatch::of(self.lookup(&lower(host)))
    }

    fn lookup(&self, host: &str) -> Option<DomainPlace> {
        if let Some(place) = self.exact.get(host) {
            return Some(*place);
        }
        for wildcards in &self.suffixes {
            // A wildcard stands for at least one character.
            if wildcards.length < host.len()
                && let Some(suffix) = host.get(host.len() - wildcards.length..)
                && let Some(place) = wildcards.domains.get(suffix)
            {
                return Some(*place);
            }
        }
        for wildcards in &self.prefixes {
            if wildcards.length < host.len()
                && let Some(prefix) = host.get(..wildcards.length)
                && let Some(place) = wildcards.domains.get(prefix)
            {
                return Some(*place);
            }
        }
        self.default
    }
}

fn insert(wildcards: &mut Vec<Wildcards>, text: &str, place: DomainPlace) {
    for known in &mut *wildcards {
        if known.length == text.len() {
            known.domains.entry(text.into()).or_insert(place);
            return;
        }
    }
    wildcards.push(Wildcards {
        length: text.len(),
        domains: HashMap::from([(text.into(), place)]),
    });
}

fn lower(host: &str) -> Cow<'_, str> {
    if host.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Cow::Owned(host.to_ascii_lowercase());
    }
    Cow::Borrowed(host)
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl DomainMatch {
    fn of(place: Option<DomainPlace>) -> Self {
        match place {
            Some((host, nth)) => Self::Host(index(host), index(nth)),
            None => Self::Nothing,
        }
    }
}
