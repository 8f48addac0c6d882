//! `config.route.v3.RouteConfiguration`: which virtual host and which route a request takes, and
//! what that does to it.

use super::filters::FilterScope;
use super::runtime::Runtime;
use super::{Answer, DecisionRecord, MatchCandidate, Request, RequestState, Tri};
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

pub use action::{ClusterSpecifier, RouteAction, RouteBranch, RouteEffect, RouteTarget};
pub use fraction::RequestShare;
pub use matching::RouteMatch;
pub use redirect::Redirect;
pub use rewrite::{ForwardedTarget, HostRewrite};
pub use vhost::{RequireTls, Route, VirtualHost};
pub use weighted::{WeightedCluster, WeightedClusters};

use domains::{DomainMatch, Domains};
use fraction::Dice;
use headers::HeaderChanges;
use matching::MatchContext;

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
    scope: FilterScope<'a>,
    most_specific_header_mutations_wins: bool,
}

/// What a route table makes of a request.
#[derive(Clone, Debug)]
pub enum RouteOutcome<'t, 'a> {
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
    Branches(Vec<(RequestShare, RouteOutcome<'t, 'a>)>),
}

/// A route that a request takes.
#[derive(Clone, Debug)]
pub struct RouteDecision<'t, 'a> {
    /// The virtual host it is in.
    pub virtual_host: &'t VirtualHost<'a>,
    /// The route.
    pub route: &'t Route<'a>,
    /// Where it leads.
    pub target: RouteTarget<'t, 'a>,
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
            scope: FilterScope::default(),
            most_specific_header_mutations_wins: false,
        };
        for (key, value) in raw.members() {
            table.read(&key, value, runtime);
        }
        table.domains.index(&table.virtual_hosts);
        table
    }

    /// Takes in a member of the `RouteConfiguration`.
    fn read(&mut self, key: &str, value: Raw<'a>, runtime: &Runtime<'_>) {
        let flag = value.bool() == Some(true);
        match key {
            "name" => self.name = value.string().unwrap_or_default().into(),
            "virtual_hosts" => {
                for host in value.elements() {
                    self.virtual_hosts.push(VirtualHost::compile(host, runtime));
                }
            }
            "ignore_port_in_host_matching" => self.domains.ignore_port = flag,
            "vhost_header" => {
                if let Some(name) = value.string() {
                    self.domains.header = Some(name.to_ascii_lowercase().into());
                }
            }
            "ignore_path_parameters_in_path_matching" => self.ignore_path_parameters = flag,
            "most_specific_header_mutations_wins" => {
                self.most_specific_header_mutations_wins = flag;
            }
            other => {
                self.headers.read(other, value);
                self.scope.read(other, value);
            }
        }
    }

    /// The route of a request that has been through [`super::path::RequestPreparation`], in the state
    /// that the filters which ran before have left it in.
    pub fn route<'t>(
        &'t self,
        state: &RequestState<'_>,
        record: &mut DecisionRecord,
    ) -> RouteOutcome<'t, 'a> {
        match self.domains.find(&state.request) {
            DomainMatch::Host(index, domain) => {
                let virtual_host = &self.virtual_hosts[index];
                if record.is_kept() {
                    record.push(virtual_host.candidate(&state.request, domain));
                }
                self.route_in(virtual_host, state, record)
            }
            DomainMatch::Nothing => {
                if record.is_kept() {
                    record.push(self.no_virtual_host(&state.request));
                }
                RouteOutcome::NoRoute { virtual_host: None }
            }
            DomainMatch::Unknown(fact) => RouteOutcome::Undecided {
                virtual_host: None,
                route: None,
                fact,
            },
        }
    }

    /// The route in a virtual host: what the host asks of every request comes before its routes.
    fn route_in<'t>(
        &'t self,
        virtual_host: &'t VirtualHost<'a>,
        state: &RequestState<'_>,
        record: &mut DecisionRecord,
    ) -> RouteOutcome<'t, 'a> {
        let request = &*state.request;
        // "No scheme header": Envoy takes that for a request that was rejected earlier.
        if request.values("x-forwarded-proto").next() == Some("") {
            return RouteOutcome::NoRoute {
                virtual_host: Some(virtual_host),
            };
        }

        // "require_tls: Specifies the type of TLS enforcement the virtual host expects."
        match virtual_host.requires_tls(request) {
            Tri::Yes => {
                let location = format!("https://{}{}", request.authority, request.path);
                return RouteOutcome::RequireTls {
                    virtual_host,
                    location,
                };
            }
            Tri::Unknown(fact) => return RouteOutcome::undecided_in(virtual_host, None, fact),
            Tri::No => {}
        }
        if let Some(fact) = &virtual_host.unmodelled {
            return RouteOutcome::undecided_in(virtual_host, None, fact.clone());
        }

        let context = MatchContext::new(state, self.ignore_path_parameters);
        self.first_match(virtual_host, 0, Dice::default(), &context, record)
    }

    /// "The list of routes that will be matched, in order, for incoming requests. The first route that
    /// matches will be used."
    fn first_match<'t>(
        &'t self,
        virtual_host: &'t VirtualHost<'a>,
        start: usize,
        dice: Dice,
        context: &MatchContext<'_>,
        record: &mut DecisionRecord,
    ) -> RouteOutcome<'t, 'a> {
        for (index, route) in virtual_host.routes.iter().enumerate().skip(start) {
            // The reason is only put into words when somebody will read it.
            let matched = route.route_match.matches(context);
            if record.is_kept() {
                record.push(route.candidate(&matched, context));
            }
            match matched {
                Tri::No => continue,
                Tri::Unknown(fact) => {
                    return RouteOutcome::undecided_in(virtual_host, Some(route), fact);
                }
                Tri::Yes => {}
            }

            let (hit, miss) = dice.split(route.route_match.fraction);
            let Some((share, dice)) = hit else { continue };
            let decided = self.decide(virtual_host, route, dice, context.request());
            let Some((rest, dice)) = miss else {
                return decided;
            };
            // Chance decides: those that this route does not get go on to the routes behind it.
            let other = self.first_match(virtual_host, index + 1, dice, context, record);
            return RouteOutcome::Branches(vec![(share, decided), (rest, other)]);
        }
        RouteOutcome::NoRoute {
            virtual_host: Some(virtual_host),
        }
    }

    fn decide<'t>(
        &'t self,
        virtual_host: &'t VirtualHost<'a>,
        route: &'t Route<'a>,
        dice: Dice,
        request: &Request,
    ) -> RouteOutcome<'t, 'a> {
        match route.action.target(route, dice, request) {
            Ok(target) => RouteOutcome::Route(RouteDecision {
                virtual_host,
                route,
                target,
                table: self,
            }),
            Err(fact) => RouteOutcome::undecided_in(virtual_host, Some(route), fact),
        }
    }

    fn no_virtual_host(&self, request: &Request) -> MatchCandidate {
        MatchCandidate {
            what: format!("route table {}", self.name).into(),
            matched: Tri::No,
            why: format!("no virtual host has the domain `{}`", request.authority),
            at: self.raw.offset(),
        }
    }
}

