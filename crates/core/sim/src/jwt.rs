//! `envoy.filters.http.jwt_authn`: which tokens a request must carry, and whether those it carries
//! are good.

use std::collections::BTreeMap;

use super::answer::Answer;
use super::matcher::{HeaderMatcher, PathMatch, QueryParameterMatcher, without_query_and_fragment};
use super::message;
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
#[derive(Debug, Default)]
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
        if message::flag(raw, "disabled") {
            return Self::Disabled;
        }
        Self::Requirement(message::text(raw, "requirement_name").into())
    }
}

impl JwtAuthn {
    /// Compiles a `JwtAuthentication`.
    pub fn compile(raw: Raw<'_>) -> Self {
        // Requirements look for tokens where their providers have them, so those are read first.
        let mut configs: BTreeMap<Box<str>, Raw<'_>> = BTreeMap::new();
        if let Some(map) = raw.get("providers") {
            for (name, config) in map.members() {
                configs.insert(name.into(), config);
            }
        }

        let mut providers = BTreeMap::new();
        for (name, config) in &configs {
            providers.insert(name.clone(), JwtProvider::compile(*config));
        }
        let mut rules = Vec::new();
        for rule in raw.list("rules") {
            rules.push(JwtRule::compile(rule, &configs));
        }
        let mut requirement_map = BTreeMap::new();
        if let Some(map) = raw.get("requirement_map") {
            for (name, requirement) in map.members() {
                let requirement = JwtRequirement::compile(requirement, &configs);
                requirement_map.insert(name.into(), requirement);
            }
        }

        let filter_state_rules = raw.get("filter_state_rules");
        Self {
            at: raw.offset(),
            providers,
            rules,
            requirement_map,
            filter_state_rules: filter_state_rules.map(|rules| message::text(rules, "name").into()),
            bypass_cors_preflight: message::flag(raw, "bypass_cors_preflight"),
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
            // Envoy answers a name that is not in the map, instead of refusing the configuration.
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
        // "The first matched requirement will be applied."
        for rule in &self.rules {
            let matched = rule.matches.matches(request);
            if record.is_kept() {
                record.push(rule.candidate(&matched, request));
            }
            match matched {
                Tri::No => {}
                Tri::Unknown(fact) => return Err(fact),
                Tri::Yes => return Ok(self.requirement_of(rule)),
            }
        }
        match &self.filter_state_rules {
            Some(name) => {
                Err(format!("the filter state {name}, which picks the JWT requirement").into())
            }
            None => Ok(None),
        }
    }

    fn requirement_of<'j>(&'j self, rule: &'j JwtRule) -> Option<&'j JwtRequirement> {
        match &rule.requirement {
            RuleRequirement::Own(requirement) => Some(requirement),
            RuleRequirement::Named(name) => self.requirement_map.get(name),
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
        let has_token = extracted.iter().any(|(_, entry)| !is_unknown(entry));
        write_metadata(extracted, state);
        match outcome {
            RequirementOutcome::Met if has_token => JwtVerdict::Passed("the token is good"),
            RequirementOutcome::Met => JwtVerdict::Passed("no token is needed"),
            RequirementOutcome::Unknown(fact) => JwtVerdict::Undecided(fact),
            RequirementOutcome::Failed(status) => {
                let answer = Answer::new(&state.request, status.code(), &[], status.details());
                JwtVerdict::Refused(answer.with_body(status.text()))
            }
        }
    }

    fn wrong_requirement(&self, name: &str, request: &Request) -> Answer {
        let names: Vec<_> = self.requirement_map.keys().map(|name| &**name).collect();
        let names = names.join(",");
        let problem = format!("Wrong requirement_name: {name}. It should be one of [{names}]");
        let details = format!("jwt_authn_access_denied{{{}}}", problem.replace(' ', "_"));
        let answer = Answer::new(request, 403, &[], details);
        answer.with_body(format!("Failed JWT authentication: {problem}"))
    }
}

fn write_metadata(extracted: Vec<(Box<str>, MetadataEntry)>, state: &mut RequestState<'_>) {
    let (unknown, known): (Vec<_>, Vec<_>) = extracted
        .into_iter()
        .partition(|(_, entry)| is_unknown(entry));
    // What is unknown stays so: another token may have been the good one.
    for (key, entry) in known.into_iter().chain(unknown) {
        if !key.is_empty() {
            state.metadata.set(NAMESPACE, &key, entry);
        }
    }
}

fn is_unknown(entry: &MetadataEntry) -> bool {
    matches!(entry, MetadataEntry::Unknown(_))
}

/// OPTIONS with `origin` and `access-control-request-method`, neither of them empty.
pub(super) fn is_cors_preflight(request: &Request) -> bool {
    request.method == "OPTIONS"
        && has_value(request, "origin")
        && has_value(request, "access-control-request-method")
}

fn has_value(request: &Request, header: &str) -> bool {
    match request.values(header).next() {
        Some(value) => !value.is_empty(),
        None => false,
    }
}

impl JwtRule {
    fn compile(raw: Raw<'_>, providers: &BTreeMap<Box<str>, Raw<'_>>) -> Self {
        let requirement = match (raw.string_at("requirement_name"), raw.get("requires")) {
            (Some(name), _) => RuleRequirement::Named(name.into()),
            (None, Some(requires)) => {
                RuleRequirement::Own(JwtRequirement::compile(requires, providers))
            }
            (None, None) => RuleRequirement::Own(JwtRequirement::None),
        };
        Self {
            at: raw.offset(),
            matches: match raw.get("match") {
                Some(matches) => RuleMatch::compile(matches),
                None => RuleMatch::default(),
            },
            requirement,
        }
    }

    fn candidate(&self, matched: &Tri, request: &Request) -> MatchCandidate {
        MatchCandidate {
            what: format!("JWT rule {}", self.matches.describe()).into(),
            matched: matched.clone(),
            why: self.matches.why(request),
            at: self.at,
        }
    }
}

impl RuleMatch {
    fn compile(raw: Raw<'_>) -> Self {
        let mut path = None;
        for (key, value) in raw.members() {
            path = path.or_else(|| PathMatch::compile(&key, value));
        }
        if message::optional_flag(raw, "case_sensitive") == Some(false) {
            path = path.map(PathMatch::ignoring_case);
        }
        let query = raw.list("query_parameters");
        Self {
            path,
            headers: raw.list("headers").map(HeaderMatcher::compile).collect(),
            query: query.map(QueryParameterMatcher::compile).collect(),
        }
    }

    fn describe(&self) -> String {
        match &self.path {
            Some(path) => path.describe(),
            None => "for every path".to_owned(),
        }
    }

    fn matches(&self, request: &Request) -> Tri {
        let path = match &self.path {
            Some(PathMatch::Connect) => (request.method == "CONNECT").into(),
            Some(matcher) => matcher.matches(without_query_and_fragment(&request.path)),
            None => Tri::Yes,
        };
        let headers = self.headers.iter().map(|matcher| matcher.matches(request));
        let query = self.query.iter();
        let query = query.map(|matcher| matcher.matches(&request.path));
        Tri::all(std::iter::once(path).chain(headers).chain(query))
    }

    /// What decided, in words: the first header or parameter that does not match, else the path.
    fn why(&self, request: &Request) -> String {
        for header in &self.headers {
            if header.matches(request) != Tri::Yes {
                return header.why(request);
            }
        }
        for query in &self.query {
            if query.matches(&request.path) != Tri::Yes {
                return query.why(&request.path);
            }
        }
        match &self.path {
            Some(path) => path.why(without_query_and_fragment(&request.path)),
            None => "it has no condition".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
