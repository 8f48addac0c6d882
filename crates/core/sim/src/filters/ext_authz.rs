//! `envoy.filters.http.ext_authz`: another service is asked. What it would answer is not known;
//! that it cannot be reached is.

use super::cors::runtime_fraction;
use super::local_ratelimit::status_code;
use super::{Upstream, Verdict};
use crate::answer::Answer;
use crate::rbac::MetadataMatcher;
use crate::runtime::{Fraction, Runtime};
use crate::{State, Tri};
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
        state: &State<'_>,
        upstream: &dyn Fn(&str) -> Upstream,
    ) -> Verdict {
        match self.is_enabled(state) {
            Tri::Yes => self.ask(state, upstream),
            Tri::No if self.deny_at_disable => Verdict::Answered(self.error(state), None),
            Tri::No => Verdict::Skipped("no CUSTOM policy matched".into()),
            Tri::Unknown(fact) => Verdict::Undecided(fact),
        }
    }

    /// "The filter is enabled only if both `filter_enabled` and `filter_enabled_metadata` say so."
    fn is_enabled(&self, state: &State<'_>) -> Tri {
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

    fn ask(&self, state: &State<'_>, upstream: &dyn Fn(&str) -> Upstream) -> Verdict {
        let Some(cluster) = &self.cluster else {
            return Verdict::Undecided("the answer of the authorization service".into());
        };
        match upstream(cluster) {
            Upstream::Missing | Upstream::Unhealthy if self.failure_mode_allow => Verdict::Passed(
                format!("{cluster} cannot be reached, and failure_mode_allow lets requests pass")
                    .into(),
            ),
            Upstream::Missing | Upstream::Unhealthy => Verdict::Answered(self.error(state), None),
            Upstream::Usable => Verdict::Undecided(
                format!("the answer of the authorization service {cluster}").into(),
            ),
            Upstream::Unknown(fact) => Verdict::Undecided(fact),
        }
    }

    fn error(&self, state: &State<'_>) -> Answer {
        Answer::new(
            &state.request,
            self.status_on_error,
            &["UAEX"],
            "ext_authz_error",
        )
    }
}
