//! `JwtRequirement`: which providers' tokens a request must carry.

use std::collections::BTreeMap;

use super::extract::TokenLocations;
use super::provider::Audiences;
use super::status::JwtStatus;
use super::verification::Verification;
use crate::message;
use meshladder_text::json::Raw;

/// A compiled requirement.
#[derive(Debug)]
pub(super) enum JwtRequirement {
    Provider {
        name: Box<str>,
        audiences: Option<Audiences>,
        locations: TokenLocations,
    },
    Any(Vec<JwtRequirement>),
    All(Vec<JwtRequirement>),
    /// A request without token passes; one with a bad token does not.
    AllowMissing(TokenLocations),
    AllowMissingOrFailed(TokenLocations),
    /// No requirement at all.
    None,
    Unmodelled(Box<str>),
}

/// How a requirement is met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RequirementOutcome {
    Met,
    Failed(JwtStatus),
    Unknown(Box<str>),
}

impl JwtRequirement {
    pub(super) fn compile(raw: Raw<'_>, providers: &BTreeMap<Box<str>, Raw<'_>>) -> Self {
        let Some((key, value)) = raw.members().next() else {
            return Self::None;
        };
        match &*key {
            "provider_name" => Self::provider(&value.string().unwrap_or_default(), None, providers),
            "provider_and_audiences" => {
                let audiences = Audiences::compile(value);
                let audiences = if audiences.is_empty() {
                    None
                } else {
                    Some(audiences)
                };
                Self::provider(&message::text(value, "provider_name"), audiences, providers)
            }
            // "Their results are OR-ed. If any one of them passes, the result is passed."
            "requires_any" => Self::Any(Self::compile_list(value, providers)),
            // "All of them must pass, if one of them fails or missing, it fails."
            "requires_all" => Self::All(Self::compile_list(value, providers)),
            // "The requirement is satisfied if JWT is missing, but failed if JWT is presented but
            // invalid."
            "allow_missing" => Self::AllowMissing(all_locations(providers)),
            // "The requirement is always satisfied even if JWT is missing or the JWT verification
            // fails."
            "allow_missing_or_failed" => Self::AllowMissingOrFailed(all_locations(providers)),
            other => Self::Unmodelled(
                format!("what the JWT requirement {other} decides, which is not modelled").into(),
            ),
        }
    }

    fn compile_list(list: Raw<'_>, providers: &BTreeMap<Box<str>, Raw<'_>>) -> Vec<Self> {
        let mut requirements = Vec::new();
        for raw in list.list("requirements") {
            requirements.push(Self::compile(raw, providers));
        }
        requirements
    }

    fn provider(
        name: &str,
        audiences: Option<Audiences>,
        providers: &BTreeMap<Box<str>, Raw<'_>>,
    ) -> Self {
        let mut locations = TokenLocations::default();
        if let Some(raw) = providers.get(name) {
            locations.add(*raw, &message::text(*raw, "issuer"));
        }
        Self::Provider {
            name: name.into(),
            audiences,
            locations,
        }
    }

    pub(super) fn evaluate(&self, v: &mut Verification<'_, '_>) -> RequirementOutcome {
        match self {
            Self::Provider {
                name,
                audiences,
                locations,
            } => v.of_provider(name, audiences.as_ref(), locations),
            Self::Any(children) => any(children, v),
            Self::All(children) => all(children, v),
            Self::AllowMissing(locations) => v.of_all(locations, false),
            Self::AllowMissingOrFailed(locations) => v.of_all(locations, true),
            Self::None => RequirementOutcome::Met,
            Self::Unmodelled(fact) => RequirementOutcome::Unknown(fact.clone()),
        }
    }
}

fn all_locations(providers: &BTreeMap<Box<str>, Raw<'_>>) -> TokenLocations {
    let mut locations = TokenLocations::default();
    for raw in providers.values() {
        locations.add(*raw, &message::text(*raw, "issuer"));
    }
    locations
}

/// Requires all: the first that fails decides.
fn all(children: &[JwtRequirement], v: &mut Verification<'_, '_>) -> RequirementOutcome {
    let mut unknown = None;
    for child in children {
        match child.evaluate(v) {
            RequirementOutcome::Met => {}
            RequirementOutcome::Failed(status) if unknown.is_none() => {
                return RequirementOutcome::Failed(status);
            }
            // One before it may have failed, and with another status.
            RequirementOutcome::Failed(_) => break,
            RequirementOutcome::Unknown(fact) => unknown = unknown.or(Some(fact)),
        }
    }
    match unknown {
        Some(fact) => RequirementOutcome::Unknown(fact),
        None => RequirementOutcome::Met,
    }
}

/// Requires any: the first that is met decides.
fn any(children: &[JwtRequirement], v: &mut Verification<'_, '_>) -> RequirementOutcome {
    // `allow_missing` and `allow_missing_or_failed` among others only change what a failure means.
    let mut allow_missing = None;
    let mut allow_failed = None;
    let mut regular = Vec::new();
    for child in children {
        match child {
            JwtRequirement::AllowMissing(_) => allow_missing = allow_missing.or(Some(child)),
            JwtRequirement::AllowMissingOrFailed(_) => allow_failed = allow_failed.or(Some(child)),
            _ => regular.push(child),
        }
    }
    if regular.is_empty() {
        return match allow_failed.or(allow_missing) {
            Some(strongest) => strongest.evaluate(v),
            None => RequirementOutcome::Met,
        };
    }

    let (mut result, mut unknown) = (JwtStatus::Missing, None);
    for child in regular {
        match child.evaluate(v) {
            RequirementOutcome::Met => {
                return match unknown {
                    // One before it may have been met already, and then this one was not looked at.
                    Some(fact) => v.doubted(fact),
                    None => RequirementOutcome::Met,
                };
            }
            RequirementOutcome::Failed(status) => result = worse(result, status),
            RequirementOutcome::Unknown(fact) => unknown = unknown.or(Some(fact)),
        }
    }
    let outcome = match unknown {
        // What is unknown may be a token that is good, bad or not there at all.
        Some(fact) => RequirementOutcome::Unknown(fact),
        None => RequirementOutcome::Failed(result),
    };
    v.allowed(outcome, allow_missing.is_some(), allow_failed.is_some())
}

/// "Prefer errors which are not `JwtMissed` nor `JwtUnknownIssuer`. Prefer `JwtUnknownIssuer`
/// between `JwtMissed` and `JwtUnknownIssuer`."
fn worse(result: JwtStatus, status: JwtStatus) -> JwtStatus {
    let is_mild = matches!(status, JwtStatus::Missing | JwtStatus::UnknownIssuer);
    if is_mild && result != JwtStatus::Missing {
        return result;
    }
    status
}
