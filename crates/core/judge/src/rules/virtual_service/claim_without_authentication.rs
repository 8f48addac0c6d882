//! See the page beside this file.

use super::bound;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::analyzed::list;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::policies::Workload;
use meshladder_text::tree::{Member, Node};

pub(super) static RULE: Rule = Rule {
    code: "ML2012",
    name: "claim-without-authentication",
    aka: &["IST0149"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "a gateway that routes by claims of a token checks tokens",
    needs: Inputs::of(&[
        Kind::VirtualService,
        Kind::Gateway,
        Kind::Pod,
        Kind::RequestAuthentication,
    ]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("claim_without_authentication.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        let Some(claim) = claim(service) else {
            continue;
        };
        for bound in bound::to_gateways(service) {
            out.examined();
            let Some(gateway) = facts.mesh.gateway(bound.namespace, bound.name) else {
                continue;
            };
            let pods = facts.mesh.gateway_pods(gateway);
            let is_bare = |pod: &&&Object| {
                facts
                    .mesh
                    .policies(Kind::RequestAuthentication, &Workload::of(pod))
                    .is_empty()
            };
            let Some(pod) = pods.iter().find(is_bare) else {
                continue;
            };
            let whom = if pod.is_assumed() {
                "its pods".to_owned()
            } else {
                pod.id.to_string()
            };
            let message = format!(
                "{} matches {} at {}, and no RequestAuthentication reaches {whom}, so the match never holds",
                service.id, claim.key, gateway.id
            );
            out.find(
                service.id.clone(),
                message,
                Evidence::of(service, &claim.value, "the claim it matches"),
            )
            .hits(pod.id.clone())
            .fix(Fix::advice(format!(
                "create a RequestAuthentication in {} that selects the gateway's pods",
                pod.id.namespace
            )));
        }
    }
}

/// The first header match that is none, but asks for a claim of the token.
fn claim(service: &Object) -> Option<&Member> {
    let matches = service
        .spec_list("http")
        .iter()
        .flat_map(|rule| list(rule, "match"));
    let headers = matches.flat_map(|one| {
        ["headers", "withoutHeaders"]
            .into_iter()
            .filter_map(|key| one.get(key))
    });
    headers
        .flat_map(Node::members)
        .find(|member| member.key.starts_with("@request.auth.claims"))
}
