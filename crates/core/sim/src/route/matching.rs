//! `config.route.v3.RouteMatch`: a route matches when everything in it does.

use std::borrow::Cow;

use crate::answer::is_grpc;
use crate::matcher::{
    CookieMatcher, HeaderMatcher, PathMatch, QueryParameterMatcher, unmodelled,
    without_query_and_fragment,
};
use crate::message;
use crate::rbac::MetadataMatcher;
use crate::runtime::{Fraction, Runtime};
use crate::state::Peer;
use crate::{Request, RequestState, Tri};
use meshladder_text::json::Raw;

/// A compiled `RouteMatch`.
#[derive(Clone, Debug, Default)]
pub struct RouteMatch {
    /// The path specifier.
    pub path: Option<PathMatch>,
    /// `headers`
    pub headers: Vec<HeaderMatcher>,
    /// `query_parameters`
    pub query_parameters: Vec<QueryParameterMatcher>,
    /// `cookies`
    pub cookies: Vec<CookieMatcher>,
    /// `grpc`: only gRPC requests.
    pub grpc: bool,
    pub(super) fraction: Option<Fraction>,
    tls_context: Option<TlsContextMatch>,
    dynamic_metadata: Vec<MetadataMatcher>,
    /// What else it asks that is not modelled.
    unmodelled: Option<Box<str>>,
}

/// `RouteMatch.TlsContextMatchOptions`
#[derive(Clone, Copy, Debug)]
struct TlsContextMatch {
    presented: Option<bool>,
    validated: Option<bool>,
}

/// A request, prepared for matching it with many routes.
pub(super) struct MatchContext<'r> {
    state: &'r RequestState<'r>,
    /// The path without query and fragment.
    whole_path: &'r str,
    /// That path as most specifiers see it.
    path: Cow<'r, str>,
}

impl<'r> MatchContext<'r> {
    pub(super) fn new(state: &'r RequestState<'r>, ignore_path_parameters: bool) -> Self {
        let whole_path = without_query_and_fragment(&state.request.path);
        let path = if ignore_path_parameters {
            without_parameters(whole_path)
        } else {
            Cow::Borrowed(whole_path)
        };
        Self {
            state,
            whole_path,
            path,
        }
    }

    pub(super) fn request(&self) -> &'r Request {
        &self.state.request
    }
}

impl RouteMatch {
    pub(super) fn compile(raw: Raw<'_>, runtime: &Runtime<'_>) -> Self {
        let mut this = Self::default();
        let mut is_case_sensitive = true;
        for (key, value) in raw.members() {
            if &*key == "case_sensitive" {
                is_case_sensitive = value.bool() != Some(false);
            } else {
                this.read(&key, value, runtime);
            }
        }
        // It may stand before or behind the path that it is about.
        if !is_case_sensitive {
            this.path = this.path.map(PathMatch::ignoring_case);
        }
        this
    }

    /// Takes in a member of the `RouteMatch`.
    fn read(&mut self, key: &str, value: Raw<'_>, runtime: &Runtime<'_>) {
        let items = value.elements();
        match key {
            "headers" => self.headers = items.map(HeaderMatcher::compile).collect(),
            "query_parameters" => {
                self.query_parameters = items.map(QueryParameterMatcher::compile).collect();
            }
            "cookies" => self.cookies = items.map(CookieMatcher::compile).collect(),
            "grpc" => self.grpc = true,
            "runtime_fraction" => self.fraction = Some(runtime.fractional_percent(value)),
            "dynamic_metadata" => {
                self.dynamic_metadata = items.map(MetadataMatcher::compile).collect();
            }
            "tls_context" => self.tls_context = Some(TlsContextMatch::compile(value)),
            other => match PathMatch::compile(other, value) {
                Some(path) => self.path = Some(path),
                None => self.unmodelled = Some(unmodelled(&format!("a route's `{other}`"))),
            },
        }
    }

    /// Whether all of it matches; the fraction aside.
    pub(super) fn matches(&self, context: &MatchContext<'_>) -> Tri {
        // Most routes are told apart by their path, so it comes first: the result is the same in
        // any order.
        let mut result = self.matches_path(context);
        if result == Tri::No || self.is_path_only() {
            return result;
        }

        for condition in self.conditions() {
            match condition.matches(context.state) {
                Tri::No => return Tri::No,
                // The first unknown is the one that is named.
                unknown @ Tri::Unknown(_) if result == Tri::Yes => result = unknown,
                Tri::Yes | Tri::Unknown(_) => {}
            }
        }
        result
    }

    fn is_path_only(&self) -> bool {
        self.headers.is_empty()
            && self.query_parameters.is_empty()
            && self.cookies.is_empty()
            && !self.grpc
            && self.tls_context.is_none()
            && self.dynamic_metadata.is_empty()
            && self.unmodelled.is_none()
    }

    fn matches_path(&self, context: &MatchContext<'_>) -> Tri {
        match &self.path {
            // "If this is used as the matcher, the matcher will only match CONNECT or CONNECT-UDP
            // requests."
            Some(PathMatch::Connect) => (context.request().method == "CONNECT").into(),
            // Only `connect_matcher` takes requests without a path.
            _ if context.request().path.is_empty() => Tri::No,
            Some(template @ PathMatch::Template(_)) => template.matches(context.whole_path),
            Some(path) => path.matches(&context.path),
            None => Tri::unknown("which paths a route without a path specifier takes"),
        }
    }

