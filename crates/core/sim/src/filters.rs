//! The HTTP filters of a connection manager, in order.
//!
//! Each is compiled once. The first filter that answers ends the chain; a filter that is not
//! modelled leaves the whole undecided, and is named.

use std::borrow::Cow;

use super::answer::Answer;
use super::jwt::{self, JwtAuthn, JwtPerRoute};
use super::rbac::filter::Outcome as RbacOutcome;
use super::rbac::{RbacFilter, RbacPerRoute};
use super::runtime::Runtime;
use super::{Record, State, Tri};
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

pub use any::Typed;
use ext_authz::{ExtAuthz, ExtAuthzPerRoute};
use fault::Fault;
use header_mutation::HeaderMutation;
use kind::Kind;
use local_ratelimit::LocalRateLimit;
use overrides::PerRoute;
pub use overrides::{Overrides, Scope};
use remote::ClientAddress;
use set_filter_state::SetFilterState;
pub use walk::{Branch, Step, Verdict, Walk};

/// The compiled filters of one connection manager.
#[derive(Debug)]
pub struct FilterChain<'a> {
    filters: Vec<Filter<'a>>,
    client: ClientAddress,
}

/// One compiled filter.
#[derive(Debug)]
pub struct Filter<'a> {
    /// Its name in the configuration; per-route configuration refers to it.
    pub name: Cow<'a, str>,
    /// Where it stands in the dump.
    pub at: usize,
    /// Whether it is off unless a route turns it on.
    disabled: bool,
    config: Config<'a>,
}

#[derive(Debug)]
enum Config<'a> {
    Rbac(RbacFilter),
    Jwt(JwtAuthn),
    Fault(Fault),
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
pub struct Environment<'e> {
    /// The time at which tokens are judged.
    pub now: Time,
    /// What became of a cluster, by its name.
    pub upstream: &'e dyn Fn(&str) -> Upstream,
    /// The cluster the route leads to, when it leads to one.
    pub cluster: Option<&'e str>,
}

/// Whether a cluster could answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Upstream {
    /// There is no such cluster.
    Missing,
    /// It has no endpoint that may be used.
    Unhealthy,
    /// It has one.
    Usable,
    /// It cannot be told without this fact.
    Unknown(Box<str>),
}

impl<'a> FilterChain<'a> {
    /// Compiles the filters of an `HttpConnectionManager`. `extension` finds the
    /// `TypedExtensionConfig` that ECDS delivered for a filter, by its name.
    pub fn compile(
        manager: Raw<'a>,
        runtime: &Runtime<'_>,
        extension: &dyn Fn(&str) -> Option<Raw<'a>>,
    ) -> Self {
        let filter = |raw| Filter::compile(raw, runtime, extension);
        Self {
            filters: manager.list("http_filters").map(filter).collect(),
            client: ClientAddress::compile(manager),
        }
    }

    /// The filters.
    pub fn filters(&self) -> &[Filter<'a>] {
        &self.filters
    }

