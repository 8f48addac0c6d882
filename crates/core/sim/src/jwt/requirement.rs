//! `JwtRequirement`: which providers' tokens a request must carry.

use std::collections::BTreeMap;

use super::extract::TokenLocations;
use super::provider::Audiences;
use super::status::JwtStatus;
use super::verification::Verification;
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
        let group = || {
            value
                .list("requirements")
                .map(|child| Self::compile(child, providers))
                .collect()
        };
        match &*key {
            "provider_name" => Self::provider(&value.string().unwrap_or_default(), None, providers),
            "provider_and_audiences" => {
                let audiences =
                    Some(Audiences::compile(value)).filter(|audiences| !audiences.is_empty());
                Self::provider(
                    &value.string_at("provider_name").unwrap_or_default(),
                    audiences,
                    providers,
                )
            }
            "requires_any" => Self::Any(group()),
            "requires_all" => Self::All(group()),
            "allow_missing" => Self::AllowMissing(all_locations(providers)),
            "allow_missing_or_failed" => Self::AllowMissingOrFailed(all_locations(providers)),
            other => Self::Unmodelled(
                format!("what the JWT requirement {other} decides, which is not modelled").into(),
            ),
        }
    }

    fn provider(
        name: &str,
        audiences: Option<Audiences>,
        providers: &BTreeMap<Box<str>, Raw<'_>>,
    ) -> Self {
        let mut locations = TokenLocations::default();
        if let Some(raw) = providers.get(name) {
            locations.add(*raw, &raw.string_at("issuer").unwrap_or_default());
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
        locations.add(*raw, &raw.string_at("issuer").unwrap_or_default());
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
            RequirementOutcome::Failed(_) => break,
            RequirementOutcome::Unknown(fact) => unknown = unknown.or(Some(fact)),
        }
    }
    unknown.map_or(RequirementOutcome::Met, RequirementOutcome::Unknown)
}

/// Requires any: `allow_missing` and `allow_missing_or_failed` among others only change what a
/// failure means.
fn any(children: &[JwtRequirement], v: &mut Verification<'_, '_>) -> RequirementOutcome {
    let missing = children
        .iter()
        .any(|child| matches!(child, JwtRequirement::AllowMissing(_)));
    let failed = children
        .iter()
        .any(|child| matches!(child, JwtRequirement::AllowMissingOrFailed(_)));
    let is_regular = |child: &&JwtRequirement| {
        !matches!(
            child,
            JwtRequirement::AllowMissing(_) | JwtRequirement::AllowMissingOrFailed(_)
        )
    };
    let regular: Vec<_> = children.iter().filter(is_regular).collect();
    if regular.is_empty() {
        let strongest = children
            .iter()
            .find(|child| failed == matches!(child, JwtRequirement::AllowMissingOrFailed(_)));
        return strongest.map_or(RequirementOutcome::Met, |child| child.evaluate(v));
    }
    let (mut result, mut unknown) = (JwtStatus::Missing, None::<Box<str>>);
    for child in regular {
        match child.evaluate(v) {
            // One before it may have been met already, and then this one was not looked at.
            RequirementOutcome::Met => {
                return unknown.map_or(RequirementOutcome::Met, |fact| v.doubted(fact));
            }
            RequirementOutcome::Failed(status) => result = worse(result, status),
            RequirementOutcome::Unknown(fact) => unknown = unknown.or(Some(fact)),
        }
    }
    match unknown {
        // What is unknown may be a token that is good, bad or not there at all.
        Some(fact) => v.allowed(RequirementOutcome::Unknown(fact), missing, failed),
        None => v.allowed(RequirementOutcome::Failed(result), missing, failed),
    }
}

/// "Prefer errors which are not `JwtMissed` nor `JwtUnknownIssuer`. Prefer `JwtUnknownIssuer`
/// between `JwtMissed` and `JwtUnknownIssuer`."
fn worse(result: JwtStatus, status: JwtStatus) -> JwtStatus {
    let mild = matches!(status, JwtStatus::Missing | JwtStatus::UnknownIssuer);
    if !mild || result == JwtStatus::Missing {
        status
    } else {
        result
    }
}
