//! The HTTP filters of a connection manager, in order.
//!
//! Each is compiled once. The first filter that answers ends the chain; a filter that is not
//! modelled leaves the whole undecided, and is named.

use std::borrow::Cow;

use super::answer::Answer;
use super::jwt::{JwtAuthn, JwtVerdict};
use super::message;
use super::rbac::filter::RbacOutcome;
use super::rbac::{RbacFilter, RbacPerRoute};
use super::runtime::Runtime;
use super::{DecisionRecord, RequestState, Tri};
use meshladder_text::json::Raw;
use meshladder_text::time::Time;

mod any;
pub mod cors;
pub mod ext_authz;
pub mod fault;
mod header_mutation;
pub mod kind;
pub mod local_ratelimit;
mod overrides;
mod remote;
mod set_filter_state;
mod walk;

pub use any::TypedConfig;
use ext_authz::ExtAuthz;
use fault::HttpFault;
use header_mutation::HeaderMutation;
use kind::HttpFilterKind;
use local_ratelimit::LocalRateLimit;
use overrides::PerRoute;
pub use overrides::{FilterScope, Overrides};
use remote::ClientAddress;
use set_filter_state::SetFilterState;
pub use walk::{FilterBranch, FilterStep, FilterVerdict, FilterWalk};

/// The compiled filters of one connection manager.
#[derive(Debug)]
pub struct HttpFilters<'a> {
    filters: Vec<HttpFilter<'a>>,
    client: ClientAddress,
}

/// One compiled filter.
#[derive(Debug)]
pub struct HttpFilter<'a> {
    /// Its name in the configuration; per-route configuration refers to it.
    pub name: Cow<'a, str>,
    /// Where it stands in the dump.
    pub at: usize,
    /// Whether it is off unless a route turns it on.
    disabled: bool,
    config: HttpFilterConfig<'a>,
}

#[derive(Debug)]
enum HttpFilterConfig<'a> {
    Rbac(RbacFilter),
    Jwt(JwtAuthn),
    Fault(HttpFault),
    Cors,
    LocalRateLimit(LocalRateLimit),
    ExtAuthz(ExtAuthz),
    HeaderMutation(HeaderMutation),
    SetFilterState(SetFilterState),
    /// Decides nothing.
    Harmless,
    /// Decides nothing, but writes metadata we do not know.
    WritesMetadata,
    /// Its configuration was to come by ECDS and is not there.
    Missing,
    Router,
    /// Anything else, by its type.
    Unmodelled(Cow<'a, str>),
}

/// What filters need to know beside the request.
#[derive(Clone, Copy)]
pub struct FilterEnvironment<'e> {
    /// The time at which tokens are judged.
    pub now: Time,
    /// What became of a cluster, by its name.
    pub upstream: &'e dyn Fn(&str) -> UpstreamState,
    /// The cluster the route leads to, when it leads to one.
    pub cluster: Option<&'e str>,
}

/// Whether a cluster could answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpstreamState {
    /// There is no such cluster.
    Missing,
    /// It has no endpoint that may be used.
    Unhealthy,
    /// It has one.
    Usable,
    /// It cannot be told without this fact.
    Unknown(Box<str>),
}

impl<'a> HttpFilters<'a> {
    /// Compiles the filters of an `HttpConnectionManager`. `extension` finds the
    /// `TypedExtensionConfig` that ECDS delivered for a filter, by its name.
    pub fn compile(
        manager: Raw<'a>,
        runtime: &Runtime<'_>,
        extension: &dyn Fn(&str) -> Option<Raw<'a>>,
    ) -> Self {
        let mut filters = Vec::new();
        for raw in manager.list("http_filters") {
            filters.push(HttpFilter::compile(raw, runtime, extension));
        }
        Self {
            filters,
            client: ClientAddress::compile(manager),
        }
    }

    /// The filters.
    pub fn filters(&self) -> &[HttpFilter<'a>] {
        &self.filters
    }

