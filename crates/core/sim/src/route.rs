//! `config.route.v3.RouteConfiguration`: which virtual host and which route a request takes, and
//! what that does to it.

use super::filters::Scope;
use super::runtime::Runtime;
use super::{Answer, Record, Request, State, StepCandidate, Tri};
use meshladder_text::json::Raw;

mod action;
mod domains;
mod facts;
mod fraction;
mod headers;
mod matching;
mod redirect;
mod rewrite;
mod vhost;
mod weighted;

pub use action::{Action, Branch, ClusterSpecifier, RouteAction, Target};
pub use fraction::Share;
pub use matching::RouteMatch;
pub use redirect::Redirect;
pub use rewrite::{HostRewrite, Rewritten};
pub use vhost::{RequireTls, Route, VirtualHost};
pub use weighted::{WeightedCluster, WeightedClusters};

use domains::{Domains, Found};
use fraction::Dice;
use headers::HeaderChanges;
use matching::Context;

/// A compiled route table.
#[derive(Clone, Debug)]
pub struct RouteTable<'a> {
    /// The name that RDS and listeners know it by.
    pub name: Box<str>,
    /// The table as it stands in the dump.
    pub raw: Raw<'a>,
    /// The virtual hosts, in the dump's order.
    pub virtual_hosts: Vec<VirtualHost<'a>>,
    domains: Domains,
    ignore_path_parameters: bool,
    headers: HeaderChanges,
    scope: Scope<'a>,
    most_specific_header_mutations_wins: bool,
}

/// What a route table makes of a request.
#[derive(Clone, Debug)]
pub enum Routed<'t, 'a> {
    /// A route.
    Route(RouteDecision<'t, 'a>),
    /// `require_tls`: the client is sent to the same place over https.
    RequireTls {
        /// The virtual host that requires it.
        virtual_host: &'t VirtualHost<'a>,
        /// The `location` header.
        location: String,
    },
    /// None.
    NoRoute {
        /// The virtual host whose routes do not match; none when no virtual host does.
        virtual_host: Option<&'t VirtualHost<'a>>,
    },
    /// It cannot be told without a fact.
    Undecided {
        /// The virtual host, when that much is known.
        virtual_host: Option<&'t VirtualHost<'a>>,
        /// The first route of which it cannot be told whether it matches.
        route: Option<&'t Route<'a>>,
        /// The fact.
        fact: Box<str>,
    },
    /// Chance decides: each outcome with its share.
    Branches(Vec<(Share, Routed<'t, 'a>)>),
}

/// A route that a request takes.
#[derive(Clone, Debug)]
pub struct RouteDecision<'t, 'a> {
    /// The virtual host it is in.
    pub virtual_host: &'t VirtualHost<'a>,
    /// The route.
    pub route: &'t Route<'a>,
    /// Where it leads.
    pub target: Target<'t, 'a>,
    table: &'t RouteTable<'a>,
}

impl<'a> RouteTable<'a> {
    /// Compiles a `RouteConfiguration`.
    pub fn compile(raw: Raw<'a>, runtime: &Runtime<'_>) -> Self {
        let mut table = Self {
            name: Box::default(),
            raw,
            virtual_hosts: Vec::new(),
            domains: Domains::default(),
            ignore_path_parameters: false,
            headers: HeaderChanges::default(),
            scope: Scope::default(),
            most_specific_header_mutations_wins: false,
        };
        for (key, value) in raw.members() {
            match &*key {
                "name" => table.name = value.string().unwrap_or_default().into(),
                "virtual_hosts" => {
                    table.virtual_hosts = value
                        .elements()
                        .map(|raw| VirtualHost::compile(raw, runtime))
                        .collect();
                }
                "ignore_port_in_host_matching" => {
                    table.domains.ignore_port = value.bool().unwrap_or_default()
                }
                "vhost_header" => {
                    table.domains.header =
                        value.string().map(|name| name.to_ascii_lowercase().into())
                }
                "ignore_path_parameters_in_path_matching" => {
                    table.ignore_path_parameters = value.bool().unwrap_or_default();
                }
                "most_specific_header_mutations_wins" => {
                    table.most_specific_header_mutations_wins = value.bool().unwrap_or_default();
                }
                other => {
                    table.headers.read(other, value);
                    table.scope.read(other, value);
                }
            }
        }
        table.domains.index(&table.virtual_hosts);
        table
    }

