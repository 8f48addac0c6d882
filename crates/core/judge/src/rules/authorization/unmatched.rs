//! Why no ALLOW policy matches a request.

use super::denial::{self, As, Denial, is_http_only, is_of_token};
use crate::policy::{PolicyVerdict, Traffic};
use crate::rules::{Case, Facts};
use meshladder_capture::Kind;
use meshladder_mesh::{Object, PodFacts};
use meshladder_text::tree::Node;

/// A request that no ALLOW policy matches, and why.
#[derive(Debug)]
pub(super) struct Unmatched<'r> {
    pub(super) denial: Denial<'r>,
    /// The ALLOW policies that reach the server, the likeliest to be meant first.
    pub(super) policies: Vec<&'r Object>,
    pub(super) why: Why<'r>,
}

/// Why.
#[derive(Debug)]
pub(super) enum Why<'r> {
    /// The rules are about HTTP, the port is not.
    HttpRules,
    /// The caller runs under another account than the one meant for it.
    OtherAccount(&'r PodFacts, &'r Object),
    /// The caller shows no certificate.
    PlainText,
    /// The caller shows no token.
    NoToken,
    /// Nothing of the kind: the caller, or what it does, is not listed.
    NotListed,
}

/// The first such denial; none when there is none, or when the objects do not say so.
pub(super) fn find<'r>(facts: &Facts<'r>, case: &'r Case<'r>) -> Option<Unmatched<'r>> {
    let denial = denial::denials(facts, case)
        .into_iter()
        .find(|denial| denial.policy.is_none())?;
    let now = denial::verdict(facts, case, denial.server, As::default());
    if !matches!(
        now,
        Some(PolicyVerdict::Denied { policy: None } | PolicyVerdict::Undecided(_)) | None
    ) {
        return None;
    }
    let mut policies = denial::policies(facts, Some(case), denial.server, "ALLOW");
    policies.sort_by_key(|policy| meshladder_mesh::policies::selector(policy.spec()).is_none());
    let why = why(facts, case, &denial, &policies);
    (!policies.is_empty()).then_some(Unmatched {
        denial,
        policies,
        why,
    })
}

fn why<'r>(
    facts: &Facts<'r>,
    case: &'r Case<'r>,
    denial: &Denial<'r>,
    policies: &[&'r Object],
) -> Why<'r> {
    let rules = || policies.iter().flat_map(|policy| policy.spec_list("rules"));
    let has =
        |rule: &Node, is: fn(&str) -> bool| denial::fields(rule).iter().any(|(field, _)| is(field));
    let allowed = |who: As<'_>| {
        matches!(
            denial::verdict(facts, case, denial.server, who),
            Some(PolicyVerdict::Allowed { .. })
        )
    };
    if denial::traffic(facts, case) == Traffic::Tcp && rules().any(|rule| has(rule, is_http_only)) {
        return Why::HttpRules;
    }
    if let Some(caller) = denial::caller(facts, case, denial.server)
        && let Some(account) = meant_account(facts, caller, &allowed)
    {
        return Why::OtherAccount(caller, account);
    }
    if !denial::is_mutual_tls(facts, case, denial.server)
        && allowed(As {
            account: None,
            mutual_tls: true,
        })
    {
        return Why::PlainText;
    }
    if !denial::has_token(case)
        && rules().next().is_some()
        && rules().all(|rule| has(rule, is_of_token))
    {
        return Why::NoToken;
    }
    Why::NotListed
}

/// An account in the caller's namespace that policy lets through and that is meant for the caller:
/// it has the name of its workload or application, or nobody uses it while the caller runs as
/// `default`.
fn meant_account<'r>(
    facts: &Facts<'r>,
    caller: &PodFacts,
    allowed: &dyn Fn(As<'_>) -> bool,
) -> Option<&'r Object> {
    let template = template_account(facts, caller);
    let current = template.as_deref().unwrap_or(&caller.service_account);
    let workload = caller.workload().name;
    let app = caller
        .labels
        .get("app")
        .or_else(|| caller.labels.get("app.kubernetes.io/name"));
    let is_used = |name: &str| {
        facts
            .mesh
            .pods
            .iter()
            .any(|pod| pod.namespace == caller.namespace && pod.service_account == name)
    };
    let accounts = facts
        .mesh
        .objects
        .in_namespace(Kind::ServiceAccount, &caller.namespace);
    let mut meant = accounts.filter(|account| {
        let name = account.id.name.as_str();
        let is_named_so = name == workload || app.is_some_and(|app| app == name);
        name != current && (is_named_so || (current == "default" && !is_used(name)))
    });
    meant.find(|account| {
        allowed(As {
            account: Some(&account.id.name),
            mutual_tls: false,
        })
    })
}

/// The account that new pods of the workload get.
pub(super) fn template_account(facts: &Facts<'_>, pod: &PodFacts) -> Option<String> {
    let stored = facts
        .mesh
        .objects
        .get(Kind::Pod, &pod.namespace, &pod.name)?;
    let spec = facts
        .mesh
        .workload_of(stored)?
        .spec_at(["template", "spec"])?;
    Some(
        spec.str_at("serviceAccountName")
            .unwrap_or("default")
            .to_owned(),
    )
}