    /// Walks a request through the filters. `state` is left as the router, or who answered, sees
    /// it.
    pub fn evaluate(
        &self,
        overrides: &Overrides,
        state: &mut State<'_>,
        environment: &Environment<'_>,
        record: &mut Record,
    ) -> Walk<'_> {
        state.remote = self.client.of(state);
        let mut walk = Walk::new(self.filters.len());
        for filter in &self.filters {
            let verdict = if filter.is_disabled(overrides) {
                Verdict::Skipped("it is disabled here".into())
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

impl<'a> Filter<'a> {
    fn compile(
        raw: Raw<'a>,
        runtime: &Runtime<'_>,
        extension: &dyn Fn(&str) -> Option<Raw<'a>>,
    ) -> Self {
        let name = raw.string_at("name").unwrap_or_default();
        let config = raw.get("typed_config").or_else(|| {
            let discovery = raw.get("config_discovery")?;
            let delivered = extension(&name).and_then(|config| config.get("typed_config"));
            delivered.or_else(|| discovery.get("default_config"))
        });
        let config = config.and_then(Typed::of);
        Self {
            config: config.map_or(Config::Missing, |config| Config::compile(&config, runtime)),
            at: raw.offset(),
            disabled: raw.get("disabled").and_then(Raw::bool).unwrap_or_default(),
            name,
        }
    }

    /// What kind of filter it is, by its type or by what became of its configuration.
    pub fn kind(&self) -> &str {
        match &self.config {
            Config::Rbac(_) => "rbac",
            Config::Jwt(_) => "jwt_authn",
            Config::Fault(_) => "fault",
            Config::Cors => "cors",
            Config::LocalRateLimit(_) => "local_ratelimit",
            Config::ExtAuthz(_) => "ext_authz",
            Config::HeaderMutation(_) => "header_mutation",
            Config::SetFilterState(_) => "set_filter_state",
            Config::Harmless | Config::WritesMetadata => "harmless",
            Config::Missing => "missing",
            Config::Router => "router",
            Config::Unmodelled(kind) => kind,
        }
    }

    /// "`typed_per_filter_config` can disable a filter", or turn one on that is disabled: the most
    /// specific entry counts.
    fn is_disabled(&self, overrides: &Overrides) -> bool {
        overrides
            .of(&self.name)
            .first()
            .map_or(self.disabled, |entry| matches!(entry, PerRoute::Disabled))
    }

    fn evaluate(
        &self,
        overrides: &Overrides,
        state: &mut State<'_>,
        environment: &Environment<'_>,
        record: &mut Record,
    ) -> Verdict {
        let entries = overrides.of(&self.name);
        let own = entries.first();
        match &self.config {
            Config::Rbac(filter) => evaluate_rbac(filter, own, state, record),
            Config::Jwt(filter) => evaluate_jwt(filter, own, state, environment.now, record),
            Config::Fault(fault) => {
                let fault = if let Some(PerRoute::Fault(own)) = own {
                    own
                } else {
                    fault
                };
                fault.evaluate(&state.request, environment.cluster)
            }
            Config::Cors => cors::evaluate(
                entries,
                &overrides.cors_fields,
                state,
                environment.cluster.is_some(),
            ),
            Config::LocalRateLimit(limit) => {
                let limit = if let Some(PerRoute::LocalRateLimit(own)) = own {
                    own
                } else {
                    limit
                };
                limit.evaluate(&state.request)
            }
            Config::ExtAuthz(authz) => match own {
                Some(PerRoute::ExtAuthz(ExtAuthzPerRoute::Disabled)) => {
                    Verdict::Skipped("the route needs no authorization".into())
                }
                Some(PerRoute::ExtAuthz(ExtAuthzPerRoute::OtherService)) => Verdict::Undecided(
                    "the answer of the authorization service that the route names".into(),
                ),
                _ => authz.evaluate(state, environment.upstream),
            },
            Config::HeaderMutation(mutation) => mutation.evaluate(own, state),
            Config::SetFilterState(filter) => filter.evaluate(state),
            Config::Harmless => Verdict::Passed("it decides nothing".into()),
            Config::WritesMetadata => {
                state.metadata.written_by(&self.name);
                Verdict::Passed("it decides nothing".into())
            }
            Config::Missing => {
                Verdict::Answered(Answer::new(&state.request, 500, &["NFCF"], ""), None)
            }
            Config::Router => Verdict::Passed("the end of the filters".into()),
            Config::Unmodelled(_) => Verdict::Undecided(
                format!("what the filter {} does, which is not modelled", self.name).into(),
            ),
        }
    }
}

impl<'a> Config<'a> {
    fn compile(config: &Typed<'a>, runtime: &Runtime<'_>) -> Self {
        let raw = config.value;
        match Kind::of(&config.type_url) {
            Kind::Rbac => Self::Rbac(RbacFilter::compile(raw)),
            Kind::JwtAuthn => Self::Jwt(JwtAuthn::compile(raw)),
            Kind::Fault => Self::Fault(Fault::compile(raw, runtime)),
            Kind::Cors => Self::Cors,
            Kind::LocalRateLimit => Self::LocalRateLimit(LocalRateLimit::compile(raw, runtime)),
            Kind::ExtAuthz => Self::ExtAuthz(ExtAuthz::compile(raw, runtime)),
            Kind::HeaderMutation => Self::HeaderMutation(HeaderMutation::compile(raw)),
            Kind::SetFilterState => Self::SetFilterState(SetFilterState::compile(raw)),
            Kind::Harmless => Self::Harmless,
            Kind::WritesMetadata => Self::WritesMetadata,
            Kind::Router => Self::Router,
            Kind::Unmodelled => Self::Unmodelled(config.type_url.clone()),
        }
    }
}

fn evaluate_rbac(
    filter: &RbacFilter,
    own: Option<&PerRoute>,
    state: &mut State<'_>,
    record: &mut Record,
) -> Verdict {
    let filter = match own {
        Some(PerRoute::Rbac(RbacPerRoute(None))) => {
            return Verdict::Skipped("the route has no rules".into());
        }
        Some(PerRoute::Rbac(RbacPerRoute(Some(own)))) => own,
        _ => filter,
    };
    let outcome = filter.evaluate(state, record);
    match (outcome.passes(), outcome.details()) {
        (Tri::Unknown(fact), _) => Verdict::Undecided(fact),
        (Tri::No, Some(details)) => {
            let answer =
                Answer::new(&state.request, 403, &[], details).with_body("RBAC: access denied");
            Verdict::Answered(answer, Some(Box::new(outcome)))
        }
        _ => Verdict::Rbac(Box::new(outcome)),
    }
}

fn evaluate_jwt(
    filter: &JwtAuthn,
    own: Option<&PerRoute>,
    state: &mut State<'_>,
    now: Time,
    record: &mut Record,
) -> Verdict {
    let own: Option<&JwtPerRoute> = if let Some(PerRoute::Jwt(own)) = own {
        Some(own)
    } else {
        None
    };
    match filter.evaluate(own, state, now, record) {
        jwt::Verdict::Passed(why) => Verdict::Passed(why.into()),
        jwt::Verdict::Refused(answer) => Verdict::Answered(answer, None),
        jwt::Verdict::Undecided(fact) => Verdict::Undecided(fact),
    }
}

#[cfg(test)]
mod tests;
