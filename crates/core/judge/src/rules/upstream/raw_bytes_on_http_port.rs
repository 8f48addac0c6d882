//! See the page beside this file.

use crate::finding::{Confidence, Evidence, Fix, Op, Rung, Severity};
use crate::rules::accounts;
use crate::rules::{Case, Check, Facts, Rule, Sink, Symptom};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_sim::walk::Scheme;

pub(super) static RULE: Rule = Rule {
    code: "ML1013",
    name: "raw-bytes-on-http-port",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "what is not HTTP goes to a port that is not declared HTTP",
    needs: Inputs::of(&[Kind::Service]),
    uses: Inputs::of(&[Kind::Pod]),
    explains: &[],
    docs: include_str!("raw_bytes_on_http_port.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    if case.call.to.scheme != Scheme::Tcp || case.seen.is_some_and(Symptom::is_success) {
        return;
    }
    let Some((service, port)) =
        accounts::called_port(facts, case).filter(|(_, port)| port.protocol.is_http())
    else {
        return;
    };
    let how = port.app_protocol.unwrap_or(port.name);
    let message = format!(
        "port {} of {} is declared {how}, so proxies expect HTTP there and close connections that speak something else",
        port.number, service.id
    );
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, port.node, "the declaration"),
    );
    finding.confidence(Confidence::Likely);
    for pod in &case.servers {
        finding.hits(pod.reference());
    }
    let at = service.path_of(port.node);
    let key = if port.app_protocol.is_some() {
        "appProtocol"
    } else {
        "name"
    };
    let value = if key == "name" {
        format!("tcp-{}", port.number)
    } else {
        "tcp".to_owned()
    };
    finding.fix(Fix::patch(
        &service.id,
        [Op::replace(format!("{at}/{key}"), value)],
    ));
}
