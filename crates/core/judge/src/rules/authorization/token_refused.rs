//! See the page beside this file.

use super::token_slip;
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity, Subject};
use crate::rules::accounts::{self, Account};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::policies::Workload;

pub(super) static RULE: Rule = Rule {
    code: "ML0915",
    name: "token-refused",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Error,
    claim: "the token of the request is one that the workload accepts",
    needs: Inputs::NONE,
    uses: Inputs::of(&[Kind::RequestAuthentication, Kind::Pod]).and(&[Part::Proxies, Part::Logs]),
    explains: &[],
    docs: include_str!("token_refused.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let told = refusals(facts, case);
    let Some((reason, told)) = told
        .into_iter()
        .find(|(reason, _)| !is_of_keys(facts, case, reason))
    else {
        return;
    };
    let at = told
        .pod
        .or(case.servers.first().copied())
        .map(|pod| pod.workload().to_string());
    let message = format!(
        "{} refuses the token of the request: {reason}",
        at.unwrap_or_else(|| case.host.clone())
    );
    let policies = authentications(facts, case);
    if let Some(slip) = token_slip::slip(case, &policies, &reason) {
        let message = format!("{message}: {} is to blame, {}", slip.policy.id, slip.what);
        let proof = Evidence::of(slip.policy, slip.node, "what the token does not fit");
        let finding = out.find(slip.policy.id.clone(), message, proof);
        finding.see(told.proof).confidence(Confidence::Likely);
        finding
            .hits
            .extend(case.servers.iter().map(|pod| pod.reference()));
        finding.fix(slip.fix);
        return;
    }
    let finding = out.find(Subject::Request, message, told.proof);
    for policy in policies {
        finding.see(Evidence::object(policy, "which tokens are accepted"));
    }
    finding.fix(Fix::advice(advice(&reason)));
    let accept = match reason.as_str() {
        "Audiences in Jwt are not allowed" => {
            "if it should be accepted, add its audience to `audiences`"
        }
        "Jwt issuer is not configured" => "if it should be accepted, add its issuer to `jwtRules`",
        _ => return,
    };
    finding.fix(Fix::advice(accept));
}

/// The refusals of tokens: Envoy's words, and who tells them.
pub(super) fn refusals<'r>(facts: &Facts<'r>, case: &'r Case<'_>) -> Vec<(String, Account<'r>)> {
    let told = accounts::of(facts, case).into_iter();
    told.filter_map(|told| {
        let reason = told
            .details
            .strip_prefix("jwt_authn_access_denied{")?
            .strip_suffix('}')?;
        Some((reason.replace('_', " "), told))
    })
    .collect()
}

/// Whether the proxy's keys are at fault, rather than the token: other rules tell that.
fn is_of_keys(facts: &Facts<'_>, case: &Case<'_>, reason: &str) -> bool {
    reason.starts_with("Jwks remote fetch")
        || (super::jwks_not_fetched::is_about_keys(reason)
            && super::jwks_not_fetched::placeholder(facts, case).is_some())
}

/// The RequestAuthentications that reach the servers.
pub(super) fn authentications<'r>(
    facts: &Facts<'r>,
    case: &Case<'_>,
) -> Vec<&'r meshladder_mesh::Object> {
    let server = case
        .servers
        .first()
        .and_then(|pod| facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name));
    server
        .map(|pod| {
            facts
                .mesh
                .policies(Kind::RequestAuthentication, &Workload::of(pod))
        })
        .unwrap_or_default()
}

fn advice(reason: &str) -> &'static str {
    match reason {
        "Jwt is expired" => "get a fresh token",
        "Audiences in Jwt are not allowed" => "get a token for an audience that is accepted",
        "Jwt issuer is not configured" => "get a token from an issuer that is accepted",
        "Jwt is missing" => "send a token",
        _ => "get a valid token from an issuer that is accepted",
    }
}
