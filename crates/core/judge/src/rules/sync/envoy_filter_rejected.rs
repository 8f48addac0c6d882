//! See the page beside this file.

use super::rejection::{self, Blame};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_text::shell;

pub(super) static RULE: Rule = Rule {
    code: "ML0404",
    name: "envoy-filter-rejected",
    aka: &["IST0151", "IST0152", "IST0153", "IST0154", "IST0155"],
    rung: Rung::Sync,
    severity: Severity::Error,
    claim: "no EnvoyFilter makes a proxy refuse its configuration",
    needs: Inputs::of(&[Kind::Pod]),
    uses: super::rejection::USES,
    explains: &["ML0313", "ML05", "ML06", "ML07", "ML08", "ML09", "ML10"],
    docs: include_str!("envoy_filter_rejected.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for rejection in rejection::all(facts) {
        out.examined();
        let Blame::EnvoyFilter(filter, patch) = rejection.blame(facts) else {
            continue;
        };
        let message = format!(
            "{} makes {} refuse every {} update, so later changes do not arrive: {}",
            filter.id,
            rejection.whom(),
            rejection.kind,
            rejection.said()
        );
        let finding = out.find(
            filter.id.clone(),
            message,
            Evidence::of(filter, patch, "the patch"),
        );
        rejection.finish(finding);
        finding.fixes.extend(accounts::without_patch(filter, patch));
        finding.fix(Fix::look(shell::command(
            "kubectl get envoyfilter {} -n {} -o yaml",
            &[&filter.id.name, &filter.id.namespace],
        )));
    }
}
