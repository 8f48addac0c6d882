//! See the page beside this file.

use super::selection::is_default;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML3103",
    name: "two-default-telemetries",
    aka: &["IST0160"],
    rung: Rung::Telemetry,
    severity: Severity::Error,
    claim: "a namespace has one Telemetry without a selector",
    needs: Inputs::of(&[Kind::Telemetry]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("two_default_telemetries.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let telemetries = facts.mesh.objects.of_kind(Kind::Telemetry);
    for of_namespace in telemetries.chunk_by(|a, b| a.id.namespace == b.id.namespace) {
        out.examined();
        let defaults: Vec<_> = of_namespace
            .iter()
            .filter(|telemetry| is_default(telemetry))
            .collect();
        let [first, second, ..] = defaults[..] else {
            continue;
        };
        for telemetry in defaults {
            let other = if telemetry.id == first.id {
                second
            } else {
                first
            };
            let message = format!(
                "{} and {} are both for all pods of the namespace, and only one of them counts",
                telemetry.id, other.id
            );
            out.find(
                telemetry.id.clone(),
                message,
                Evidence::object(telemetry, "no selector"),
            )
            .fix(Fix::advice("make them one, or give all but one a selector"));
        }
    }
}
