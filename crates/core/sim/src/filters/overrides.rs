//! `typed_per_filter_config`: what a route and the things around it say of filters.

use std::borrow::Cow;

use super::TypedConfig;
use super::cors::CorsPolicy;
use super::ext_authz::ExtAuthzPerRoute;
use super::fault::HttpFault;
use super::header_mutation::HeaderMutation;
use super::local_ratelimit::LocalRateLimit;
use crate::jwt::JwtPerRoute;
use crate::message;
use crate::rbac::RbacPerRoute;
use crate::runtime::Runtime;
use meshladder_text::json::Raw;

/// The compiled per-route configuration of one route: "weighted cluster > route > vhost > route
/// config".
#[derive(Debug, Default)]
pub struct Overrides {
    /// By filter name; the most specific entry comes first.
    filters: Vec<(Box<str>, Vec<PerRoute>)>,
    /// The `cors` fields of route and virtual host.
    pub(super) cors_fields: Vec<CorsPolicy>,
}

#[derive(Debug)]
pub(super) enum PerRoute {
    Rbac(RbacPerRoute),
    Jwt(JwtPerRoute),
    Fault(HttpFault),
    Cors(CorsPolicy),
    LocalRateLimit(LocalRateLimit),
    ExtAuthz(ExtAuthzPerRoute),
    HeaderMutation(HeaderMutation),
    /// `FilterConfig` with `disabled`.
    Disabled,
    /// Anything else turns the filter on and changes nothing that is modelled.
    Other,
}

/// The parts of a message that say something of filters: of an entry of `weighted_clusters`, a
/// `Route`, a `VirtualHost` or a `RouteConfiguration`.
#[derive(Clone, Copy, Debug, Default)]
pub struct FilterScope<'a> {
    typed_per_filter_config: Option<Raw<'a>>,
    cors: Option<Raw<'a>>,
}

impl<'a> FilterScope<'a> {
    /// Looks for them in a message.
    pub fn of(message: Raw<'a>) -> Self {
        let mut scope = Self::default();
        for (key, value) in message.members() {
            scope.read(&key, value);
        }
        scope
    }

    /// Whether nothing is said of any filter.
    pub fn is_empty(&self) -> bool {
        self.typed_per_filter_config.is_none() && self.cors.is_none()
    }

    /// The names of the filters of which something is said.
    pub fn filters(&self) -> impl Iterator<Item = Cow<'a, str>> + use<'a> {
        self.typed_per_filter_config
            .into_iter()
            .flat_map(Raw::members)
            .map(|(name, _)| name)
    }

    /// Takes in a member of a message.
    pub fn read(&mut self, key: &str, value: Raw<'a>) {
        match key {
            "typed_per_filter_config" => self.typed_per_filter_config = Some(value),
            "cors" => self.cors = Some(value),
            // A `Route` has it in its action.
            "route" => self.cors = self.cors.or_else(|| value.get("cors")),
            _ => {}
        }
    }
}

impl Overrides {
    /// Compiles what these say of filters: an entry of `weighted_clusters`, a `Route`, a
    /// `VirtualHost`, a `RouteConfiguration`, those that there are, in this order.
    pub fn compile(messages: &[Raw<'_>], runtime: &Runtime<'_>) -> Self {
        let scopes: Vec<_> = messages.iter().copied().map(FilterScope::of).collect();
        Self::of_scopes(&scopes, runtime)
    }

    /// Compiles what is said of filters in scopes that are known already.
    pub fn of_scopes(scopes: &[FilterScope<'_>], runtime: &Runtime<'_>) -> Self {
        let mut overrides = Self::default();
        for scope in scopes {
            if let Some(configs) = scope.typed_per_filter_config {
                for (name, config) in configs.members() {
                    overrides.add(&name, PerRoute::compile(config, runtime));
                }
            }
            if let Some(cors) = scope.cors {
                overrides
                    .cors_fields
                    .push(CorsPolicy::compile(cors, runtime));
            }
        }
        overrides
    }

    /// Whether nothing is said of any filter.
    pub fn is_empty(&self) -> bool {
        self.filters.is_empty() && self.cors_fields.is_empty()
    }

    fn add(&mut self, name: &str, entry: PerRoute) {
        for (known, entries) in &mut self.filters {
            if **known == *name {
                entries.push(entry);
                return;
            }
        }
        self.filters.push((name.into(), vec![entry]));
    }

    /// What is said of a filter, the most specific first.
    pub(super) fn of(&self, name: &str) -> &[PerRoute] {
        for (known, entries) in &self.filters {
            if **known == *name {
                return entries;
            }
        }
        &[]
    }
}

impl PerRoute {
    fn compile(raw: Raw<'_>, runtime: &Runtime<'_>) -> Self {
        // What a route says of a filter has a type of its own, which tells the filter.
        let Some(TypedConfig { type_url, value }) = TypedConfig::of(raw) else {
            return Self::Other;
        };
        let name = match type_url.rsplit_once("filters.http.") {
            Some((_, name)) => name,
            None => &*type_url,
        };
        match name {
            "rbac.v3.RBACPerRoute" => Self::Rbac(RbacPerRoute::compile(value)),
            "jwt_authn.v3.PerRouteConfig" => Self::Jwt(JwtPerRoute::compile(value)),
            "fault.v3.HTTPFault" => Self::Fault(HttpFault::compile(value, runtime)),
            "cors.v3.CorsPolicy" => Self::Cors(CorsPolicy::compile(value, runtime)),
            "local_ratelimit.v3.LocalRateLimit" => {
                Self::LocalRateLimit(LocalRateLimit::compile(value, runtime))
            }
            "ext_authz.v3.ExtAuthzPerRoute" => Self::ExtAuthz(ExtAuthzPerRoute::compile(value)),
            "header_mutation.v3.HeaderMutationPerRoute" => {
                Self::HeaderMutation(HeaderMutation::compile(value))
            }
            "envoy.config.route.v3.FilterConfig" => Self::filter_config(value, runtime),
            _ => Self::Other,
        }
    }

    /// "A simple wrapper for an HTTP filter config."
    fn filter_config(wrapper: Raw<'_>, runtime: &Runtime<'_>) -> Self {
        // "disabled: If true, the filter is disabled in the route or virtual host and the `config`
        // field is ignored."
        if message::flag(wrapper, "disabled") {
            return Self::Disabled;
        }
        match wrapper.get("config") {
            Some(config) => Self::compile(config, runtime),
            None => Self::Other,
        }
    }
}
