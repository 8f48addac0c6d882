//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2153",
    name: "subset-without-labels",
    aka: &["KIA0209"],
    rung: Rung::Config,
    severity: Severity::Info,
    claim: "every subset has labels or a traffic policy of its own",
    needs: Inputs::of(&[Kind::DestinationRule]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("subset_without_labels.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for rule in facts.mesh.objects.of_kind(Kind::DestinationRule) {
        for subset in rule.spec_list("subsets") {
            out.examined();
            let has_labels = subset
                .get("labels")
                .is_some_and(|labels| !labels.members().is_empty());
            // Without labels it is a name for all pods, under which another policy holds.
            if has_labels
                || subset
                    .get("trafficPolicy")
                    .is_some_and(|policy| !policy.members().is_empty())
            {
                continue;
            }
            let name = subset.str_at("name").unwrap_or_default();
            let message = format!(
                "subset {name} of {} has no labels, so all pods of the host are in it",
                rule.id
            );
            out.find(
                rule.id.clone(),
                message,
                Evidence::of(rule, subset, "no labels"),
            )
            .fix(Fix::advice("give it the labels of its pods"));
        }
    }
}
