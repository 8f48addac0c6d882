//! See the page beside this file.

use super::selection::{is_ambient, is_ambient_namespace, labels, pods};
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2504",
    name: "sidecar-in-ambient",
    aka: &["IST0167"],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "no Sidecar is for ambient pods",
    needs: Inputs::of(&[Kind::Sidecar]),
    uses: Inputs::of(&[Kind::Namespace, Kind::Pod]),
    explains: &[],
    docs: include_str!("sidecar_in_ambient.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    let has_ambient = facts.mesh.objects.of_kind(Kind::Pod).iter().any(is_ambient);
    for sidecar in facts.mesh.objects.of_kind(Kind::Sidecar) {
        out.examined();
        let why = match labels(sidecar) {
            Some(_) => pods(facts.mesh, sidecar)
                .take_while(|_| has_ambient)
                .find(|pod| is_ambient(pod))
                .map(|pod| format!("selects {}, which is ambient", pod.id)),
            None => is_ambient_namespace(facts.mesh, &sidecar.id.namespace)
                .then(|| "is in an ambient namespace".to_owned()),
        };
        if let Some(why) = why {
            let message = format!("{} {why}, and there is no sidecar to heed it", sidecar.id);
            out.find(
                sidecar.id.clone(),
                message,
                Evidence::object(sidecar, "a Sidecar"),
            )
            .fix(Fix::advice(
                "delete it, or take the pods out of ambient mode",
            ));
        }
    }
}
