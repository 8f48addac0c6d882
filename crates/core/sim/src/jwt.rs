//! `envoy.filters.http.jwt_authn`: which tokens a request must carry, and whether those it carries
//! are good.

use std::collections::BTreeMap;

use super::answer::Answer;
use super::matcher::{HeaderMatcher, PathMatch, QueryParameterMatcher, without_query_and_fragment};
use super::state::{MetadataEntry, RequestState};
use super::{DecisionRecord, MatchCandidate, Request, Tri};
use meshladder_text::json::Raw;
use meshladder_text::time::Time;

mod extract;
mod keys;
mod provider;
mod requirement;
mod signature;
pub mod status;
mod token;
mod verification;

use provider::JwtProvider;
use requirement::{JwtRequirement, RequirementOutcome};
pub use status::JwtStatus;
pub use token::Jwt;
use verification::Verification;

/// The namespace of what the filter writes into the metadata.
pub const NAMESPACE: &str = "envoy.filters.http.jwt_authn";

/// A compiled `JwtAuthentication`.
#[derive(Debug)]
pub struct JwtAuthn {
    /// Where it stands in the dump.
    pub at: usize,
    providers: BTreeMap<Box<str>, JwtProvider>,
    rules: Vec<JwtRule>,
    requirement_map: BTreeMap<Box<str>, JwtRequirement>,
    filter_state_rules: Option<Box<str>>,
    bypass_cors_preflight: bool,
}

#[derive(Debug)]
struct JwtRule {
    at: usize,
    matches: RuleMatch,
    requirement: RuleRequirement,
}

#[derive(Debug)]
enum RuleRequirement {
    Own(JwtRequirement),
    Named(Box<str>),
}

/// The parts of a `RouteMatch` that this filter looks at.
#[derive(Debug)]
struct RuleMatch {
    path: Option<PathMatch>,
    headers: Vec<HeaderMatcher>,
    query: Vec<QueryParameterMatcher>,
}

/// A compiled `PerRouteConfig`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JwtPerRoute {
    /// No token is asked for.
    Disabled,
    /// The requirement of that name in `requirement_map` takes the place of the rules.
    Requirement(Box<str>),
}

/// What the filter does with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JwtVerdict {
    /// It goes on; why, as in `no rule matches`.
    Passed(&'static str),
    /// It is refused.
    Refused(Answer),
    /// It depends on this fact.
    Undecided(Box<str>),
}

impl JwtPerRoute {
    /// Compiles a `PerRouteConfig`.
    pub fn compile(raw: Raw<'_>) -> Self {
        match raw.get("disabled").and_then(Raw::bool) {
            Some(true) => Self::Disabled,
            _ => Self::Requirement(raw.string_at("requirement_name").unwrap_or_default().into()),
        }
    }
}

impl JwtAuthn {
    /// Compiles a `JwtAuthentication`.
    pub fn compile(raw: Raw<'_>) -> Self {
        let providers: BTreeMap<Box<str>, Raw<'_>> = raw
            .get("providers")
            .into_iter()
            .flat_map(Raw::members)
            .map(|(name, value)| (name.into(), value))
            .collect();
        let named = raw
            .get("requirement_map")
            .into_iter()
            .flat_map(Raw::members);
        Self {
            at: raw.offset(),
            rules: raw
                .list("rules")
                .map(|rule| JwtRule::compile(rule, &providers))
                .collect(),
            requirement_map: named
                .map(|(name, raw)| (name.into(), JwtRequirement::compile(raw, &providers)))
                .collect(),
            filter_state_rules: raw
                .get("filter_state_rules")
                .map(|rules| rules.string_at("name").unwrap_or_default().into()),
            bypass_cors_preflight: raw
                .get("bypass_cors_preflight")
                .and_then(Raw::bool)
                .unwrap_or_default(),
            providers: providers
                .iter()
                .map(|(name, raw)| (name.clone(), JwtProvider::compile(*raw)))
                .collect(),
        }
    }

    /// What the filter does with a request at a point in time. What good tokens say goes into the
    /// state's metadata.
    pub fn evaluate(
        &self,
        per_route: Option<&JwtPerRoute>,
        state: &mut RequestState<'_>,
        now: Time,
        record: &mut DecisionRecord,
    ) -> JwtVerdict {
        // "The CORS preflight doesn't include user credentials, bypass regardless of JWT
        // requirements."
        if self.bypass_cors_preflight && is_cors_preflight(&state.request) {
            return JwtVerdict::Passed("a CORS preflight needs no token");
        }
        let requirement = match per_route {
            Some(JwtPerRoute::Disabled) => {
                return JwtVerdict::Passed("the route asks for no token");
            }
            Some(JwtPerRoute::Requirement(name)) => match self.requirement_map.get(name) {
                Some(requirement) => requirement,
                None => return JwtVerdict::Refused(self.wrong_requirement(name, &state.request)),
            },
            None => match self.requirement(&state.request, record) {
                Ok(Some(requirement)) => requirement,
                Ok(None) => return JwtVerdict::Passed("no rule asks for a token"),
                Err(fact) => return JwtVerdict::Undecided(fact),
            },
        };
        self.verify(requirement, state, now)
    }

    /// The requirement of the first rule that matches.
    fn requirement(
        &self,
        request: &Request,
        record: &mut DecisionRecord,
    ) -> Result<Option<&JwtRequirement>, Box<str>> {
        for rule in &self.rules {
            let (matched, why) = rule.matches.matches(request);
            record.add(|| MatchCandidate {
                what: format!("JWT rule {}", rule.matches.describe()).into(),
                matched: matched.clone(),
                why: why(),
                at: rule.at,
            });
            match matched {
                Tri::No => {}
                Tri::Unknown(fact) => return Err(fact),
                Tri::Yes => {
                    return match &rule.requirement {
                        RuleRequirement::Own(requirement) => Ok(Some(requirement)),
                        RuleRequirement::Named(name) => Ok(self.requirement_map.get(name)),
                    };
                }
            }
        }
        match &self.filter_state_rules {
            Some(name) => {
                Err(format!("the filter state {name}, which picks the JWT requirement").into())
            }
            None => Ok(None),
        }
    }

