//! See the page beside this file.

use crate::finding::{Evidence, Fix, Rung, Severity, Subject};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Inputs};

pub(super) static RULE: Rule = Rule {
    code: "ML0619",
    name: "upgrade-refused",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Error,
    claim: "the proxies allow the upgrade that the request asks for",
    needs: Inputs::NONE,
    uses: Inputs::of(&[Kind::Service]),
    explains: &[],
    docs: include_str!("upgrade_refused.md"),
    check: Check::Request(check),
};

const DETAILS: &str = "upgrade_failed";

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    let header = |name: &str| {
        case.call
            .headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    };
    let line = case
        .client_log
        .iter()
        .chain(&case.server_log)
        .find(|line| line.details == DETAILS);
    let seen = case
        .seen
        .is_some_and(|seen| seen.details.as_deref() == Some(DETAILS))
        || case.trace.outcome.details == DETAILS;
    out.examined();
    // A log tells of other requests too; what was seen of this one goes before.
    let told = line.filter(|line| case.seen.is_none_or(|seen| seen.code == line.code));
    if !seen && told.is_none() {
        return;
    }
    let what = header("upgrade").map_or_else(
        || "the upgrade".to_owned(),
        |kind| format!("the upgrade to {kind}"),
    );
    let port = case.call.to.port;
    let service = case
        .service
        .and_then(|service| facts.mesh.service(&service.namespace, &service.name));
    let hop = case.trace.hops.first();
    let proxy = hop.map_or_else(String::new, |hop| hop.proxy.namespaced_name());
    let dump = || {
        Evidence::document(
            &DocId::new(format!("proxies/{proxy}/config_dump.json")),
            "its upgrade_configs",
        )
    };
    let logged = told
        .map(|line| Evidence::line(&DocId::new(&line.doc), line.number, "the proxy refused it"));
    let proof = logged.unwrap_or_else(dump);
    let subject = service.map_or_else(
        || Subject::Request,
        |service| Subject::from(service.id.clone()),
    );
    let message = format!(
        "a proxy refuses {what} on port {port} of {}: it allows websocket only",
        case.host
    );
    let finding = out.find(subject, message, proof);
    finding
        .hits
        .extend(case.client.map(meshladder_mesh::PodFacts::reference));
    finding.fix(Fix::advice(format!(
        "declare port {port} as tcp, so that proxies pass the bytes on, or allow the upgrade with an EnvoyFilter \
         (upgrade_configs of the connection manager)"
    )));
}
