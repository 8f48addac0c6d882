//! `config.route.v3.RouteMatch`: a route matches when everything in it does.

use std::borrow::Cow;

use crate::answer::is_grpc;
use crate::matcher::{
    CookieMatcher, HeaderMatcher, PathMatch, QueryParameterMatcher, unmodelled,
    without_query_and_fragment,
};
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
    /// The same as most specifiers see it.
    path: Cow<'r, str>,
}

impl<'r> MatchContext<'r> {
    pub(super) fn new(state: &'r RequestState<'r>, ignore_path_parameters: bool) -> Self {
        let whole_path = without_query_and_fragment(&state.request.path);
        // `ignore_path_parameters_in_path_matching`: `/a;x/b;y` is matched as `/a/b`, except by
        // templates.
        let path = if ignore_path_parameters && whole_path.contains(';') {
            let names = whole_path
                .split('/')
                .map(|segment| segment.split(';').next().unwrap_or_default());
            Cow::Owned(names.collect::<Vec<_>>().join("/"))
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
            match &*key {
                "headers" => this.headers = value.elements().map(HeaderMatcher::compile).collect(),
                "query_parameters" => {
                    this.query_parameters = value
                        .elements()
                        .map(QueryParameterMatcher::compile)
                        .collect();
                }
                "cookies" => this.cookies = value.elements().map(CookieMatcher::compile).collect(),
                "case_sensitive" => is_case_sensitive = value.bool().unwrap_or(true),
                "grpc" => this.grpc = true,
                "runtime_fraction" => this.fraction = Some(fraction(value, runtime)),
                "dynamic_metadata" => {
                    this.dynamic_metadata = value.elements().map(MetadataMatcher::compile).collect()
                }
                "tls_context" => this.tls_context = Some(TlsContextMatch::compile(value)),
                other => this.other(other, value),
            }
        }
        if !is_case_sensitive {
            this.path = this.path.map(PathMatch::ignoring_case);
        }
        this
    }

    fn other(&mut self, key: &str, value: Raw<'_>) {
        match PathMatch::compile(key, value) {
            Some(path) => self.path = Some(path),
            None => self.unmodelled = Some(unmodelled(&format!("a route's `{key}`"))),
        }
    }