    fn verify(
        &self,
        requirement: &JwtRequirement,
        state: &mut RequestState<'_>,
        now: Time,
    ) -> JwtVerdict {
        let mut verification = Verification {
            providers: &self.providers,
            now,
            state,
            extracted: Vec::new(),
        };
        let outcome = requirement.evaluate(&mut verification);
        let extracted = verification.extracted;
        let has_token = extracted
            .iter()
            .any(|(_, known)| !matches!(known, MetadataEntry::Unknown(_)));
        write_metadata(extracted, state);
        match outcome {
            RequirementOutcome::Met if has_token => JwtVerdict::Passed("the token is good"),
            RequirementOutcome::Met => JwtVerdict::Passed("no token is needed"),
            RequirementOutcome::Unknown(fact) => JwtVerdict::Undecided(fact),
            RequirementOutcome::Failed(status) => JwtVerdict::Refused(
                Answer::new(&state.request, status.code(), &[], status.details())
                    .with_body(status.text()),
            ),
        }
    }

    fn wrong_requirement(&self, name: &str, request: &Request) -> Answer {
        let names: Vec<_> = self.requirement_map.keys().map(|name| &**name).collect();
        let problem = format!(
            "Wrong requirement_name: {name}. It should be one of [{}]",
            names.join(",")
        );
        let details = format!("jwt_authn_access_denied{{{}}}", problem.replace(' ', "_"));
        Answer::new(request, 403, &[], details)
            .with_body(format!("Failed JWT authentication: {problem}"))
    }
}

/// What is unknown stays so: another token may have been the good one.
fn write_metadata(extracted: Vec<(Box<str>, MetadataEntry)>, state: &mut RequestState<'_>) {
    let (unknown, known): (Vec<_>, Vec<_>) = extracted
        .into_iter()
        .partition(|(_, known)| matches!(known, MetadataEntry::Unknown(_)));
    for (key, value) in known
        .into_iter()
        .chain(unknown)
        .filter(|(key, _)| !key.is_empty())
    {
        state.metadata.set(NAMESPACE, &key, value);
    }
}

/// OPTIONS with `origin` and `access-control-request-method`, neither of them empty.
pub(super) fn is_cors_preflight(request: &Request) -> bool {
    let filled = |name: &str| {
        request
            .values(name)
            .next()
            .is_some_and(|value| !value.is_empty())
    };
    request.method == "OPTIONS" && filled("origin") && filled("access-control-request-method")
}

impl JwtRule {
    fn compile(raw: Raw<'_>, providers: &BTreeMap<Box<str>, Raw<'_>>) -> Self {
        let own = || {
            raw.get("requires").map_or(JwtRequirement::None, |raw| {
                JwtRequirement::compile(raw, providers)
            })
        };
        let named = raw
            .string_at("requirement_name")
            .map(|name| RuleRequirement::Named(name.into()));
        let requirement = named.unwrap_or_else(|| RuleRequirement::Own(own()));
        let matches = raw
            .get("match")
            .map_or_else(RuleMatch::everything, RuleMatch::compile);
        Self {
            at: raw.offset(),
            matches,
            requirement,
        }
    }
}

impl RuleMatch {
    fn everything() -> Self {
        Self {
            path: None,
            headers: Vec::new(),
            query: Vec::new(),
        }
    }

    fn compile(raw: Raw<'_>) -> Self {
        let path = raw
            .members()
            .find_map(|(key, value)| PathMatch::compile(&key, value));
        let ignores_case = raw.get("case_sensitive").and_then(Raw::bool) == Some(false);
        Self {
            path: if ignores_case {
                path.map(PathMatch::ignoring_case)
            } else {
                path
            },
            headers: raw.list("headers").map(HeaderMatcher::compile).collect(),
            query: raw
                .list("query_parameters")
                .map(QueryParameterMatcher::compile)
                .collect(),
        }
    }

    fn describe(&self) -> String {
        self.path
            .as_ref()
            .map_or_else(|| "for every path".to_owned(), PathMatch::describe)
    }

    fn matches<'m>(&'m self, request: &'m Request) -> (Tri, impl FnOnce() -> String + use<'m>) {
        let path = without_query_and_fragment(&request.path);
        let on_path = match &self.path {
            Some(PathMatch::Connect) => (request.method == "CONNECT").into(),
            Some(matcher) => matcher.matches(path),
            None => Tri::Yes,
        };
        let header = self
            .headers
            .iter()
            .find(|matcher| matcher.matches(request) != Tri::Yes);
        let query = self
            .query
            .iter()
            .find(|matcher| matcher.matches(&request.path) != Tri::Yes);
        let headers = self.headers.iter().map(|matcher| matcher.matches(request));
        let queries = self
            .query
            .iter()
            .map(|matcher| matcher.matches(&request.path));
        let result = Tri::all(std::iter::once(on_path).chain(headers).chain(queries));
        let why = move || match (header, query, &self.path) {
            (Some(header), _, _) => header.why(request),
            (None, Some(query), _) => query.why(&request.path),
            (None, None, Some(matcher)) => matcher.why(path),
            (None, None, None) => "it has no condition".to_owned(),
        };
        (result, why)
    }
}

#[cfg(test)]
mod tests;
