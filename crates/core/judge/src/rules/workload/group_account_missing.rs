//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::absence::holds_in;
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML3901",
    name: "group-account-missing",
    aka: &["KIA1701"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "the service account of every WorkloadGroup exists",
    needs: Inputs::of(&[Kind::WorkloadGroup, Kind::ServiceAccount]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("group_account_missing.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for group in facts.mesh.objects.of_kind(Kind::WorkloadGroup) {
        out.examined();
        let Some(node) = group.spec_at(["template", "serviceAccount"]) else {
            continue;
        };
        let name = node
            .str()
            .filter(|name| !name.is_empty())
            .unwrap_or("default");
        let namespace = &group.id.namespace;
        let is_known = holds_in(facts, Kind::ServiceAccount, namespace);
        if name == "default"
            || !is_known
            || facts
                .mesh
                .objects
                .get(Kind::ServiceAccount, namespace, name)
                .is_some()
        {
            continue;
        }
        let message = format!(
            "{} is to run as service account {namespace}/{name}, and there is none",
            group.id
        );
        out.find(
            group.id.clone(),
            message,
            Evidence::of(group, node, "the account"),
        )
        .fix(Fix::advice(
            "name a service account of the namespace, or create it",
        ));
    }
}
