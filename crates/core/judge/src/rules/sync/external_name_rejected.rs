//! See the page beside this file.

use super::rejection::{self, Blame};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML0406",
    name: "external-name-rejected",
    aka: &["IST0150"],
    rung: Rung::Sync,
    severity: Severity::Error,
    claim: "no ExternalName Service breaks the routes of its port",
    needs: Inputs::of(&[Kind::Pod]),
    uses: super::rejection::USES,
    explains: &["ML0313", "ML05", "ML06", "ML07", "ML08", "ML09", "ML10"],
    docs: include_str!("external_name_rejected.md"),
    check: Check::Mesh(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for rejection in rejection::all(facts) {
        out.examined();
        let Blame::ExternalName(service) = rejection.blame(facts) else {
            continue;
        };
        let message = format!(
            "{} of type ExternalName makes {} refuse {}, which takes all routes of its port with it: {}",
            service.id,
            rejection.whom(),
            rejection.kind,
            rejection.said()
        );
        let proof = Evidence::of(
            service,
            service.spec().unwrap_or(&service.node),
            "the Service",
        );
        let finding = out.find(service.id.clone(), message, proof);
        rejection.finish(finding);
        finding.fix(Fix::delete(&service.id));
        finding.fix(Fix::advice(
            "give the Service an externalName that is a host name, or replace it by a ServiceEntry",
        ));
    }
}