    /// Walks a request through the filters. `state` is left as the router, or who answered, sees
    /// it.
    pub fn evaluate(
        &self,
        overrides: &Overrides,
        state: &mut RequestState<'_>,
        environment: &FilterEnvironment<'_>,
        record: &mut DecisionRecord,
    ) -> FilterWalk<'_> {
        // "Order matters as the filters are processed sequentially as request events happen."
        state.remote = self.client.of(state);
        let mut walk = FilterWalk::new(self.filters.len());
        for filter in &self.filters {
            // A filter that is off here is not asked, and neither is one behind an answer.
            let verdict = if filter.is_disabled(overrides) {
                FilterVerdict::Skipped("it is disabled here".into())
            } else {
                filter.evaluate(overrides, state, environment, record)
            };
            walk.step(filter, verdict);
            if walk.is_over() {
                break;
            }
        }
        walk
    }
}

impl<'a> HttpFilter<'a> {
    fn compile(
        raw: Raw<'a>,
        runtime: &Runtime<'_>,
        extension: &dyn Fn(&str) -> Option<Raw<'a>>,
    ) -> Self {
        let name = message::text(raw, "name");
        let config = typed_config(raw, &name, extension);
        Self {
            config: match config.and_then(TypedConfig::of) {
                Some(config) => HttpFilterConfig::compile(&config, runtime),
                None => HttpFilterConfig::Missing,
            },
            at: raw.offset(),
            disabled: message::flag(raw, "disabled"),
            name,
        }
    }

    /// What kind of filter it is, by its type or by what became of its configuration.
    pub fn kind(&self) -> &str {
        match &self.config {
            HttpFilterConfig::Rbac(_) => "rbac",
            HttpFilterConfig::Jwt(_) => "jwt_authn",
            HttpFilterConfig::Fault(_) => "fault",
            HttpFilterConfig::Cors => "cors",
            HttpFilterConfig::LocalRateLimit(_) => "local_ratelimit",
            HttpFilterConfig::ExtAuthz(_) => "ext_authz",
            HttpFilterConfig::HeaderMutation(_) => "header_mutation",
            HttpFilterConfig::SetFilterState(_) => "set_filter_state",
            HttpFilterConfig::Harmless | HttpFilterConfig::WritesMetadata => "harmless",
            HttpFilterConfig::Missing => "missing",
            HttpFilterConfig::Router => "router",
            HttpFilterConfig::Unmodelled(kind) => kind,
        }
    }

    /// "`typed_per_filter_config` can disable a filter", or turn one on that is disabled: the most
    /// specific entry counts.
    fn is_disabled(&self, overrides: &Overrides) -> bool {
        match overrides.of(&self.name).first() {
            Some(entry) => matches!(entry, PerRoute::Disabled),
            None => self.disabled,
        }
    }

    fn evaluate(
        &self,
        overrides: &Overrides,
        state: &mut RequestState<'_>,
        environment: &FilterEnvironment<'_>,
        record: &mut DecisionRecord,
    ) -> FilterVerdict {
        let entries = overrides.of(&self.name);
        // The most specific entry comes first and takes the place of the others.
        let own = entries.first();
        let harmless = FilterVerdict::Passed("it decides nothing".into());
        match &self.config {
            HttpFilterConfig::Rbac(filter) => evaluate_rbac(filter, own, state, record),
            HttpFilterConfig::Jwt(filter) => {
                evaluate_jwt(filter, own, state, environment.now, record)
            }
            HttpFilterConfig::Fault(fault) => {
                let fault = fault::of_route(own).unwrap_or(fault);
                fault.evaluate(&state.request, environment.cluster)
            }
            HttpFilterConfig::Cors => {
                let has_cluster = environment.cluster.is_some();
                cors::evaluate(entries, &overrides.cors_fields, state, has_cluster)
            }
            HttpFilterConfig::LocalRateLimit(limit) => {
                let limit = local_ratelimit::of_route(own).unwrap_or(limit);
                limit.evaluate(&state.request)
            }
            HttpFilterConfig::ExtAuthz(authz) => authz.evaluate(own, state, environment.upstream),
            HttpFilterConfig::HeaderMutation(mutation) => mutation.evaluate(own, state),
            HttpFilterConfig::SetFilterState(filter) => filter.evaluate(state),
            HttpFilterConfig::Harmless => harmless,
            HttpFilterConfig::WritesMetadata => {
                state.metadata.written_by(&self.name);
                harmless
            }
            // ECDS has not delivered it, and it has no default.
            HttpFilterConfig::Missing => {
                let answer = Answer::new(&state.request, 500, &["NFCF"], "");
                FilterVerdict::Answered(answer, None)
            }
            HttpFilterConfig::Router => FilterVerdict::Passed("the end of the filters".into()),
            HttpFilterConfig::Unmodelled(_) => {
                let fact = format!("what the filter {} does, which is not modelled", self.name);
                FilterVerdict::Undecided(fact.into())
            }
        }
    }
}