impl<'a> RouteDecision<'_, 'a> {
    /// Whether any of [`Self::scopes`] says something.
    pub fn has_overrides(&self, branch: Option<&RouteBranch<'_, 'a>>) -> bool {
        if let Some(entry) = branch.and_then(|branch| branch.entry)
            && !entry.scope.is_empty()
        {
            return true;
        }
        !(self.route.scope.is_empty()
            && self.virtual_host.scope.is_empty()
            && self.table.scope.is_empty())
    }

    /// What counts for filters that this request meets. `branch` is the one of the target's that is
    /// looked at.
    pub fn scopes(&self, branch: Option<&RouteBranch<'_, 'a>>) -> Vec<FilterScope<'a>> {
        // The most specific one first: a filter takes the first that says something of it.
        let mut scopes = Vec::with_capacity(4);
        if let Some(entry) = branch.and_then(|branch| branch.entry) {
            scopes.push(entry.scope);
        }
        scopes.extend([self.route.scope, self.virtual_host.scope, self.table.scope]);
        scopes
    }
}

impl<'t, 'a> RouteOutcome<'t, 'a> {
    fn undecided_in(
        virtual_host: &'t VirtualHost<'a>,
        route: Option<&'t Route<'a>>,
        fact: Box<str>,
    ) -> Self {
        Self::Undecided {
            virtual_host: Some(virtual_host),
            route,
            fact,
        }
    }
    /// What the proxy answers on its own, and the `location` it sends the client to. None when it
    /// forwards, or when that is not decided.
    pub fn answer(&self, request: &Request) -> Option<(Answer, Option<String>)> {
        match self {
            Self::NoRoute { .. } => {
                let answer = Answer::new(request, 404, &["NR"], "route_not_found");
                Some((answer, None))
            }
            Self::RequireTls { location, .. } => {
                let answer = Answer::new(request, 301, &[], "direct_response");
                Some((answer, Some(location.clone())))
            }
            Self::Route(decision) => decision.target.answer(request),
            Self::Undecided { .. } | Self::Branches(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
