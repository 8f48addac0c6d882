//! See the page beside this file.

use std::collections::BTreeMap;

use crate::finding::{Confidence, Evidence, Fix, Op, Rung, Severity, Subject};
use crate::rules::{Case, Check, Facts, Rule, Sink, accounts};
use meshladder_capture::Kind;
use meshladder_capture::access_log::AccessLine;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::services::number;
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML1014",
    name: "request-repeated",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Warning,
    claim: "a request that must not run twice is not retried",
    needs: Inputs::of(&[Kind::VirtualService]).and(&[Part::Logs]),
    uses: Inputs::of(&[Kind::Pod, Kind::Service, Kind::Sidecar]).and(&[Part::Proxies]),
    explains: &[],
    docs: include_str!("request_repeated.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    // "Request methods are considered safe if their defined semantics are essentially read-only";
    // PUT and DELETE are idempotent besides.
    if !["POST", "PATCH"].contains(&case.call.method.as_str()) {
        return;
    }
    let Some(lines) = repeated(&case.server_log) else {
        return;
    };
    let services = accounts::virtual_services(facts, case);
    let retries = services
        .iter()
        .find_map(|service| retries(service).map(|node| (*service, node)));
    if retries.is_some_and(|(_, node)| node.get("attempts").and_then(number) == Some(0)) {
        return;
    }
    let (subject, proof) =
        match retries.or_else(|| services.first().map(|service| (*service, &service.node))) {
            Some((service, node)) => (
                Subject::from(service.id.clone()),
                Evidence::of(service, node, "it does not turn retries off"),
            ),
            None => (service_of(case), accounts::line_shows(lines[0])),
        };
    let message = format!(
        "{} ran {} times for one call: the caller's proxy retries it",
        accounts::call(case),
        lines.len()
    );
    let finding = out.find(subject, message, proof);
    finding.confidence(Confidence::Likely);
    for line in lines.iter().take(3) {
        finding.see(accounts::line_shows(line));
    }
    if let Some((service, node)) = retries {
        let at = service.path_of(node);
        finding.fix(Fix::patch(
            &service.id,
            [Op::add(format!("{at}/attempts"), 0_u16)],
        ));
    }
    finding.fix(Fix::advice(
        "set `retries: {attempts: 0}` on the route, or make the request safe to repeat",
    ));
}

/// The lines of one request id that came several times.
fn repeated(lines: &[AccessLine]) -> Option<Vec<&AccessLine>> {
    let mut by_id: BTreeMap<&str, Vec<&AccessLine>> = BTreeMap::new();
    // What its proxy could not hand to the application did not run.
    let ran = |line: &&AccessLine| !line.request_id.is_empty() && !line.has("UF");
    for line in lines.iter().filter(ran) {
        by_id.entry(&line.request_id).or_default().push(line);
    }
    by_id.into_values().find(|lines| lines.len() > 1)
}

fn retries(service: &Object) -> Option<&Node> {
    service
        .spec_list("http")
        .iter()
        .find_map(|route| route.get("retries"))
}

fn service_of(case: &Case<'_>) -> Subject {
    case.service.map_or_else(
        || Subject::Request,
        |service| {
            Subject::from(ObjectRef::of(
                Kind::Service,
                &service.namespace,
                &service.name,
            ))
        },
    )
}
