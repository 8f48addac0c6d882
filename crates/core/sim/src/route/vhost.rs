//! `config.route.v3.VirtualHost` and its routes.

use super::headers::HeaderChanges;
use super::matching::MatchContext;
use super::{RouteEffect, RouteMatch, facts};
use crate::filters::FilterScope;
use crate::matcher::unmodelled;
use crate::runtime::Runtime;
use crate::{MatchCandidate, Request, Tri};
use meshladder_capture::envoy::name::istio_config;
use meshladder_text::json::Raw;

/// A compiled virtual host.
#[derive(Clone, Debug)]
pub struct VirtualHost<'a> {
    /// Its name.
    pub name: Box<str>,
    /// The message as it stands in the dump.
    pub raw: Raw<'a>,
    /// Its domains, as written.
    pub domains: Vec<Box<str>>,
    /// Its routes in their order.
    pub routes: Vec<Route<'a>>,
    /// Whether it sends clients to https.
    pub require_tls: RequireTls,
    /// What routes without a policy of their own inherit, for display: name and value.
    pub facts: Vec<(&'static str, Box<str>)>,
    pub(super) headers: HeaderChanges,
    pub(super) scope: FilterScope<'a>,
    /// Why its routes cannot be evaluated.
    pub(super) unmodelled: Option<Box<str>>,
}

/// `VirtualHost.TlsRequirementType`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequireTls {
    /// No.
    #[default]
    None,
    /// Unless the request is internal.
    ExternalOnly,
    /// Yes.
    All,
}

/// A compiled route.
#[derive(Clone, Debug)]
pub struct Route<'a> {
    /// Its name; empty when it has none.
    pub name: Box<str>,
    /// The message as it stands in the dump.
    pub raw: Raw<'a>,
    /// What it matches.
    pub route_match: RouteMatch,
    /// What it does.
    pub action: RouteEffect<'a>,
    /// The Istio object it was made from, as `name.namespace`.
    pub istio_config: Option<Box<str>>,
    /// `metadata`, for what else it says.
    pub metadata: Option<Raw<'a>>,
    pub(super) headers: HeaderChanges,
    pub(super) scope: FilterScope<'a>,
}

impl<'a> VirtualHost<'a> {
    pub(super) fn compile(raw: Raw<'a>, runtime: &Runtime<'_>) -> Self {
        let mut host = Self {
            name: Box::default(),
            raw,
            domains: Vec::new(),
            routes: Vec::new(),
            require_tls: RequireTls::None,
            facts: Vec::new(),
            headers: HeaderChanges::default(),
            scope: FilterScope::default(),
            unmodelled: None,
        };
        for (key, value) in raw.members() {
            host.read(&key, value, runtime);
        }
        host
    }

    /// Takes in a member of the `VirtualHost`.
    fn read(&mut self, key: &str, value: Raw<'a>, runtime: &Runtime<'_>) {
        match key {
            "name" => self.name = value.string().unwrap_or_default().into(),
            "domains" => {
                for domain in value.elements() {
                    self.domains.extend(domain.string().map(Box::from));
                }
            }
            "routes" => {
                for route in value.elements() {
                    self.routes.push(Route::compile(route, runtime));
                }
            }
            "require_tls" => self.require_tls = RequireTls::compile(value),
            "matcher" => self.unmodelled = Some(unmodelled("the virtual host's matcher tree")),
            other => {
                self.scope.read(other, value);
                if !self.headers.read(other, value) {
                    self.facts.extend(facts::read(other, value));
                }
            }
        }
    }

    /// "If the scheme is not https": Envoy looks at `x-forwarded-proto`.
    pub(super) fn requires_tls(&self, request: &Request) -> Tri {
        if request.values("x-forwarded-proto").next() == Some("https") {
            return Tri::No;
        }
        match self.require_tls {
            RequireTls::None => Tri::No,
            RequireTls::ExternalOnly => Tri::unknown("whether the request is internal"),
            RequireTls::All => Tri::Yes,
        }
    }

    pub(super) fn candidate(&self, request: &Request, domain: usize) -> MatchCandidate {
        let domain = &self.domains[domain];
        MatchCandidate {
            what: format!("virtual host {}", self.name).into(),
            matched: Tri::Yes,
            why: format!("host `{}` has its domain `{domain}`", request.authority),
            at: self.raw.offset(),
        }
    }
}

impl RequireTls {
    fn compile(raw: Raw<'_>) -> Self {
        match raw.string().as_deref() {
            Some("ALL") => Self::All,
            Some("EXTERNAL_ONLY") => Self::ExternalOnly,
            _ => Self::None,
        }
    }
}

impl<'a> Route<'a> {
    fn compile(raw: Raw<'a>, runtime: &Runtime<'_>) -> Self {
        let mut route = Self {
            name: Box::default(),
            raw,
            route_match: RouteMatch::default(),
            action: RouteEffect::Unmodelled(unmodelled("a route without an action")),
            istio_config: None,
            metadata: None,
            headers: HeaderChanges::default(),
            scope: FilterScope::default(),
        };
        for (key, value) in raw.members() {
            match &*key {
                "name" => route.name = value.string().unwrap_or_default().into(),
                "match" => route.route_match = RouteMatch::compile(value, runtime),
                "metadata" => {
                    route.istio_config = istio_config(value).map(Into::into);
                    route.metadata = Some(value);
                }
                other => {
                    route.scope.read(other, value);
                    if route.headers.read(other, value) {
                        continue;
                    }
                    if let Some(action) = RouteEffect::compile(other, value, runtime) {
                        route.action = action;
                    }
                }
            }
        }
        route
    }

    pub(super) fn candidate(&self, matched: &Tri, context: &MatchContext<'_>) -> MatchCandidate {
        let path = self.route_match.describe();
        MatchCandidate {
            what: match &*self.name {
                "" => path.into(),
                name => format!("route {name}: {path}").into(),
            },
            matched: matched.clone(),
            why: self.route_match.why(context),
            at: self.raw.offset(),
        }
    }
}
