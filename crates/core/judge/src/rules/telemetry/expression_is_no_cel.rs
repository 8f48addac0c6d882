//! See the page beside this file.

use super::cel;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::analyzed::list;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML3106",
    name: "expression-is-no-cel",
    aka: &[],
    rung: Rung::Telemetry,
    severity: Severity::Warning,
    claim: "the expressions of a Telemetry are CEL",
    needs: Inputs::of(&[Kind::Telemetry]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("expression_is_no_cel.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for telemetry in facts.mesh.objects.of_kind(Kind::Telemetry) {
        let filters = telemetry
            .spec_list("accessLogging")
            .iter()
            .filter_map(|log| log.at(["filter", "expression"]));
        let overrides = telemetry
            .spec_list("metrics")
            .iter()
            .flat_map(|metrics| list(metrics, "overrides"));
        let tags = overrides
            .filter_map(|one| one.get("tagOverrides"))
            .flat_map(Node::members);
        let values = tags.filter_map(|tag| tag.value.get("value"));
        for node in filters.chain(values) {
            out.examined();
            let Some(what) = node
                .str()
                .filter(|text| !text.trim().is_empty())
                .and_then(cel::problem)
            else {
                continue;
            };
            let message = format!("an expression of {} is no CEL: {what}", telemetry.id);
            out.find(
                telemetry.id.clone(),
                message,
                Evidence::of(telemetry, node, "the expression"),
            )
            .fix(Fix::advice(
                "write it as CEL: `&&`, `||`, `==`, quotes around text",
            ));
        }
    }
}
