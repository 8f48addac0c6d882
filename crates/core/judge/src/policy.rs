//! Authorization from objects alone: `AuthorizationPolicy` and `RequestAuthentication`, compiled as
//! istiod compiles them, into the same structures that a config dump gives.

use std::collections::BTreeMap;

use meshladder_mesh::MeshConfig;
use meshladder_mesh::policies::Workload;
use meshladder_sim::jwt::{self, JwtAuthn};
use meshladder_sim::rbac::{Rbac, RbacAction, RbacDecision, RbacFilter, RbacPolicy, RbacRule};
use meshladder_sim::state::MetadataLookup;
use meshladder_sim::{Answer, DecisionRecord, RequestState};
use meshladder_text::time::Time;
use meshladder_text::tree::Node;

mod request;
mod rule;
mod select;
mod value;

use select::PolicyObject;
pub use select::PolicyObjects;

/// The policies that apply to one workload, in the order of the filters that istiod makes of them.
#[derive(Debug)]
pub struct WorkloadPolicies {
    /// CUSTOM: one for each provider.
    pub custom: Vec<CustomPolicies>,
    /// From `RequestAuthentication`; none for TCP.
    pub jwt: Option<JwtAuthn>,
    /// AUDIT
    pub audit: Option<RbacFilter>,
    /// DENY
    pub deny: Option<RbacFilter>,
    /// ALLOW
    pub allow: Option<RbacFilter>,
}

/// The CUSTOM policies of one provider.
#[derive(Debug)]
pub struct CustomPolicies {
    /// The provider.
    pub provider: Box<str>,
    /// Matches what the provider is to decide; denies it when the provider is no good.
    pub filter: RbacFilter,
}

/// What a proxy takes the traffic for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// HTTP, with all its fields.
    Http,
    /// Anything else: fields of HTTP cannot be looked at.
    Tcp,
}

/// What the policies decide.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyVerdict {
    /// Let through; by the ALLOW policy that matched, when there is one.
    Allowed {
        /// The policy's name, as the proxy has it.
        policy: Option<Box<str>>,
    },
    /// Not let through.
    Denied {
        /// The policy's name, as the proxy has it; none when no ALLOW policy matches.
        policy: Option<Box<str>>,
    },
    /// The token is bad.
    Refused(Answer),
    /// It depends on this fact.
    Undecided(Box<str>),
}

const EXT_AUTHZ_PREFIX: &str = "istio_ext_authz_";

impl WorkloadPolicies {
    /// The policies among these objects that apply to a workload.
    pub fn compile(
        objects: &PolicyObjects<'_>,
        workload: &Workload<'_>,
        mesh: &MeshConfig,
        traffic: Traffic,
    ) -> Self {
        let selected = select::reaching(&objects.authorization_policies, workload, mesh);
        let of = |action: &str| -> Vec<PolicyObject<'_>> {
            selected
                .iter()
                .copied()
                .filter(|policy| policy.action() == action)
                .collect()
        };
        let build = |policies: &[PolicyObject<'_>], action| {
            FilterBuilder {
                mesh,
                traffic,
                action,
            }
            .filter(policies)
        };
        Self {
            custom: custom(&of("CUSTOM"), mesh, traffic),
            jwt: (traffic == Traffic::Http)
                .then(|| request::compile(objects, workload, mesh))
                .flatten(),
            audit: build(&of("AUDIT"), RbacAction::Log),
            deny: build(&of("DENY"), RbacAction::Deny),
            allow: build(&of("ALLOW"), RbacAction::Allow),
        }
    }

    /// What the policies decide of a request: "CUSTOM, then DENY, then ALLOW"; tokens are judged in
    /// between.
    pub fn evaluate(
        &self,
        state: &mut RequestState<'_>,
        now: Time,
        record: &mut DecisionRecord,
    ) -> PolicyVerdict {
        let mut undecided = None;
        for custom in &self.custom {
            match custom.evaluate(state, record) {
                PolicyVerdict::Undecided(fact) => undecided = undecided.or(Some(fact)),
                PolicyVerdict::Allowed { .. } => {}
                denied => return undecided.map_or(denied, PolicyVerdict::Undecided),
            }
        }
        match self
            .jwt
            .as_ref()
            .map(|jwt| jwt.evaluate(None, state, now, record))
        {
            Some(jwt::JwtVerdict::Refused(answer)) => {
                return undecided.map_or(PolicyVerdict::Refused(answer), PolicyVerdict::Undecided);
            }
            Some(jwt::JwtVerdict::Undecided(fact)) => undecided = undecided.or(Some(fact)),
            Some(jwt::JwtVerdict::Passed(_)) | None => {}
        }
        let mut allowed_by = None;
        for filter in [&self.audit, &self.deny, &self.allow].into_iter().flatten() {
            match filter.evaluate(state, record).enforced {
                // Whatever the open question is about, this one says no to all of it.
                Some(RbacDecision::Denied { policy, .. }) => {
                    return PolicyVerdict::Denied { policy };
                }
                Some(RbacDecision::Undecided { fact }) => undecided = undecided.or(Some(fact)),
                Some(RbacDecision::Allowed { policy }) => allowed_by = policy,
                None => {}
            }
        }
        undecided.map_or(
            PolicyVerdict::Allowed { policy: allowed_by },
            PolicyVerdict::Undecided,
        )
    }
}

