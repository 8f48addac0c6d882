//! `envoy.filters.http.ext_authz`: another service is asked. What it would answer is not known;
//! that it cannot be reached is.

use super::cors::runtime_fraction;
use super::local_ratelimit::status_code;
use super::{FilterVerdict, UpstreamState};
use crate::answer::Answer;
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
    /// The same service is asked, with other settings.
    Settings,
}

impl ExtAuthzPerRoute {
    pub(super) fn compile(raw: Raw<'_>) -> Self {
        let other = |key| raw.at(["check_settings", key]).is_some();
        match raw.get("disabled").and_then(Raw::bool) {
            Some(true) => Self::Disabled,
            _ if other("grpc_service") || other("http_service") => Self::OtherService,
            _ => Self::Settings,
        }
    }
}

impl ExtAuthz {
    pub(super) fn compile(raw: Raw<'_>, runtime: &Runtime<'_>) -> Self {
        let http = || raw.at(["http_service", "server_uri", "cluster"]);
        let cluster = raw
            .at(["grpc_service", "envoy_grpc", "cluster_name"])
            .or_else(http);
        let deny_at_disable = raw.get("deny_at_disable").map(|flag| {
            let default = flag
                .get("default_value")
                .and_then(Raw::bool)
                .unwrap_or_default();
            runtime.flag(&flag.string_at("runtime_key").unwrap_or_default(), default)
        });
        Self {
            cluster: cluster.and_then(|cluster| Some(cluster.string()?.into())),
            failure_mode_allow: raw
                .get("failure_mode_allow")
                .and_then(Raw::bool)
                .unwrap_or_default(),
            status_on_error: raw
                .at(["status_on_error", "code"])
                .and_then(status_code)
                .unwrap_or(403),
            filter_enabled: raw
                .get("filter_enabled")
                .map(|enabled| runtime_fraction(enabled, runtime)),
            filter_enabled_metadata: raw
                .get("filter_enabled_metadata")
                .map(MetadataMatcher::compile),
            deny_at_disable: deny_at_disable.unwrap_or_default(),
        }
    }

    /// What the filter does.
    pub(super) fn evaluate(
        &self,
        state: &RequestState<'_>,
        upstream: &dyn Fn(&str) -> UpstreamState,
    ) -> FilterVerdict {
        match self.is_enabled(state) {
            Tri::Yes => self.ask(state, upstream),
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
            Some(fraction) if fraction.numerator >= fraction.denominator => Tri::Yes,
            Some(_) => Tri::unknown("the share of requests for which authorization is asked"),
        };
        let metadata = self
            .filter_enabled_metadata
            .as_ref()
            .map_or(Tri::Yes, |matcher| matcher.matches(state));
        Tri::all([share, metadata])
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
            UpstreamState::Missing | UpstreamState::Unhealthy if self.failure_mode_allow => {
                FilterVerdict::Passed(
                    format!(
                        "{cluster} cannot be reached, and failure_mode_allow lets requests pass"
                    )
                    .into(),
                )
            }
            UpstreamState::Missing | UpstreamState::Unhealthy => {
                FilterVerdict::Answered(self.error(state), None)
            }
            UpstreamState::Usable => FilterVerdict::Undecided(
                format!("the answer of the authorization service {cluster}").into(),
            ),
            UpstreamState::Unknown(fact) => FilterVerdict::Undecided(fact),
        }
    }

    fn error(&self, state: &RequestState<'_>) -> Answer {
        Answer::new(
            &state.request,
            self.status_on_error,
            &["UAEX"],
            "ext_authz_error",
        )
    }
}
