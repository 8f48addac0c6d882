//! Authorization from objects alone: `AuthorizationPolicy` and `RequestAuthentication`, compiled as
//! istiod compiles them, into the same structures that a config dump gives.

use std::collections::BTreeMap;

use meshladder_mesh::MeshConfig;
use meshladder_mesh::policies::Workload;
use meshladder_sim::jwt::{JwtAuthn, JwtVerdict};
use meshladder_sim::rbac::{Rbac, RbacAction, RbacDecision, RbacFilter, RbacPolicy, RbacRule};
use meshladder_sim::state::MetadataLookup;
use meshladder_sim::{Answer, DecisionRecord, RequestState};
use meshladder_text::time::Time;
use meshladder_text::tree::Node;

mod request;
mod rule;
mod select;
mod value;

use rule::RuleContext;
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
        let policies = select::reaching(&objects.authorization_policies, workload, mesh);
        let build = |name: &str, action: RbacAction| {
            let builder = FilterBuilder {
                mesh,
                traffic,
                action,
            };
            builder.filter(&with_action(&policies, name))
        };
        Self {
            custom: custom(&with_action(&policies, "CUSTOM"), mesh, traffic),
            jwt: match traffic {
                Traffic::Http => request::compile(objects, workload, mesh),
                Traffic::Tcp => None,
            },
            audit: build("AUDIT", RbacAction::Log),
            deny: build("DENY", RbacAction::Deny),
            allow: build("ALLOW", RbacAction::Allow),
        }
    }

    /// What the policies decide of a request, in the order of the filters: CUSTOM, tokens, AUDIT,
    /// DENY, ALLOW.
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
                denied => return unless(undecided, denied),
            }
        }

        if let Some(jwt) = &self.jwt {
            match jwt.evaluate(None, state, now, record) {
                JwtVerdict::Refused(answer) => {
                    return unless(undecided, PolicyVerdict::Refused(answer));
                }
                JwtVerdict::Undecided(fact) => undecided = undecided.or(Some(fact)),
                JwtVerdict::Passed(_) => {}
            }
        }

        let mut policy = None;
        for filter in [&self.audit, &self.deny, &self.allow].into_iter().flatten() {
            match filter.evaluate(state, record).enforced {
                // Whatever the open question is about, this one says no to all of it.
                Some(RbacDecision::Denied { policy, .. }) => {
                    return PolicyVerdict::Denied { policy };
                }
                Some(RbacDecision::Undecided { fact }) => undecided = undecided.or(Some(fact)),
                Some(RbacDecision::Allowed { policy: by }) => policy = by,
                None => {}
            }
        }
        unless(undecided, PolicyVerdict::Allowed { policy })
    }
}

impl CustomPolicies {
    fn evaluate(&self, state: &mut RequestState<'_>, record: &mut DecisionRecord) -> PolicyVerdict {
        let enforced = self.filter.evaluate(state, record).enforced;
        if let Some(RbacDecision::Denied { policy, .. }) = enforced {
            return PolicyVerdict::Denied { policy };
        }

        // ext_authz runs only if `istio_ext_authz_shadow_effective_policy_id` names a policy: the
        // shadow rules choose what the provider is asked about.
        let namespace = if state.is_http {
            "envoy.filters.http.rbac"
        } else {
            "envoy.filters.network.rbac"
        };
        let key = format!("{EXT_AUTHZ_PREFIX}shadow_effective_policy_id");
        match state.metadata.find(namespace, &[key.into()]) {
            MetadataLookup::Unknown(fact) => PolicyVerdict::Undecided(fact.into()),
            MetadataLookup::Value(_) => {
                let fact = format!("the answer of the provider {}", self.provider);
                PolicyVerdict::Undecided(fact.into())
            }
            MetadataLookup::Absent | MetadataLookup::Claim(_) | MetadataLookup::Object => {
                PolicyVerdict::Allowed { policy: None }
            }
        }
    }
}

