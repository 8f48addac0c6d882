//! `envoy.filters.http.rbac` and `envoy.filters.network.rbac`.

use super::{Rbac, RbacAction, RbacDecision, details};
use crate::state::MetadataEntry;
use crate::{DecisionRecord, RequestState, Tri, message};
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
        Self {
            at: raw.offset(),
            rules: rules(raw, "rules", "matcher"),
            rules_stat_prefix: message::text(raw, "rules_stat_prefix").into(),
            shadow_rules: rules(raw, "shadow_rules", "shadow_matcher"),
            shadow_rules_stat_prefix: message::text(raw, "shadow_rules_stat_prefix").into(),
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
        // "Shadow rules are not enforced by the filter (i.e., returning a 403) but will emit stats and
        // logs". They come first, so that the enforced ones could read what they wrote.
        let mut shadow = None;
        if let Some(rules) = &self.shadow_rules {
            let decision = rules.evaluate(state, &mut DecisionRecord::dropping());
            note(state, &self.shadow_rules_stat_prefix, "shadow", &decision);
            shadow = Some(decision);
        }

        let mut enforced = None;
        if let Some(rules) = &self.rules {
            let decision = rules.evaluate(state, record);
            note(state, &self.rules_stat_prefix, "enforced", &decision);
            if rules.action == RbacAction::Log {
                hint(state, &decision);
            }
            enforced = Some(decision);
        }
        RbacOutcome { enforced, shadow }
    }
}

/// Keys `<prefix>shadow_engine_result` (`allowed` or `denied`) and
/// `<prefix>shadow_effective_policy_id`, the latter only when a policy matched; and likewise for
/// what is enforced.
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
            let unknown = MetadataEntry::Unknown(fact.clone());
            (unknown.clone(), Some(unknown))
        }
    };

    let key = format!("{prefix}{engine}_engine_result");
    state.metadata.set(namespace, &key, result);
    if let Some(policy) = policy {
        let key = format!("{prefix}{engine}_effective_policy_id");
        state.metadata.set(namespace, &key, policy);
    }
}

/// "The policies set the `access_log_hint` dynamic metadata key based on if requests match."
fn hint(state: &mut RequestState<'_>, decision: &RbacDecision) {
    let matched = matches!(decision, RbacDecision::Allowed { policy: Some(_) });
    let hint = MetadataEntry::Value(Node {
        value: Value::Bool(matched),
        span: Span::default(),
    });
    state.metadata.set("envoy.common", "access_log_hint", hint);
}

fn text(text: &str) -> MetadataEntry {
    MetadataEntry::Value(Node {
        value: Value::String(text.into()),
        span: Span::default(),
    })
}

/// A matcher tree takes the place of rules.
fn rules(filter: Raw<'_>, rules: &str, matcher: &str) -> Option<Rbac> {
    if let Some(matcher) = filter.get(matcher) {
        return Some(Rbac::matcher(matcher));
    }
    filter.get(rules).map(Rbac::compile)
}
