//! See the page beside this file.

use crate::finding::{Fix, Rung, Severity, Subject};
use crate::rules::accounts;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::ObjectRef;

pub(super) static RULE: Rule = Rule {
    code: "ML1006",
    name: "grpc-hides-failure",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Info,
    claim: "a failed request does not have status 200",
    needs: Inputs::NONE.and(&[Part::Logs]),
    uses: Inputs::of(&[Kind::Pod]),
    explains: &[],
    docs: include_str!("grpc_hides_failure.md"),
    check: Check::Request(check),
};

fn check(_: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let mut lines = case.server_log.iter().chain(&case.client_log);
    let Some(line) = lines.find(|line| line.code == 200 && !line.flags.is_empty()) else {
        return;
    };
    let message = format!(
        "{} failed with {} although its status is 200: gRPC has the failure in its trailer, so alerts on the status stay quiet",
        accounts::call(case),
        line.flags.join(",")
    );
    let subject = case.service.map_or_else(
        || Subject::Request,
        |service| {
            Subject::from(ObjectRef::of(
                Kind::Service,
                &service.namespace,
                &service.name,
            ))
        },
    );
    let finding = out.find(subject, message, accounts::line_shows(line));
    finding.fix(Fix::advice(
        "alert on response flags and grpc-status, not on the HTTP status",
    ));
}
