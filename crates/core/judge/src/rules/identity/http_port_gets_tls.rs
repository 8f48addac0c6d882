//! See the page beside this file.

use super::tls_port;
use crate::finding::{Evidence, Fix, Op, Rung, Severity};
use crate::rules::endpoints::called_service;
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_sim::walk::Scheme;

pub(super) static RULE: Rule = Rule {
    code: "ML0811",
    name: "http-port-gets-tls",
    aka: &[],
    rung: Rung::Identity,
    severity: Severity::Error,
    claim: "a port that clients speak TLS to is declared TLS or HTTPS",
    needs: Inputs::of(&[Kind::ServiceEntry]),
    uses: Inputs::of(&[
        Kind::DestinationRule,
        Kind::Service,
        Kind::Pod,
        Kind::Sidecar,
    ]),
    explains: &["ML06", "ML10"],
    docs: include_str!("http_port_gets_tls.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for port in tls_port::ports(facts, case) {
        out.examined();
        let sends_tls = match case {
            Some(case) => case.call.to.scheme == Scheme::Https,
            // Who lets the proxy start TLS speaks plain HTTP to port 443, and may.
            None => port.number == 443 && port.client_tls(facts, None).is_none(),
        };
        if !port.protocol.is_http() || !sends_tls {
            continue;
        }
        let declared = port.node.str_at("protocol").unwrap_or_default();
        let message = format!(
            "{} declares {}:{} as {declared}, so proxies expect plain HTTP there, and clients send TLS",
            port.object.id, port.host, port.number
        );
        let protocol = port.node.get("protocol").unwrap_or(port.node);
        let finding = out.find(
            port.object.id.clone(),
            message,
            Evidence::of(port.object, protocol, "the protocol"),
        );
        if let Some(client) = case.and_then(|case| called_service::client_pod(facts, case)) {
            finding.hits(client.id.clone());
        }
        if case.is_none() {
            finding.severity(Severity::Warning);
        } else if case.is_some_and(|case| case.seen.is_some_and(crate::rules::Symptom::is_success))
        {
            finding.severity(Severity::Info);
        }
        let path = format!("{}/protocol", port.object.path_of(port.node));
        finding.fix(Fix::patch(&port.object.id, [Op::replace(path, "TLS")]));
    }
}