impl<'a> HttpFilterConfig<'a> {
    fn compile(config: &TypedConfig<'a>, runtime: &Runtime<'_>) -> Self {
        let raw = config.value;
        match HttpFilterKind::of(&config.type_url) {
            HttpFilterKind::Rbac => Self::Rbac(RbacFilter::compile(raw)),
            HttpFilterKind::JwtAuthn => Self::Jwt(JwtAuthn::compile(raw)),
            HttpFilterKind::Fault => Self::Fault(HttpFault::compile(raw, runtime)),
            HttpFilterKind::Cors => Self::Cors,
            HttpFilterKind::LocalRateLimit => {
                Self::LocalRateLimit(LocalRateLimit::compile(raw, runtime))
            }
            HttpFilterKind::ExtAuthz => Self::ExtAuthz(ExtAuthz::compile(raw, runtime)),
            HttpFilterKind::HeaderMutation => Self::HeaderMutation(HeaderMutation::compile(raw)),
            HttpFilterKind::SetFilterState => Self::SetFilterState(SetFilterState::compile(raw)),
            HttpFilterKind::Harmless => Self::Harmless,
            HttpFilterKind::WritesMetadata => Self::WritesMetadata,
            HttpFilterKind::Router => Self::Router,
            HttpFilterKind::Unmodelled => Self::Unmodelled(config.type_url.clone()),
        }
    }
}

fn evaluate_rbac(
    filter: &RbacFilter,
    own: Option<&PerRoute>,
    state: &mut RequestState<'_>,
    record: &mut DecisionRecord,
) -> FilterVerdict {
    // "rbac: Override the global configuration of the filter with this new config. If absent, the
    // global RBAC policy will be disabled for this route."
    let filter = match own {
        Some(PerRoute::Rbac(RbacPerRoute(None))) => {
            return FilterVerdict::Skipped("the route has no rules".into());
        }
        Some(PerRoute::Rbac(RbacPerRoute(Some(own)))) => own,
        _ => filter,
    };

    let outcome = filter.evaluate(state, record);
    match (outcome.passes(), outcome.details()) {
        (Tri::Unknown(fact), _) => FilterVerdict::Undecided(fact),
        // Denials of RBAC have no response flag: only the details tell the policy.
        (Tri::No, Some(details)) => {
            let answer = Answer::new(&state.request, 403, &[], details);
            let answer = answer.with_body("RBAC: access denied");
            FilterVerdict::Answered(answer, Some(Box::new(outcome)))
        }
        _ => FilterVerdict::Rbac(Box::new(outcome)),
    }
}

fn evaluate_jwt(
    filter: &JwtAuthn,
    own: Option<&PerRoute>,
    state: &mut RequestState<'_>,
    now: Time,
    record: &mut DecisionRecord,
) -> FilterVerdict {
    let own = match own {
        Some(PerRoute::Jwt(own)) => Some(own),
        _ => None,
    };
    match filter.evaluate(own, state, now, record) {
        JwtVerdict::Passed(why) => FilterVerdict::Passed(why.into()),
        JwtVerdict::Refused(answer) => FilterVerdict::Answered(answer, None),
        JwtVerdict::Undecided(fact) => FilterVerdict::Undecided(fact),
    }
}

/// The configuration of a filter: its own, what ECDS delivered, or the default until it does.
fn typed_config<'a>(
    filter: Raw<'a>,
    name: &str,
    extension: &dyn Fn(&str) -> Option<Raw<'a>>,
) -> Option<Raw<'a>> {
    if let Some(config) = filter.get("typed_config") {
        return Some(config);
    }
    let discovery = filter.get("config_discovery")?;
    if let Some(delivered) = extension(name)
        && let Some(config) = delivered.get("typed_config")
    {
        return Some(config);
    }
    discovery.get("default_config")
}

#[cfg(test)]
mod tests;