    /// Everything but the path.
    fn conditions(&self) -> impl Iterator<Item = MatchCondition<'_>> {
        let grpc = self.grpc.then_some(MatchCondition::Grpc).into_iter();
        let unmodelled = self.unmodelled.as_deref();
        grpc.chain(self.headers.iter().map(MatchCondition::Header))
            .chain(self.query_parameters.iter().map(MatchCondition::Query))
            .chain(self.cookies.iter().map(MatchCondition::Cookie))
            .chain(self.tls_context.map(MatchCondition::Tls))
            .chain(self.dynamic_metadata.iter().map(MatchCondition::Metadata))
            .chain(unmodelled.map(MatchCondition::Unmodelled))
    }

    /// The match as a user would name it: `prefix /api`.
    pub fn describe(&self) -> String {
        match &self.path {
            Some(path) => path.describe(),
            None => "no path specifier".to_owned(),
        }
    }

    /// The one thing that decided.
    pub(super) fn why(&self, context: &MatchContext<'_>) -> String {
        let path = self.matches_path(context);
        if path == Tri::No {
            return self.why_path(context);
        }

        // The first condition that fails says why; without one, the first that is not known.
        let mut unknown = match path {
            Tri::Unknown(fact) => Some(fact),
            _ => None,
        };
        let mut last = None;
        for condition in self.conditions() {
            match condition.matches(context.state) {
                Tri::No => return condition.why(context.state),
                Tri::Unknown(fact) => unknown = unknown.or(Some(fact)),
                Tri::Yes => {}
            }
            last = Some(condition);
        }
        if let Some(fact) = unknown {
            return fact.into();
        }

        // A route with headers is chosen for them: they say more than `prefix /`.
        match last {
            Some(condition) => condition.why(context.state),
            None => self.why_path(context),
        }
    }

    fn why_path(&self, context: &MatchContext<'_>) -> String {
        match &self.path {
            Some(PathMatch::Connect) => format!("the method is {}", context.request().method),
            Some(template @ PathMatch::Template(_)) => template.why(context.whole_path),
            Some(_) if context.request().path.is_empty() => "the request has no path".to_owned(),
            Some(path) => path.why(&context.path),
            None => "the route has no path specifier".to_owned(),
        }
    }
}

/// One thing that a route asks of a request beside its path.
enum MatchCondition<'m> {
    Grpc,
    Header(&'m HeaderMatcher),
    Query(&'m QueryParameterMatcher),
    Cookie(&'m CookieMatcher),
    Tls(TlsContextMatch),
    Metadata(&'m MetadataMatcher),
    Unmodelled(&'m str),
}

impl MatchCondition<'_> {
    fn matches(&self, state: &RequestState<'_>) -> Tri {
        let request = &*state.request;
        match self {
            Self::Grpc => matches_grpc(request),
            Self::Header(header) => header.matches(request),
            Self::Query(query) => query.matches(&request.path),
            Self::Cookie(cookie) => cookie.matches(request),
            Self::Tls(tls) => tls.matches(state),
            Self::Metadata(metadata) => metadata.matches(state),
            Self::Unmodelled(fact) => Tri::unknown(*fact),
        }
    }

    fn why(&self, state: &RequestState<'_>) -> String {
        let request = &*state.request;
        match self {
            Self::Grpc if is_grpc(request) => "the request is gRPC".to_owned(),
            Self::Grpc => "the request is not gRPC".to_owned(),
            Self::Header(header) => header.why(request),
            Self::Query(query) => query.why(&request.path),
            Self::Cookie(cookie) => cookie.why(request),
            Self::Metadata(metadata) => metadata.why(state),
            Self::Tls(_) if presents_certificate(request) => {
                "the client presents a certificate".to_owned()
            }
            Self::Tls(_) => "the client presents no certificate".to_owned(),
            Self::Unmodelled(fact) => (*fact).to_owned(),
        }
    }
}

fn matches_grpc(request: &Request) -> Tri {
    match request.values("content-type").next() {
        // "The router will check that the content-type header has application/grpc or one of the
        // various application/grpc+ values."
        None => Tri::unknown("the header content-type"),
        Some(_) => is_grpc(request).into(),
    }
}

impl TlsContextMatch {
    fn compile(raw: Raw<'_>) -> Self {
        Self {
            presented: message::optional_flag(raw, "presented"),
            validated: message::optional_flag(raw, "validated"),
        }
    }

    fn matches(self, state: &RequestState<'_>) -> Tri {
        let is_presented = match state.caller {
            Peer::Unknown => return Tri::unknown("whether the client presents a certificate"),
            // Without TLS there is nothing to present.
            Peer::Plain => false,
            Peer::Tls(_) => presents_certificate(&state.request),
        };
        // "presented: If specified, the route will match against whether or not a certificate is
        // presented."
        if self.presented.is_some_and(|wanted| wanted != is_presented) {
            return Tri::No;
        }
        match self.validated {
            None => Tri::Yes,
            Some(_) if is_presented => {
                Tri::unknown("whether the client's certificate was validated")
            }
            // A certificate that was not presented was not validated either.
            Some(wanted) => (!wanted).into(),
        }
    }
}

fn presents_certificate(request: &Request) -> bool {
    let Some(tls) = &request.connection.tls else {
        return false;
    };
    tls.peer.is_some()
}

/// `ignore_path_parameters_in_path_matching`: `/a;x/b;y` is matched as `/a/b`, except by templates.
fn without_parameters(path: &str) -> Cow<'_, str> {
    if !path.contains(';') {
        return Cow::Borrowed(path);
    }
    let mut plain = String::with_capacity(path.len());
    for (number, segment) in path.split('/').enumerate() {
        if number > 0 {
            plain.push('/');
        }
        plain.push_str(segment.split(';').next().unwrap_or_default());
    }
    Cow::Owned(plain)
}