/// One filter for each provider.
fn custom(
    policies: &[PolicyObject<'_>],
    mesh: &MeshConfig,
    traffic: Traffic,
) -> Vec<CustomPolicies> {
    let mut by_provider: BTreeMap<&str, Vec<PolicyObject<'_>>> = BTreeMap::new();
    for policy in policies {
        by_provider
            .entry(policy.provider())
            .or_default()
            .push(*policy);
    }
    let builder = FilterBuilder {
        mesh,
        traffic,
        action: RbacAction::Deny,
    };
    let is_one = by_provider.len() == 1;
    let mut custom = Vec::new();
    for (name, policies) in by_provider {
        // istiod takes only one provider for a workload.
        let provider = if is_one {
            mesh.authorization_provider(name)
        } else {
            None
        };
        // "HTTP providers are ignored on TCP chains."
        if let Some(provider) = provider
            && &*provider.kind == "envoyExtAuthzHttp"
            && traffic == Traffic::Tcp
        {
            continue;
        }
        custom.push(CustomPolicies {
            provider: name.into(),
            filter: builder.custom(&policies, name, provider.is_some()),
        });
    }
    custom
}

fn with_action<'o>(policies: &[PolicyObject<'o>], action: &str) -> Vec<PolicyObject<'o>> {
    let mut chosen = Vec::new();
    for policy in policies {
        if policy.action() == action {
            chosen.push(*policy);
        }
    }
    chosen
}

/// A verdict, unless something before it is open.
fn unless(undecided: Option<Box<str>>, verdict: PolicyVerdict) -> PolicyVerdict {
    match undecided {
        Some(fact) => PolicyVerdict::Undecided(fact),
        None => verdict,
    }
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
        let (mut dry, mut wet) = (Vec::new(), Vec::new());
        for policy in policies {
            if is_dry_run(*policy) {
                dry.push(*policy);
            } else {
                wet.push(*policy);
            }
        }
        let prefix = match self.action {
            RbacAction::Allow => "istio_dry_run_allow_",
            RbacAction::Deny => "istio_dry_run_deny_",
            RbacAction::Log => "",
        };
        // "if all ALLOW policies are dry-run there is no implicit deny"
        let rules = if wet.is_empty() {
            None
        } else {
            Some(self.rules(&wet, "", ""))
        };
        let shadow = if dry.is_empty() {
            None
        } else {
            Some(self.rules(&dry, "", ""))
        };
        Some(RbacFilter::new(rules, shadow, prefix))
    }

    /// The filter before a provider. One that istiod finds no provider for denies what it matches.
    fn custom(&self, policies: &[PolicyObject<'_>], provider: &str, is_known: bool) -> RbacFilter {
        let prefix = match provider {
            "" => "istio-ext-authz-".to_owned(),
            name => format!("istio-ext-authz-{name}-"),
        };
        if is_known {
            let rules = self.rules(policies, &prefix, "");
            return RbacFilter::new(None, Some(rules), EXT_AUTHZ_PREFIX);
        }
        let rules = self.rules(policies, &prefix, "-deny-due-to-bad-CUSTOM-action");
        RbacFilter::new(Some(rules), None, "")
    }

    fn rules(&self, policies: &[PolicyObject<'_>], prefix: &str, suffix: &str) -> Rbac {
        let mut compiled = Vec::new();
        for policy in policies {
            let (namespace, name) = (policy.namespace(), policy.name());
            let named = format!("{prefix}ns[{namespace}]-policy[{name}]");
            let context = RuleContext {
                mesh: self.mesh,
                traffic: self.traffic,
                action: self.action,
                namespace,
            };
            let rules = policy.rules();
            for (number, node) in rules.iter().enumerate() {
                let name = format!("{named}-rule[{number}]{suffix}");
                compiled.extend(rule::compile(node, &name, &context));
            }
            if rules.is_empty() {
                let name = format!("{named}-rule[0]{suffix}");
                compiled.push(never(&name, policy.node.span.start()));
            }
        }
        Rbac::new(self.action, compiled, 0)
    }
}

/// "No `rules` => one never-matching policy".
fn never(name: &str, at: usize) -> RbacPolicy {
    let nothing = vec![RbacRule::Not(Box::new(RbacRule::Any))];
    RbacPolicy::new(name, nothing.clone(), nothing, at)
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
