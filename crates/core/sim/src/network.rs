//! The network filters of a filter chain (`envoy.config.listener.v3.Filter`): what they do with a
//! connection.

use std::borrow::Cow;

use super::matcher::unmodelled;
use super::message;
use super::{DecisionRecord, MatchCandidate, Tri};
use meshladder_text::json::Raw;

mod kind;

pub use kind::{NetworkFilterKind, TcpProxy};

/// The network filters of one chain, in order.
#[derive(Debug, Default)]
pub struct NetworkFilters<'a> {
    /// The filters.
    pub filters: Vec<NetworkFilter<'a>>,
}

/// One network filter.
#[derive(Debug)]
pub struct NetworkFilter<'a> {
    /// Its name.
    pub name: Cow<'a, str>,
    /// Where it stands: a byte offset in the config dump.
    pub at: usize,
    /// Its configuration.
    pub config: Option<Raw<'a>>,
    /// What it does.
    pub kind: NetworkFilterKind<'a>,
}

/// Where the filters lead.
#[derive(Debug)]
pub enum NetworkOutcome<'c, 'a> {
    /// To this HTTP connection manager.
    Http(&'c NetworkFilter<'a>),
    /// To clusters.
    Tcp(Tcp<'c, 'a>),
    /// To a filter that answers by itself, before the client has sent anything.
    Answered(&'c NetworkFilter<'a>),
    /// This filter closes the connection at its first bytes.
    Denied(&'c NetworkFilter<'a>),
    /// There is no filter that takes it: the connection is closed.
    Nothing,
    /// It cannot be told without this fact.
    Undecided(Box<str>),
}

/// A connection that `tcp_proxy` forwards.
#[derive(Debug)]
pub struct Tcp<'c, 'a> {
    /// The filter.
    pub filter: &'c NetworkFilter<'a>,
    /// The clusters it may go to.
    pub branches: Vec<TcpBranch<'c>>,
    /// The filter that closes it at its first bytes. `tcp_proxy` connects before that: a cluster
    /// that is missing or has no endpoint is what ends the connection then.
    pub denied: Option<&'c NetworkFilter<'a>>,
}

/// One cluster that a connection may go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpBranch<'c> {
    /// The cluster's name.
    pub cluster: Cow<'c, str>,
    /// Its share of the total.
    pub weight: u64,
    /// The sum of all shares.
    pub total: u64,
    /// Where it is named: a byte offset in the config dump.
    pub at: usize,
}

impl<'a> NetworkFilters<'a> {
    /// Reads the `filters` of a `FilterChain`.
    pub fn compile(chain: Raw<'a>) -> Self {
        Self {
            filters: chain.list("filters").map(NetworkFilter::read).collect(),
        }
    }

    /// Where the filters lead a connection with this server name. `allows` answers for each RBAC
    /// filter whether it lets the connection pass.
    pub fn evaluate<'c>(
        &'c self,
        server_name: &'c str,
        mut allows: impl FnMut(&'c NetworkFilter<'a>) -> Tri,
        record: &mut DecisionRecord,
    ) -> NetworkOutcome<'c, 'a> {
        let mut cluster = None;
        let mut denied = None;
        for filter in &self.filters {
            match &filter.kind {
                NetworkFilterKind::HttpConnectionManager => {
                    filter.note(record, Tri::Yes, "takes the connection");
                    // RBAC speaks at the first bytes, and so does the connection manager, which comes
                    // after it.
                    return match denied {
                        Some(rbac) => NetworkOutcome::Denied(rbac),
                        None => NetworkOutcome::Http(filter),
                    };
                }
                NetworkFilterKind::Answers => {
                    filter.note(record, Tri::Yes, "answers by itself");
                    return NetworkOutcome::Answered(filter);
                }
                NetworkFilterKind::TcpProxy(proxy) => {
                    filter.note(record, Tri::Yes, "takes the connection");
                    return NetworkOutcome::Tcp(Tcp {
                        filter,
                        branches: proxy.branches(cluster),
                        denied,
                    });
                }
                NetworkFilterKind::Unmodelled => {
                    let what = format!("the network filter {}", filter.name);
                    return filter.stop(unmodelled(&what), record);
                }
                NetworkFilterKind::Observes => filter.note(record, Tri::No, "only looks on"),
                NetworkFilterKind::SniCluster if server_name.is_empty() => {
                    cluster = None;
                    filter.note(record, Tri::No, "no server name");
                }
                NetworkFilterKind::SniCluster => {
                    cluster = Some(server_name);
                    filter.note(record, Tri::No, "takes the server name for the cluster");
                }
                NetworkFilterKind::Rbac => match allows(filter) {
                    Tri::Yes => filter.note(record, Tri::No, "lets it pass"),
                    Tri::No => {
                        denied = denied.or(Some(filter));
                        filter.note(record, Tri::Yes, "denies it");
                    }
                    Tri::Unknown(fact) => return filter.stop(fact, record),
                },
            }
        }

        match denied {
            Some(rbac) => NetworkOutcome::Denied(rbac),
            None => NetworkOutcome::Nothing,
        }
    }
}

impl<'a> NetworkFilter<'a> {
    fn read(filter: Raw<'a>) -> Self {
        let name = message::text(filter, "name");
        let (url, config) = kind::typed(filter.get("typed_config"));
        Self {
            at: filter.offset(),
            kind: NetworkFilterKind::of(&url, &name, config),
            name,
            config,
        }
    }

    fn note(&self, record: &mut DecisionRecord, matched: Tri, why: &str) {
        if !record.is_kept() {
            return;
        }
        record.push(MatchCandidate {
            what: self.name.to_string().into(),
            matched,
            why: why.to_owned(),
            at: self.at,
        });
    }

    fn stop<'c>(&self, fact: Box<str>, record: &mut DecisionRecord) -> NetworkOutcome<'c, 'a> {
        self.note(record, Tri::Unknown(fact.clone()), &fact);
        NetworkOutcome::Undecided(fact)
    }
}

#[cfg(test)]
mod tests;