    /// Whether all of it matches; the fraction aside.
    pub(super) fn matches(&self, context: &MatchContext<'_>) -> Tri {
        // Most routes are told apart by their path, so it comes first: the result is the same in
        // any order.
        match self.matches_path(context) {
            Tri::Yes if self.is_path_only() => Tri::Yes,
            Tri::No => Tri::No,
            path => Tri::all(
                [path]
                    .into_iter()
                    .chain(self.conditions(context).map(|(matched, _)| matched)),
            ),
        }
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
            Some(PathMatch::Connect) => (context.request().method == "CONNECT").into(),
            // Only `connect_matcher` takes requests without a path.
            _ if context.request().path.is_empty() => Tri::No,
            Some(template @ PathMatch::Template(_)) => template.matches(context.whole_path),
            Some(path) => path.matches(&context.path),
            None => Tri::unknown("which paths a route without a path specifier takes"),
        }
    }

    /// Everything but the path, each with what it is.
    fn conditions(
        &self,
        context: &MatchContext<'_>,
    ) -> impl Iterator<Item = (Tri, MatchCondition<'_>)> {
        let request = context.request();
        let grpc = self
            .grpc
            .then(|| (matches_grpc(request), MatchCondition::Grpc));
        let headers = self
            .headers
            .iter()
            .map(|header| (header.matches(request), MatchCondition::Header(header)));
        let query = self.query_parameters.iter();
        let query = query.map(|query| (query.matches(&request.path), MatchCondition::Query(query)));
        let cookies = self
            .cookies
            .iter()
            .map(|cookie| (cookie.matches(request), MatchCondition::Cookie(cookie)));
        let tls = self
            .tls_context
            .map(|tls| (tls.matches(context.state), MatchCondition::Tls));
        let metadata = self.dynamic_metadata.iter();
        let metadata = metadata.map(|metadata| {
            (
                metadata.matches(context.state),
                MatchCondition::Metadata(metadata),
            )
        });
        let unmodelled = self
            .unmodelled
            .iter()
            .map(|fact| (Tri::Unknown(fact.clone()), MatchCondition::Unmodelled(fact)));
        grpc.into_iter()
            .chain(headers)
            .chain(query)
            .chain(cookies)
            .chain(tls)
            .chain(metadata)
            .chain(unmodelled)
    }

    /// The match as a user would name it: `prefix /api`.
    pub fn describe(&self) -> String {
        self.path
            .as_ref()
            .map_or_else(|| "no path specifier".to_owned(), PathMatch::describe)
    }

    /// The one thing that decided.
    pub(super) fn why(&self, context: &MatchContext<'_>) -> String {
        let path = self.matches_path(context);
        let conditions: Vec<_> = self.conditions(context).collect();
        let of = |wanted: &Tri| conditions.iter().find(|(matched, _)| matched == wanted);
        let unknown = Tri::unknown("");
        match (&path, of(&Tri::No), of(&unknown)) {
            (Tri::No, _, _) => self.why_path(context),
            (_, Some((_, condition)), _) => condition.why(context.state),
            (Tri::Unknown(fact), ..) | (_, _, Some((Tri::Unknown(fact), _))) => fact.to_string(),
            // A route with headers is chosen for them: they say more than `prefix /`.
            _ => conditions
                .last()
                .map_or_else(|| self.why_path(context), |(_, c)| c.why(context.state)),
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

enum MatchCondition<'m> {
    Grpc,
    Header(&'m HeaderMatcher),
    Query(&'m QueryParameterMatcher),
    Cookie(&'m CookieMatcher),
    Tls,
    Metadata(&'m MetadataMatcher),
    Unmodelled(&'m str),
}

impl MatchCondition<'_> {
    fn why(&self, state: &RequestState<'_>) -> String {
        let request = &*state.request;
        match self {
            Self::Grpc => format!(
                "the request is {}gRPC",
                if is_grpc(request) { "" } else { "not " }
            ),
            Self::Header(header) => header.why(request),
            Self::Query(query) => query.why(&request.path),
            Self::Cookie(cookie) => cookie.why(request),
            Self::Metadata(metadata) => metadata.why(state),
            Self::Tls if peer(request) => "the client presents a certificate".to_owned(),
            Self::Tls => "the client presents no certificate".to_owned(),
            Self::Unmodelled(fact) => (*fact).to_owned(),
        }
    }
}

fn matches_grpc(request: &Request) -> Tri {
    match request.values("content-type").next() {
        None => Tri::unknown("the header content-type"),
        Some(_) => is_grpc(request).into(),
    }
}

impl TlsContextMatch {
    fn compile(raw: Raw<'_>) -> Self {
        let flag = |key: &str| raw.get(key).and_then(Raw::bool);
        Self {
            presented: flag("presented"),
            validated: flag("validated"),
        }
    }

    fn matches(self, state: &RequestState<'_>) -> Tri {
        let is_presented = match state.caller {
            Peer::Unknown => return Tri::unknown("whether the client presents a certificate"),
            Peer::Plain => false,
            Peer::Tls(_) => peer(&state.request),
        };
        let presented = self.presented.map(|wanted| (wanted == is_presented).into());
        // A certificate that was not presented was not validated either.
        let unknown = || Tri::unknown("whether the client's certificate was validated");
        let validated = self.validated.map(|wanted| {
            if is_presented {
                unknown()
            } else {
                (!wanted).into()
            }
        });
        Tri::all(presented.into_iter().chain(validated))
    }
}

fn peer(request: &Request) -> bool {
    request
        .connection
        .tls
        .as_ref()
        .is_some_and(|tls| tls.peer.is_some())
}

/// `RuntimeFractionalPercent`
fn fraction(raw: Raw<'_>, runtime: &Runtime<'_>) -> Fraction {
    let default = raw.get("default_value").map_or(
        Fraction {
            numerator: 0,
            denominator: 100,
        },
        Fraction::compile,
    );
    runtime.fraction(&raw.string_at("runtime_key").unwrap_or_default(), default)
}
