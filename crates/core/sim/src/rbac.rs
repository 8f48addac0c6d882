//! `envoy.config.rbac.v3.RBAC`: which requests a list of policies lets through.

use super::{CandidateName, DecisionRecord, MatchCandidate, RequestState, Tri};
use meshladder_text::json::Raw;

pub mod condition;
mod explain;
pub mod filter;
pub mod metadata;
pub mod name;
mod rule;

pub use condition::RbacCondition;
pub use filter::{RbacFilter, RbacPerRoute};
pub use metadata::{MetadataMatcher, ValueMatcher};
pub use name::PolicyName;
pub use rule::RbacRule;

/// Compiled policies with their action.
#[derive(Debug)]
pub struct Rbac {
    /// What a match means.
    pub action: RbacAction,
    /// In the order of their names, which is the order they are tried in.
    pub policies: Vec<RbacPolicy>,
    /// Where they stand in the dump.
    pub at: usize,
    /// Something that is not modelled takes the policies' place: the missing fact.
    unmodelled: Option<Box<str>>,
}

/// `RBAC.Action`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RbacAction {
    /// "The policies grant access to principals. The rest are denied."
    Allow,
    /// "The policies deny access to principals. The rest are allowed."
    Deny,
    /// "The policies set the `access_log_hint` dynamic metadata key based on if requests match. All
    /// requests are allowed."
    Log,
}

/// One policy: "A policy matches if and only if at least one of its permissions match the action
/// taking place AND at least one of its principals match the downstream AND the condition is true
/// if specified."
#[derive(Debug)]
pub struct RbacPolicy {
    /// Its key in the map.
    pub name: Box<str>,
    /// Where it stands in the dump.
    pub at: usize,
    /// What may be done; one of them must hold.
    pub permissions: Vec<RbacRule>,
    /// Who may do it; one of them must hold.
    pub principals: Vec<RbacRule>,
    /// A CEL condition: the missing fact.
    condition: Option<Box<str>>,
}

/// What the policies decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RbacDecision {
    /// Let through; by the policy that matched, if it took one.
    Allowed {
        /// The policy's name.
        policy: Option<Box<str>>,
    },
    /// Not let through.
    Denied {
        /// The policy that denies; none when no policy allows.
        policy: Option<Box<str>>,
        /// A policy before it that denies instead, depending on a fact.
        unless: Option<(Box<str>, Box<str>)>,
    },
    /// It depends on this fact.
    Undecided {
        /// The missing fact.
        fact: Box<str>,
    },
}

impl Rbac {
    /// Compiles an `RBAC`.
    pub fn compile(raw: Raw<'_>) -> Self {
        let action = match raw.string_at("action").as_deref() {
            Some("DENY") => RbacAction::Deny,
            Some("LOG") => RbacAction::Log,
            _ => RbacAction::Allow,
        };
        let policies = raw.get("policies").into_iter().flat_map(Raw::members);
        Self::new(
            action,
            policies
                .map(|(name, raw)| RbacPolicy::compile(&name, raw))
                .collect(),
            raw.offset(),
        )
    }

    /// Policies from anywhere; they are put in order.
    pub fn new(action: RbacAction, mut policies: Vec<RbacPolicy>, at: usize) -> Self {
        policies.sort_by(|a, b| a.name.cmp(&b.name));
        Self {
            action,
            policies,
            at,
            unmodelled: None,
        }
    }

    /// A matcher tree, which is not modelled.
    fn matcher(raw: Raw<'_>) -> Self {
        let fact = "what the RBAC matcher tree decides, which is not modelled";
        Self {
            unmodelled: Some(fact.into()),
            ..Self::new(RbacAction::Allow, Vec::new(), raw.offset())
        }
    }

    /// What the policies decide of a request.
    pub fn evaluate(&self, state: &RequestState<'_>, record: &mut DecisionRecord) -> RbacDecision {
        if let Some(fact) = &self.unmodelled {
            return RbacDecision::Undecided { fact: fact.clone() };
        }
        let mut unknown: Option<(Box<str>, Box<str>)> = None;
        for policy in &self.policies {
            let matched = policy.matches(state);
            record.add(|| policy.considered(matched.clone(), state));
            match matched {
                Tri::Yes => return self.matched(&policy.name, unknown),
                Tri::Unknown(fact) if unknown.is_none() => {
                    unknown = Some((policy.name.clone(), fact))
                }
                Tri::Unknown(_) | Tri::No => {}
            }
        }
        match (self.action, unknown) {
            (RbacAction::Log, _) | (RbacAction::Deny, None) => {
                RbacDecision::Allowed { policy: None }
            }
            (RbacAction::Allow, None) => RbacDecision::Denied {
                policy: None,
                unless: None,
            },
            (RbacAction::Allow | RbacAction::Deny, Some((_, fact))) => {
                RbacDecision::Undecided { fact }
            }
        }
    }