impl CustomPolicies {
    fn evaluate(&self, state: &mut RequestState<'_>, record: &mut DecisionRecord) -> PolicyVerdict {
        if let Some(RbacDecision::Denied { policy, .. }) =
            self.filter.evaluate(state, record).enforced
        {
            return PolicyVerdict::Denied { policy };
        }
        let namespace = if state.is_http {
            "envoy.filters.http.rbac"
        } else {
            "envoy.filters.network.rbac"
        };
        let key = format!("{EXT_AUTHZ_PREFIX}shadow_effective_policy_id");
        match state.metadata.find(namespace, &[key.into()]) {
            MetadataLookup::Unknown(fact) => PolicyVerdict::Undecided(fact.into()),
            MetadataLookup::Value(_) => PolicyVerdict::Undecided(
                format!("the answer of the provider {}", self.provider).into(),
            ),
            MetadataLookup::Absent | MetadataLookup::Claim(_) | MetadataLookup::Object => {
                PolicyVerdict::Allowed { policy: None }
            }
        }
    }
}

/// One pair of filters for each provider. A provider that is not there, or one of several when
/// istiod takes only one, makes its policies deny; "HTTP providers are ignored on TCP chains".
fn custom(
    policies: &[PolicyObject<'_>],
    mesh: &MeshConfig,
    traffic: Traffic,
) -> Vec<CustomPolicies> {
    let mut by_provider: BTreeMap<&str, Vec<PolicyObject<'_>>> = BTreeMap::new();
    for policy in policies {
        let provider = policy
            .node
            .at(["spec", "provider", "name"])
            .and_then(Node::str)
            .unwrap_or_default();
        by_provider.entry(provider).or_default().push(*policy);
    }
    let is_one = by_provider.len() == 1;
    let mut filters = Vec::new();
    for (name, policies) in by_provider {
        let builder = FilterBuilder {
            mesh,
            traffic,
            action: RbacAction::Deny,
        };
        let provider = mesh.authorization_provider(name).filter(|_| is_one);
        if provider.is_some_and(|provider| {
            &*provider.kind == "envoyExtAuthzHttp" && traffic == Traffic::Tcp
        }) {
            continue;
        }
        let suffix = if provider.is_some() {
            ""
        } else {
            "-deny-due-to-bad-CUSTOM-action"
        };
        let prefix = if name.is_empty() {
            "istio-ext-authz-".to_owned()
        } else {
            format!("istio-ext-authz-{name}-")
        };
        let enforced = builder.rules(&policies, &prefix, suffix);
        let filter = match provider {
            Some(_) => RbacFilter::new(None, Some(enforced), EXT_AUTHZ_PREFIX),
            None => RbacFilter::new(Some(enforced), None, ""),
        };
        filters.push(CustomPolicies {
            provider: name.into(),
            filter,
        });
    }
    filters
}

/// Makes one filter of all policies with the same action.
struct FilterBuilder<'b> {
    mesh: &'b MeshConfig,
    traffic: Traffic,
    action: RbacAction,
}

impl FilterBuilder<'_> {
    fn filter(&self, policies: &[PolicyObject<'_>]) -> Option<RbacFilter> {
        if policies.is_empty() {
            return None;
        }
        let (dry, wet): (Vec<_>, Vec<_>) = policies
            .iter()
            .partition::<Vec<PolicyObject<'_>>, _>(|policy| is_dry_run(**policy));
        let rules = self.rules(&wet, "", "");
        let shadow = self.rules(&dry, "", "");
        let prefix = match self.action {
            RbacAction::Allow => "istio_dry_run_allow_",
            RbacAction::Deny => "istio_dry_run_deny_",
            RbacAction::Log => "",
        };
        // "if all ALLOW policies are dry-run there is no implicit deny"
        Some(RbacFilter::new(
            Some(rules).filter(|_| !wet.is_empty()),
            Some(shadow).filter(|_| !dry.is_empty()),
            prefix,
        ))
    }

    fn rules(&self, policies: &[PolicyObject<'_>], prefix: &str, suffix: &str) -> Rbac {
        let mut compiled = Vec::new();
        for policy in policies {
            let rules = policy
                .node
                .at(["spec", "rules"])
                .map_or(&[][..], Node::items);
            let name = |rule: usize| {
                format!(
                    "{prefix}ns[{}]-policy[{}]-rule[{rule}]{suffix}",
                    policy.namespace(),
                    policy.name()
                )
            };
            for (number, node) in rules.iter().enumerate() {
                let context = rule::RuleContext {
                    mesh: self.mesh,
                    traffic: self.traffic,
                    action: self.action,
                    namespace: policy.namespace(),
                };
                compiled.extend(rule::compile(node, &name(number), &context));
            }
            if rules.is_empty() {
                compiled.push(never(&name(0), policy.node.span.start()));
            }
        }
        Rbac::new(self.action, compiled, 0)
    }
}

/// "No `rules` => one never-matching policy".
fn never(name: &str, at: usize) -> RbacPolicy {
    let nothing = || vec![RbacRule::Not(Box::new(RbacRule::Any))];
    RbacPolicy::new(name, nothing(), nothing(), at)
}

/// The annotation, read as Go reads booleans.
fn is_dry_run(policy: PolicyObject<'_>) -> bool {
    let annotation = policy
        .node
        .at(["metadata", "annotations", "istio.io/dry-run"])
        .and_then(Node::str);
    matches!(annotation, Some("1" | "t" | "T" | "true" | "TRUE" | "True"))
}

#[cfg(test)]
mod tests;
