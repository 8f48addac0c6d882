//! See the page beside this file.

use super::matches::idle;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2011",
    name: "match-never-used",
    aka: &["IST0131"],
    rung: Rung::Config,
    severity: Severity::Info,
    claim: "every match of a VirtualService takes some request",
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("match_never_used.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        out.examined();
        for idle in idle(service).matches {
            let message = format!("{}: {}", service.id, idle.why);
            out.find(
                service.id.clone(),
                message,
                Evidence::of(service, idle.node, "the match"),
            )
            .fix(Fix::advice(
                "put it before the match that takes its requests, or remove it",
            ));
        }
    }
}
