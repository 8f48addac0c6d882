//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::analyzed::{containers, list};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML2604",
    name: "jwks-fetch-unrestricted",
    aka: &["IST0175"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "istiod fetches keys for tokens only from addresses that are meant to be reached",
    needs: Inputs::of(&[Kind::RequestAuthentication, Kind::Deployment]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("jwks_fetch_unrestricted.md"),
    check: Check::Object(check),
};

const VARIABLE: &str = "BLOCKED_CIDRS_IN_JWKS_URIS";

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let policies = facts
        .mesh
        .objects
        .of_kind(Kind::RequestAuthentication)
        .iter();
    let fetching: Vec<&Object> = policies.filter(|policy| fetches(policy)).collect();
    let Some(first) = fetching.first() else {
        return;
    };
    let is_istiod = |deployment: &&Object| deployment.label("app") == Some("istiod");
    for istiod in facts
        .mesh
        .objects
        .of_kind(Kind::Deployment)
        .iter()
        .filter(is_istiod)
    {
        out.examined();
        let Some(spec) = istiod.spec_at(["template", "spec"]) else {
            continue;
        };
        if containers(spec)
            .flat_map(|container| list(container, "env"))
            .any(blocks)
        {
            continue;
        }
        let others = match fetching.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        let message = format!(
            "{} fetches what {}{others} names, from whatever address, because {VARIABLE} is not set",
            istiod.id, first.id
        );
        let finding = out.find(
            istiod.id.clone(),
            message,
            Evidence::object(istiod, "no such variable"),
        );
        for policy in fetching.iter().take(5) {
            finding.see(Evidence::object(policy, "keys are fetched for it"));
        }
        finding.fix(Fix::advice(format!(
            "set {VARIABLE} of istiod to the ranges that hold no issuer of tokens"
        )));
    }
}

/// Keys that are written in the policy are not fetched.
fn fetches(policy: &Object) -> bool {
    policy
        .spec_list("jwtRules")
        .iter()
        .any(|rule| rule.str_at("jwks").is_none_or(str::is_empty))
}

/// A value from elsewhere may well be one.
fn blocks(variable: &Node) -> bool {
    let is_set = variable
        .str_at("value")
        .is_some_and(|value| !value.is_empty());
    variable.str_at("name") == Some(VARIABLE) && (is_set || variable.get("valueFrom").is_some())
}
