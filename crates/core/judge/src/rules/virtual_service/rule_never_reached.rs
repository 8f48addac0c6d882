//! See the page beside this file.

use super::matches::idle;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2010",
    name: "rule-never-reached",
    aka: &["IST0130"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every rule of a VirtualService is reached by some request",
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("rule_never_reached.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        out.examined();
        for idle in idle(service).rules {
            let message = format!("{}: {}", service.id, idle.why);
            out.find(
                service.id.clone(),
                message,
                Evidence::of(service, idle.node, "the rule"),
            )
            .fix(Fix::advice(
                "put it before the rules that take its requests, or remove it",
            ));
        }
    }
}
