//! `envoy.filters.http.ext_authz`: another service is asked. What it would answer is not known;
//! that it cannot be reached is.

use super::local_ratelimit::status_code;
use super::{FilterVerdict, PerRoute, UpstreamState};
use crate::answer::Answer;
use crate::message;
use crate::rbac::MetadataMatcher;
use crate::runtime::{Fraction, Runtime};
use crate::{RequestState, Tri};
use meshladder_text::json::Raw;

/// A compiled `ExtAuthz`.
#[derive(Debug)]
pub struct ExtAuthz {
    /// The cluster of the service; none when it is not a cluster of Envoy's.
    cluster: Option<Box<str>>,
    failure_mode_allow: bool,
    status_on_error: u16,
    filter_enabled: Option<Fraction>,
    filter_enabled_metadata: Option<MetadataMatcher>,
    deny_at_disable: bool,
}

/// A compiled `ExtAuthzPerRoute`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtAuthzPerRoute {
    /// Nobody is asked.
    Disabled,
    /// Another service is asked.
    OtherService,
    /// The filter's own service is asked, with other settings.
    Settings,
}

impl ExtAuthzPerRoute {
    pub(super) fn compile(raw: Raw<'_>) -> Self {
        if message::flag(raw, "disabled") {
            return Self::Disabled;
        }
        let Some(settings) = raw.get("check_settings") else {
            return Self::Settings;
        };
        if settings.get("grpc_service").is_some() || settings.get("http_service").is_some() {
            return Self::OtherService;
        }
        Self::Settings
    }
}

impl ExtAuthz {
    pub(super) fn compile(raw: Raw<'_>, runtime: &Runtime<'_>) -> Self {
        let status = raw.at(["status_on_error", "code"]).and_then(status_code);
        let enabled = raw.get("filter_enabled");
        Self {
            cluster: service_cluster(raw),
            failure_mode_allow: message::flag(raw, "failure_mode_allow"),
            // "The default status is HTTP 403 Forbidden."
            status_on_error: status.unwrap_or(403),
            filter_enabled: enabled.map(|enabled| runtime.fractional_percent(enabled)),
            filter_enabled_metadata: raw
                .get("filter_enabled_metadata")
                .map(MetadataMatcher::compile),
            deny_at_disable: match raw.get("deny_at_disable") {
                Some(flag) => {
                    let default = message::flag(flag, "default_value");
                    runtime.flag(&message::text(flag, "runtime_key"), default)
                }
                None => false,
            },
        }
    }

    /// What the filter does, where a route may say something of it.
    pub(super) fn evaluate(
        &self,
        own: Option<&PerRoute>,
        state: &RequestState<'_>,
        upstream: &dyn Fn(&str) -> UpstreamState,
    ) -> FilterVerdict {
        match own {
            Some(PerRoute::ExtAuthz(ExtAuthzPerRoute::Disabled)) => {
                return FilterVerdict::Skipped("the route needs no authorization".into());
            }
            Some(PerRoute::ExtAuthz(ExtAuthzPerRoute::OtherService)) => {
                let fact = "the answer of the authorization service that the route names";
                return FilterVerdict::Undecided(fact.into());
            }
            _ => {}
        }
        match self.is_enabled(state) {
            Tri::Yes => self.ask(state, upstream),
            // "Specifies whether to deny the requests, when the filter is disabled."
            Tri::No if self.deny_at_disable => FilterVerdict::Answered(self.error(state), None),
            Tri::No => FilterVerdict::Skipped("no CUSTOM policy matched".into()),
            Tri::Unknown(fact) => FilterVerdict::Undecided(fact),
        }
    }

    /// "The filter is enabled only if both `filter_enabled` and `filter_enabled_metadata` say so."
    fn is_enabled(&self, state: &RequestState<'_>) -> Tri {
        let share = match self.filter_enabled {
            None => Tri::Yes,
            Some(fraction) if fraction.numerator == 0 => Tri::No,
            Some(fraction) if fraction.is_whole() => Tri::Yes,
            Some(_) => Tri::unknown("the share of requests for which authorization is asked"),
        };
        match &self.filter_enabled_metadata {
            Some(matcher) => Tri::all([share, matcher.matches(state)]),
            None => share,
        }
    }

    fn ask(
        &self,
        state: &RequestState<'_>,
        upstream: &dyn Fn(&str) -> UpstreamState,
    ) -> FilterVerdict {
        let Some(cluster) = &self.cluster else {
            return FilterVerdict::Undecided("the answer of the authorization service".into());
        };
        match upstream(cluster) {
            // "When set to true, the filter will accept client request even if communication with
            // the authorization service has failed".
            UpstreamState::Missing | UpstreamState::Unhealthy if self.failure_mode_allow => {
                let why = format!(
                    "{cluster} cannot be reached, and failure_mode_allow lets requests pass"
                );
                FilterVerdict::Passed(why.into())
            }
            UpstreamState::Missing | UpstreamState::Unhealthy => {
                FilterVerdict::Answered(self.error(state), None)
            }
            UpstreamState::Usable => {
                let fact = format!("the answer of the authorization service {cluster}");
                FilterVerdict::Undecided(fact.into())
            }
            UpstreamState::Unknown(fact) => FilterVerdict::Undecided(fact),
        }
    }

    fn error(&self, state: &RequestState<'_>) -> Answer {
        let status = self.status_on_error;
        Answer::new(&state.request, status, &["UAEX"], "ext_authz_error")
    }
}

/// The cluster that answers, over gRPC or HTTP.
fn service_cluster(authz: Raw<'_>) -> Option<Box<str>> {
    let grpc = authz.at(["grpc_service", "envoy_grpc", "cluster_name"]);
    let http = authz.at(["http_service", "server_uri", "cluster"]);
    Some(grpc.or(http)?.string()?.into())
}
