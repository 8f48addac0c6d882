//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::absence::{holds, is_complete};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML3007",
    name: "grant-for-unknown-namespace",
    aka: &["KIA1601"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every namespace that a ReferenceGrant is for exists",
    needs: Inputs::of(&[Kind::ReferenceGrant, Kind::Namespace]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("grant_for_unknown_namespace.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    if !holds(facts, Kind::Namespace) {
        return;
    }
    for grant in facts.mesh.objects.of_kind(Kind::ReferenceGrant) {
        for node in grant
            .spec_list("from")
            .iter()
            .filter_map(|from| from.get("namespace"))
        {
            out.examined();
            let name = node.str().unwrap_or_default();
            if name == grant.id.namespace
                || facts.mesh.objects.get(Kind::Namespace, "", name).is_some()
            {
                continue;
            }
            let message = format!("{} is for namespace {name}, and there is none", grant.id);
            let finding = out.find(
                grant.id.clone(),
                message,
                Evidence::of(grant, node, "whom it is for"),
            );
            finding.fix(Fix::advice("name a namespace that exists"));
            // Files hold few of the namespaces that a cluster has.
            if !is_complete(facts, Kind::Namespace) {
                finding.severity(Severity::Info);
            }
        }
    }
}
