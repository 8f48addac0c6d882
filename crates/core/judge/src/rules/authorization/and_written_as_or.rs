//! See the page beside this file.

use super::denial::{action_of, is_dry_run};
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0907",
    name: "and-written-as-or",
    aka: &[],
    rung: Rung::Authorization,
    severity: Severity::Info,
    claim: "who may call and what may be called stand in one rule",
    needs: Inputs::of(&[Kind::AuthorizationPolicy]),
    uses: Inputs::of(&[Kind::Pod, Kind::ConfigMap]),
    explains: &[],
    docs: include_str!("and_written_as_or.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for policy in facts.mesh.objects.of_kind(Kind::AuthorizationPolicy) {
        let is_met = case.is_none_or(|case| {
            case.servers
                .iter()
                .any(|pod| facts.mesh.reaches(&policy.id, &pod.reference()))
        });
        if !is_met || is_dry_run(policy) {
            continue;
        }
        out.examined();
        let rules = policy.spec_list("rules");
        let has =
            |rule: &Node, key: &str| rule.get(key).is_some_and(|list| !list.items().is_empty());
        let only = |rule: &Node, key: &str, other: &str| {
            has(rule, key) && !has(rule, other) && !has(rule, "when")
        };
        for (number, pair) in rules.windows(2).enumerate() {
            if !(only(&pair[0], "from", "to") && only(&pair[1], "to", "from")) {
                continue;
            }
            let message = format!(
                "rule {number} of {} says only who and rule {} only what, so each of them alone is enough to {}",
                policy.id,
                number + 1,
                action_of(policy)
            );
            let finding = out.find(
                policy.id.clone(),
                message,
                Evidence::of(policy, &pair[1], "a rule of its own"),
            );
            finding
                .confidence(Confidence::Possible)
                .when_asked(Severity::Warning);
            // Who asks why a call works expected that it does not.
            if case.is_some_and(|case| case.seen.is_some_and(Symptom::is_success))
                && action_of(policy) == "ALLOW"
            {
                finding.severity(Severity::Warning);
            }
            finding
                .fix(Fix::advice("if both must hold, take away the dash before `to`, so that the two become one rule"));
        }
    }
}
