//! See the page beside this file.

use super::credential;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;

pub(super) static RULE: Rule = Rule {
    code: "ML2205",
    name: "credential-unknown",
    aka: &["IST0101"],
    rung: Rung::Config,
    severity: Severity::Error,
    claim: "the Secret that a Gateway names is in the namespace of its pods",
    needs: Inputs::of(&[Kind::Gateway, Kind::Pod, Kind::Secret]),
    uses: Inputs::NONE,
    explains: &[],
    docs: include_str!("credential_unknown.md"),
    check: Check::Object(check),
};

fn check(facts: &Facts<'_>, out: &mut Sink) {
    for named in credential::all(facts) {
        out.examined();
        if named.secret.is_some() {
            continue;
        }
        let message = format!(
            "{} names the credential {}, and {}, where its pods run, has no such Secret",
            named.gateway.id, named.name, named.namespace
        );
        out.find(
            named.gateway.id.clone(),
            message,
            Evidence::of(named.gateway, named.node, "the Secret it names"),
        )
        .fix(Fix::advice(format!(
            "create Secret {} in {}",
            named.name, named.namespace
        )));
    }
}
