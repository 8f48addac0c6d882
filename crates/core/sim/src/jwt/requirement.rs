//! `JwtRequirement`: which providers' tokens a request must carry.

use std::collections::BTreeMap;

use super::extract::Locations;
use super::provider::Audiences;
use super::status::Status;
use super::verification::Verification;
use meshladder_text::json::Raw;

/// A compiled requirement.
#[derive(Debug)]
pub(super) enum Requirement {
    Provider {
        name: Box<str>,
        audiences: Option<Audiences>,
        locations: Locations,
    },
    Any(Vec<Requirement>),
    All(Vec<Requirement>),
    /// A request without token passes; one with a bad token does not.
    AllowMissing(Locations),
    AllowMissingOrFailed(Locations),
    /// No requirement at all.
    None,
    Unmodelled(Box<str>),
}

/// How a requirement is met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Met,
    Failed(Status),
    Unknown(Box<str>),
}

impl Requirement {
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
        let mut locations = Locations::default();
        if let Some(raw) = providers.get(name) {
            locations.add(*raw, &raw.string_at("issuer").unwrap_or_default());
        }
        Self::Provider {
            name: name.into(),
            audiences,
            locations,
        }
    }

    pub(super) fn evaluate(&self, v: &mut Verification<'_, '_>) -> Outcome {
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
            Self::None => Outcome::Met,
            Self::Unmodelled(fact) => Outcome::Unknown(fact.clone()),
        }
    }
}

fn all_locations(providers: &BTreeMap<Box<str>, Raw<'_>>) -> Locations {
    let mut locations = Locations::default();
    for raw in providers.values() {
        locations.add(*raw, &raw.string_at("issuer").unwrap_or_default());
    }
    locations
}

/// Requires all: the first that fails decides.
fn all(children: &[Requirement], v: &mut Verification<'_, '_>) -> Outcome {
    let mut unknown = None;
    for child in children {
        match child.evaluate(v) {
            Outcome::Met => {}
            Outcome::Failed(status) if unknown.is_none() => return Outcome::Failed(status),
            Outcome::Failed(_) => break,
            Outcome::Unknown(fact) => unknown = unknown.or(Some(fact)),
        }
    }
    unknown.map_or(Outcome::Met, Outcome::Unknown)
}

/// Requires any: `allow_missing` and `allow_missing_or_failed` among others only change what a
/// failure means.
fn any(children: &[Requirement], v: &mut Verification<'_, '_>) -> Outcome {
    let missing = children
        .iter()
        .any(|child| matches!(child, Requirement::AllowMissing(_)));
    let failed = children
        .iter()
        .any(|child| matches!(child, Requirement::AllowMissingOrFailed(_)));
    let is_regular = |child: &&Requirement| {
        !matches!(
            child,
            Requirement::AllowMissing(_) | Requirement::AllowMissingOrFailed(_)
        )
    };
    let regular: Vec<_> = children.iter().filter(is_regular).collect();
    if regular.is_empty() {
        let strongest = children
            .iter()
            .find(|child| failed == matches!(child, Requirement::AllowMissingOrFailed(_)));
        return strongest.map_or(Outcome::Met, |child| child.evaluate(v));
    }
    let (mut result, mut unknown) = (Status::Missing, None::<Box<str>>);
    for child in regular {
        match child.evaluate(v) {
            // One before it may have been met already, and then this one was not looked at.
            Outcome::Met => return unknown.map_or(Outcome::Met, |fact| v.doubted(fact)),
            Outcome::Failed(status) => result = worse(result, status),
            Outcome::Unknown(fact) => unknown = unknown.or(Some(fact)),
        }
    }
    match unknown {
        // What is unknown may be a token that is good, bad or not there at all.
        Some(fact) => v.allowed(Outcome::Unknown(fact), missing, failed),
        None => v.allowed(Outcome::Failed(result), missing, failed),
    }
}

/// "Prefer errors which are not `JwtMissed` nor `JwtUnknownIssuer`. Prefer `JwtUnknownIssuer`
/// between `JwtMissed` and `JwtUnknownIssuer`."
fn worse(result: Status, status: Status) -> Status {
    let mild = matches!(status, Status::Missing | Status::UnknownIssuer);
    if !mild || result == Status::Missing {
        status
    } else {
        result
    }
}
