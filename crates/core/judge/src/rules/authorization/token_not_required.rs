//! See the page beside this file.

use super::denial::{has_token, is_dry_run, wants_token};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::policies::{Workload, reaches};

pub(super) static RULE: Rule = Rule {
    code: "ML0912",
    name: "token-not-required",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Info,
    claim: "where tokens are checked, a policy also requires one",
    needs: Inputs::of(&[
        Kind::RequestAuthentication,
        Kind::AuthorizationPolicy,
        Kind::Pod,
    ]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("token_not_required.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let root = &facts.mesh.config.root_namespace;
    for authentication in facts.mesh.objects.of_kind(Kind::RequestAuthentication) {
        out.examined();
        let is_asked = |pod: &&Object| {
            case.is_none_or(|case| {
                case.servers
                    .iter()
                    .any(|server| server.reference() == pod.id)
            })
        };
        let mut pods = facts
            .mesh
            .objects
            .of_kind(Kind::Pod)
            .iter()
            .filter(is_asked);
        let Some(pod) = pods.find(|pod| reaches(&authentication.node, &Workload::of(pod), root))
        else {
            continue;
        };
        let policies = facts
            .mesh
            .policies(Kind::AuthorizationPolicy, &Workload::of(pod));
        if policies
            .iter()
            .any(|policy| !is_dry_run(policy) && wants_token(policy))
        {
            continue;
        }
        let message = format!(
            "{} checks tokens, and no AuthorizationPolicy requires one: a request without any token passes",
            authentication.id
        );
        let proof = Evidence::object(authentication, "which tokens are accepted");
        let finding = out.find(authentication.id.clone(), message, proof);
        finding.hits(pod.id.clone()).when_asked(Severity::Warning);
        // Who asks why a call without a token works expected that it does not.
        let works =
            |case: &Case<'_>| case.seen.is_some_and(Symptom::is_success) && !has_token(case);
        if case.is_some_and(works) {
            finding.severity(Severity::Warning);
        }
        finding.fix(Fix::advice(
            "if a token is a must, add an AuthorizationPolicy with `requestPrincipals: [\"*\"]`",
        ));
    }
}
