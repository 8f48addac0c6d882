//! `envoy.filters.http.rbac` and `envoy.filters.network.rbac`.

use super::{Rbac, RbacAction, RbacDecision, details};
use crate::state::MetadataEntry;
use crate::{DecisionRecord, RequestState, Tri};
use meshladder_text::json::Raw;
use meshladder_text::tree::{Node, Span, Value};

/// A compiled RBAC filter, for HTTP or for any TCP.
#[derive(Debug)]
pub struct RbacFilter {
    /// Where it stands in the dump.
    pub at: usize,
    /// `rules` or `matcher`: what is enforced; none lets all pass.
    pub rules: Option<Rbac>,
    rules_stat_prefix: Box<str>,
    /// `shadow_rules` or `shadow_matcher`: only noted down.
    pub shadow_rules: Option<Rbac>,
    shadow_rules_stat_prefix: Box<str>,
}

/// A compiled `RBACPerRoute`: "Override the global configuration of the filter with this new
/// config. If absent, the RBAC filter will be disabled."
#[derive(Debug)]
pub struct RbacPerRoute(pub Option<RbacFilter>);

/// What the filter does with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RbacOutcome {
    /// What the rules decide; none when there are none.
    pub enforced: Option<RbacDecision>,
    /// What the shadow rules would decide.
    pub shadow: Option<RbacDecision>,
}

impl RbacOutcome {
    /// Whether the request passes.
    pub fn passes(&self) -> Tri {
        match &self.enforced {
            Some(RbacDecision::Denied { .. }) => Tri::No,
            Some(RbacDecision::Undecided { fact }) => Tri::Unknown(fact.clone()),
            Some(RbacDecision::Allowed { .. }) | None => Tri::Yes,
        }
    }

    /// The policy that decided what is enforced, when one matched.
    pub fn policy(&self) -> Option<&str> {
        match &self.enforced {
            Some(RbacDecision::Allowed { policy } | RbacDecision::Denied { policy, .. }) => {
                policy.as_deref()
            }
            Some(RbacDecision::Undecided { .. }) | None => None,
        }
    }

    /// What the log says of a request that does not pass: `%RESPONSE_CODE_DETAILS%`, for TCP
    /// `%CONNECTION_TERMINATION_DETAILS%`.
    pub fn details(&self) -> Option<String> {
        match &self.enforced {
            Some(RbacDecision::Denied { policy, .. }) => Some(details(policy.as_deref())),
            _ => None,
        }
    }
}

impl RbacPerRoute {
    /// Compiles an `RBACPerRoute`.
    pub fn compile(raw: Raw<'_>) -> Self {
        Self(raw.get("rbac").map(RbacFilter::compile))
    }
}

impl RbacFilter {
    /// Compiles the `RBAC` of either filter.
    pub fn compile(raw: Raw<'_>) -> Self {
        let rules = |rules, matcher| {
            raw.get(matcher)
                .map(Rbac::matcher)
                .or_else(|| raw.get(rules).map(Rbac::compile))
        };
        Self {
            at: raw.offset(),
            rules: rules("rules", "matcher"),
            rules_stat_prefix: raw
                .string_at("rules_stat_prefix")
                .unwrap_or_default()
                .into(),
            shadow_rules: rules("shadow_rules", "shadow_matcher"),
            shadow_rules_stat_prefix: raw
                .string_at("shadow_rules_stat_prefix")
                .unwrap_or_default()
                .into(),
        }
    }

    /// A filter from anywhere else.
    pub fn new(
        rules: Option<Rbac>,
        shadow_rules: Option<Rbac>,
        shadow_rules_stat_prefix: &str,
    ) -> Self {
        Self {
            at: 0,
            rules,
            rules_stat_prefix: "".into(),
            shadow_rules,
            shadow_rules_stat_prefix: shadow_rules_stat_prefix.into(),
        }
    }

    /// What the filter does with a request. What the shadow rules find goes into the state's
    /// metadata.
    pub fn evaluate(
        &self,
        state: &mut RequestState<'_>,
        record: &mut DecisionRecord,
    ) -> RbacOutcome {
        let shadow = self.shadow_rules.as_ref().map(|rules| {
            let decision = rules.evaluate(state, &mut DecisionRecord::dropping());
            note(state, &self.shadow_rules_stat_prefix, "shadow", &decision);
            decision
        });
        let enforced = self.rules.as_ref().map(|rules| {
            let decision = rules.evaluate(state, record);
            note(state, &self.rules_stat_prefix, "enforced", &decision);
            if rules.action == RbacAction::Log {
                hint(state, &decision);
            }
            decision
        });
        RbacOutcome { enforced, shadow }
    }
}

/// Keys `<prefix>shadow_engine_result` (`allowed` or `denied`) and
/// `<prefix>shadow_effective_policy_id`, the latter only when a policy matched; the same for what
/// is enforced.
fn note(state: &mut RequestState<'_>, prefix: &str, engine: &str, decision: &RbacDecision) {
    let namespace = if state.is_http {
        "envoy.filters.http.rbac"
    } else {
        "envoy.filters.network.rbac"
    };
    let (result, policy) = match decision {
        RbacDecision::Allowed { policy } => (text("allowed"), policy.as_deref().map(text)),
        RbacDecision::Denied {
            policy,
            unless: None,
        } => (text("denied"), policy.as_deref().map(text)),
        RbacDecision::Denied {
            unless: Some((_, fact)),
            ..
        } => (text("denied"), Some(MetadataEntry::Unknown(fact.clone()))),
        RbacDecision::Undecided { fact } => {
            let unknown = || MetadataEntry::Unknown(fact.clone());
            (unknown(), Some(unknown()))
        }
    };
    state.metadata.set(
        namespace,
        &format!("{prefix}{engine}_engine_result"),
        result,
    );
    if let Some(policy) = policy {
        state.metadata.set(
            namespace,
            &format!("{prefix}{engine}_effective_policy_id"),
            policy,
        );
    }
}

fn hint(state: &mut RequestState<'_>, decision: &RbacDecision) {
    let matched = matches!(decision, RbacDecision::Allowed { policy: Some(_) });
    let hint = Node {
        value: Value::Bool(matched),
        span: Span::default(),
    };
    state.metadata.set(
        "envoy.common",
        "access_log_hint",
        MetadataEntry::Value(hint),
    );
}

fn text(text: &str) -> MetadataEntry {
    MetadataEntry::Value(Node {
        value: Value::String(text.into()),
        span: Span::default(),
    })
}
