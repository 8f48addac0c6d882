//! The network filters of a filter chain (`envoy.config.listener.v3.Filter`): what they do with a
//! connection.

use std::borrow::Cow;

use super::matcher::unmodelled;
use super::{Record, StepCandidate, Tri};
use meshladder_text::json::Raw;

mod kind;

pub use kind::{Kind, TcpProxy};

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
    pub kind: Kind<'a>,
}

/// Where the filters lead.
#[derive(Debug)]
pub enum Outcome<'c, 'a> {
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
    pub branches: Vec<Branch<'c>>,
    /// The filter that closes it at its first bytes. `tcp_proxy` connects before that: a cluster
    /// that is missing or has no endpoint is what ends the connection then.
    pub denied: Option<&'c NetworkFilter<'a>>,
}

/// One cluster that a connection may go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch<'c> {
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
        record: &mut Record,
    ) -> Outcome<'c, 'a> {
        let mut cluster = None;
        let mut denied = None;
        for filter in &self.filters {
            let (matched, why) = match &filter.kind {
                Kind::HttpConnectionManager => {
                    filter.note(record, Tri::Yes, "takes the connection");
                    return denied.map_or(Outcome::Http(filter), Outcome::Denied);
                }
                Kind::Answers => {
                    filter.note(record, Tri::Yes, "answers by itself");
                    return Outcome::Answered(filter);
                }
                Kind::TcpProxy(proxy) => {
                    filter.note(record, Tri::Yes, "takes the connection");
                    return Outcome::Tcp(Tcp {
                        filter,
                        branches: proxy.branches(cluster),
                        denied,
                    });
                }
                Kind::Unmodelled => {
                    return filter.stop(
                        unmodelled(&format!("the network filter {}", filter.name)),
                        record,
                    );
                }
                Kind::Observes => (Tri::No, "only looks on"),
                Kind::SniCluster => {
                    cluster = Some(server_name).filter(|name| !name.is_empty());
                    (
                        Tri::No,
                        if cluster.is_some() {
                            "takes the server name for the cluster"
                        } else {
                            "no server name"
                        },
                    )
                }
                Kind::Rbac => match allows(filter) {
                    Tri::Yes => (Tri::No, "lets it pass"),
                    Tri::No => {
                        denied = denied.or(Some(filter));
                        (Tri::Yes, "denies it")
                    }
                    Tri::Unknown(fact) => return filter.stop(fact, record),
                },
            };
            filter.note(record, matched, why);
        }
        denied.map_or(Outcome::Nothing, Outcome::Denied)
    }
}

impl<'a> NetworkFilter<'a> {
    fn read(filter: Raw<'a>) -> Self {
        let name = filter.string_at("name").unwrap_or_default();
        let (url, config) = kind::typed(filter.get("typed_config"));
        Self {
            at: filter.offset(),
            kind: Kind::of(&url, &name, config),
            name,
            config,
        }
    }

    fn note(&self, record: &mut Record, matched: Tri, why: &str) {
        record.add(|| StepCandidate {
            what: self.name.to_string().into(),
            matched,
            why: why.to_owned(),
            at: self.at,
        });
    }

    fn stop<'c>(&self, fact: Box<str>, record: &mut Record) -> Outcome<'c, 'a> {
        self.note(record, Tri::Unknown(fact.clone()), &fact);
        Outcome::Undecided(fact)
    }
}

#[cfg(test)]
mod tests;
