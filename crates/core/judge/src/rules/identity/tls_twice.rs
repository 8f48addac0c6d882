//! See the page beside this file.

use super::tls_port;
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::endpoints::called_service;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::services::Protocol;

pub(super) static RULE: Rule = Rule {
    code: "ML0810",
    name: "tls-twice",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Warning,
    claim: "no DestinationRule starts TLS on a port whose clients start it themselves",
    needs: Inputs::of(&[Kind::ServiceEntry, Kind::DestinationRule]),
    uses: Inputs::of(&[Kind::Service, Kind::Pod, Kind::Sidecar]),
    explains: &["ML0817", "ML10"],
    docs: include_str!("tls_twice.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for port in tls_port::ports(facts, case) {
        out.examined();
        if !matches!(port.protocol, Protocol::Https | Protocol::Tls) {
            continue;
        }
        let Some((rule, tls)) = port.client_tls(facts, case) else {
            continue;
        };
        let Some(mode) = tls
            .get("mode")
            .filter(|mode| matches!(mode.str(), Some("SIMPLE" | "MUTUAL")))
        else {
            continue;
        };
        let message = format!(
            "{} starts TLS to {}:{}, where clients start it themselves, as {} says: the server gets TLS inside TLS",
            rule.id, port.host, port.number, port.object.id
        );
        let finding = out.find(
            rule.id.clone(),
            message,
            Evidence::of(rule, mode, "the proxy starts TLS"),
        );
        finding.see(Evidence::of(
            port.object,
            port.node,
            "the port's protocol: the client starts TLS",
        ));
        finding.hits(port.object.id.clone());
        if let Some(client) = case.and_then(|case| called_service::client_pod(facts, case)) {
            finding.hits(client.id.clone());
        }
        if case.is_some_and(|case| case.seen.is_some_and(crate::rules::Symptom::is_success)) {
            finding.severity(Severity::Info);
        } else if case.is_some() {
            finding.severity(Severity::Error);
        }
        finding.fix(Fix::patch(&rule.id, [Op::remove(rule.path_of(tls))]));
        finding.fix(Fix::advice(
            "or let clients speak plain HTTP to a port whose protocol is HTTP",
        ));
    }
}
