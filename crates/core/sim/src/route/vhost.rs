//! `config.route.v3.VirtualHost` and its routes.

use super::headers::HeaderChanges;
use super::matching::Context;
use super::{Action, RouteMatch, facts};
use crate::filters::Scope;
use crate::matcher::unmodelled;
use crate::runtime::Runtime;
use crate::{Request, StepCandidate, Tri};
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
    pub(super) scope: Scope<'a>,
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
    pub action: Action<'a>,
    /// The Istio object it was made from, as `name.namespace`.
    pub istio_config: Option<Box<str>>,
    /// `metadata`, for what else it says.
    pub metadata: Option<Raw<'a>>,
    pub(super) headers: HeaderChanges,
    pub(super) scope: Scope<'a>,
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
            scope: Scope::default(),
            unmodelled: None,
        };
        for (key, value) in raw.members() {
            match &*key {
                "name" => host.name = value.string().unwrap_or_default().into(),
                "domains" => {
                    host.domains = value
                        .elements()
                        .filter_map(Raw::string)
                        .map(Into::into)
                        .collect()
                }
                "routes" => {
                    host.routes = value
                        .elements()
                        .map(|raw| Route::compile(raw, runtime))
                        .collect()
                }
                "require_tls" => host.require_tls = RequireTls::compile(value),
                "matcher" => host.unmodelled = Some(unmodelled("the virtual host's matcher tree")),
                other => {
                    host.scope.read(other, value);
                    if !host.headers.read(other, value) {
                        host.facts.extend(facts::read(other, value));
                    }
                }
            }
        }
        host
    }

    /// "If the scheme is not https": Envoy looks at `x-forwarded-proto`.
    pub(super) fn requires_tls(&self, request: &Request) -> Tri {
        if self.require_tls == RequireTls::None
            || request.values("x-forwarded-proto").next() == Some("https")
        {
            return Tri::No;
        }
        match self.require_tls {
            RequireTls::ExternalOnly => Tri::unknown("whether the request is internal"),
            _ => Tri::Yes,
        }
    }

    pub(super) fn considered(&self, request: &Request, domain: usize) -> StepCandidate {
        let domain = &self.domains[domain];
        StepCandidate {
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
            action: Action::Unmodelled(unmodelled("a route without an action")),
            istio_config: None,
            metadata: None,
            headers: HeaderChanges::default(),
            scope: Scope::default(),
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
                    if let Some(action) = Action::compile(other, value, runtime) {
                        route.action = action;
                    }
                }
            }
        }
        route
    }

    pub(super) fn considered(&self, matched: &Tri, context: &Context<'_>) -> StepCandidate {
        let what = self.route_match.describe();
        let what = if self.name.is_empty() {
            what
        } else {
            format!("route {}: {what}", self.name)
        };
        StepCandidate {
            what: what.into(),
            matched: matched.clone(),
            why: self.route_match.why(context),
            at: self.raw.offset(),
        }
    }
}