    fn matched(&self, name: &str, unless: Option<(Box<str>, Box<str>)>) -> RbacDecision {
        match self.action {
            RbacAction::Deny => RbacDecision::Denied {
                policy: Some(name.into()),
                unless,
            },
            // Whichever policy it is, the request passes.
            RbacAction::Allow | RbacAction::Log => RbacDecision::Allowed {
                policy: unless.is_none().then(|| name.into()),
            },
        }
    }
}

impl RbacPolicy {
    /// Compiles a `Policy`.
    pub fn compile(name: &str, raw: Raw<'_>) -> Self {
        let has_condition = ["condition", "checked_condition", "cel_config"]
            .iter()
            .any(|key| raw.get(key).is_some());
        Self {
            name: name.into(),
            at: raw.offset(),
            permissions: raw.list("permissions").map(RbacRule::permission).collect(),
            principals: raw.list("principals").map(RbacRule::principal).collect(),
            condition: has_condition
                .then(|| format!("what the CEL condition of the policy {name} says").into()),
        }
    }

    /// A policy from anywhere else.
    pub fn new(
        name: &str,
        permissions: Vec<RbacRule>,
        principals: Vec<RbacRule>,
        at: usize,
    ) -> Self {
        Self {
            name: name.into(),
            at,
            permissions,
            principals,
            condition: None,
        }
    }

    /// Whether a request matches.
    pub fn matches(&self, state: &RequestState<'_>) -> Tri {
        let permission = RbacRule::any(&self.permissions, state);
        if permission == Tri::No {
            return permission;
        }
        let principal = RbacRule::any(&self.principals, state);
        let condition = self
            .condition
            .as_ref()
            .map_or(Tri::Yes, |fact| Tri::Unknown(fact.clone()));
        Tri::all([permission, principal, condition])
    }

    /// The conditions that a request fails, of the alternative that comes nearest: one means a near
    /// miss.
    pub fn failures(&self, state: &RequestState<'_>) -> Vec<String> {
        let mut failures = explain::of_alternatives(&self.permissions, state);
        failures.extend(explain::of_alternatives(&self.principals, state));
        failures
    }

    fn considered(&self, matched: Tri, state: &RequestState<'_>) -> MatchCandidate {
        let failures = if matched == Tri::No {
            self.failures(state)
        } else {
            Vec::new()
        };
        let why = match &matched {
            Tri::Yes => "every condition holds".to_owned(),
            Tri::Unknown(fact) => format!("it depends on {fact}"),
            Tri::No => match failures.as_slice() {
                [] => "it has no permission or no principal".to_owned(),
                [one] => one.clone(),
                [first, rest @ ..] => format!("{first} (and {} more)", rest.len()),
            },
        };
        MatchCandidate {
            what: CandidateName::Policy {
                name: self.name.to_string(),
                failures: failures.len(),
            },
            matched,
            why,
            at: self.at,
        }
    }
}

/// The name of a policy that did not match, when it failed in one condition only: that is the
/// reason then.
pub fn near_miss(candidate: &MatchCandidate) -> Option<&str> {
    match &candidate.what {
        CandidateName::Policy { name, failures } if *failures <= 1 => {
            (candidate.matched == Tri::No).then_some(name)
        }
        _ => None,
    }
}

/// `rbac_access_denied_matched_policy[ID]`: "Replace whitespaces in `policy_id` with '_' to avoid
/// breaking the access log".
pub fn details(policy: Option<&str>) -> String {
    let sanitized = |c: char| {
        if matches!(c, ' ' | '\t'..='\r') {
            '_'
        } else {
            c
        }
    };
    let id: String = policy.unwrap_or("none").chars().map(sanitized).collect();
    format!("rbac_access_denied_matched_policy[{id}]")
}

/// The policy in `rbac_access_denied_matched_policy[ID]`; `none` when no ALLOW policy matched.
pub fn policy_in(details: &str) -> Option<&str> {
    details
        .strip_prefix("rbac_access_denied_matched_policy[")?
        .strip_suffix(']')
}

#[cfg(test)]
mod tests;