    /// The route of a request that has been through [`super::path::BeforeRouting`], in the state
    /// that the filters which ran before have left it in.
    pub fn route<'t>(&'t self, state: &State<'_>, record: &mut Record) -> Routed<'t, 'a> {
        let request = &*state.request;
        let virtual_host = match self.domains.find(request) {
            Found::Host(index, domain) => {
                let virtual_host = &self.virtual_hosts[index];
                record.add(|| virtual_host.considered(request, domain));
                virtual_host
            }
            Found::Nothing => {
                record.add(|| self.no_virtual_host(request));
                return Routed::NoRoute { virtual_host: None };
            }
            Found::Unknown(fact) => {
                return Routed::Undecided {
                    virtual_host: None,
                    route: None,
                    fact,
                };
            }
        };
        let undecided = |fact| Routed::Undecided {
            virtual_host: Some(virtual_host),
            route: None,
            fact,
        };
        // "No scheme header": Envoy takes that for a request that was rejected earlier.
        if request.values("x-forwarded-proto").next() == Some("") {
            return Routed::NoRoute {
                virtual_host: Some(virtual_host),
            };
        }
        match virtual_host.requires_tls(request) {
            Tri::Yes => {
                let location = format!("https://{}{}", request.authority, request.path);
                return Routed::RequireTls {
                    virtual_host,
                    location,
                };
            }
            Tri::Unknown(fact) => return undecided(fact),
            Tri::No => {}
        }
        if let Some(fact) = &virtual_host.unmodelled {
            return undecided(fact.clone());
        }
        let context = Context::new(state, self.ignore_path_parameters);
        self.first_match(virtual_host, 0, Dice::default(), &context, record)
    }

    /// "Routes are matched in order; the first one that matches is used."
    fn first_match<'t>(
        &'t self,
        virtual_host: &'t VirtualHost<'a>,
        start: usize,
        dice: Dice,
        context: &Context<'_>,
        record: &mut Record,
    ) -> Routed<'t, 'a> {
        for (index, route) in virtual_host.routes.iter().enumerate().skip(start) {
            let matched = route.route_match.matches(context);
            record.add(|| route.considered(&matched, context));
            match matched {
                Tri::No => continue,
                Tri::Unknown(fact) => {
                    return Routed::Undecided {
                        virtual_host: Some(virtual_host),
                        route: Some(route),
                        fact,
                    };
                }
                Tri::Yes => {}
            }
            let (hit, miss) = dice.split(route.route_match.fraction);
            let Some((share, dice)) = hit else { continue };
            let decided = self.decide(virtual_host, route, dice, context.request());
            let Some((rest, dice)) = miss else {
                return decided;
            };
            let other = self.first_match(virtual_host, index + 1, dice, context, record);
            return Routed::Branches(vec![(share, decided), (rest, other)]);
        }
        Routed::NoRoute {
            virtual_host: Some(virtual_host),
        }
    }

    fn decide<'t>(
        &'t self,
        virtual_host: &'t VirtualHost<'a>,
        route: &'t Route<'a>,
        dice: Dice,
        request: &Request,
    ) -> Routed<'t, 'a> {
        match route.action.target(route, dice, request) {
            Ok(target) => Routed::Route(RouteDecision {
                virtual_host,
                route,
                target,
                table: self,
            }),
            Err(fact) => Routed::Undecided {
                virtual_host: Some(virtual_host),
                route: Some(route),
                fact,
            },
        }
    }

    fn no_virtual_host(&self, request: &Request) -> StepCandidate {
        StepCandidate {
            what: format!("route table {}", self.name).into(),
            matched: Tri::No,
            why: format!("no virtual host has the domain `{}`", request.authority),
            at: self.raw.offset(),
        }
    }
}

impl<'a> RouteDecision<'_, 'a> {
    /// Whether any of [`Self::scopes`] says something.
    pub fn has_overrides(&self, branch: Option<&Branch<'_, 'a>>) -> bool {
        let entry = branch
            .and_then(|branch| branch.entry)
            .map(|entry| &entry.scope);
        let around = [
            &self.route.scope,
            &self.virtual_host.scope,
            &self.table.scope,
        ];
        entry
            .into_iter()
            .chain(around)
            .any(|scope| !scope.is_empty())
    }

    /// What counts for filters that this request meets, the most specific one first: weighted
    /// cluster, route, virtual host, route configuration. `branch` is the one of the target's that
    /// is looked at.
    pub fn scopes(&self, branch: Option<&Branch<'_, 'a>>) -> Vec<Scope<'a>> {
        let entry = branch
            .and_then(|branch| branch.entry)
            .map(|entry| entry.scope);
        entry
            .into_iter()
            .chain([self.route.scope, self.virtual_host.scope, self.table.scope])
            .collect()
    }
}

impl Routed<'_, '_> {
    /// What the proxy answers on its own, and the `location` it sends the client to. None when it
    /// forwards, or when that is not decided.
    pub fn answer(&self, request: &Request) -> Option<(Answer, Option<String>)> {
        match self {
            Self::NoRoute { .. } => {
                Some((Answer::new(request, 404, &["NR"], "route_not_found"), None))
            }
            Self::RequireTls { location, .. } => Some((
                Answer::new(request, 301, &[], "direct_response"),
                Some(location.clone()),
            )),
            Self::Route(decision) => decision.target.answer(request),
            Self::Undecided { .. } | Self::Branches(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
