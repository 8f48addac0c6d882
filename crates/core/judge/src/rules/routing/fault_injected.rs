//! See the page beside this file.

use super::effect::{self, serving, sidecar};
use super::http_route::{RouteCall, Taken};
use crate::finding::{Evidence, Finding, Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Inputs};
use meshladder_mesh::services::number;
use meshladder_mesh::traffic::hosts;
use meshladder_mesh::{Object, ObjectRef};
use meshladder_text::tree::{Node, Value};

pub(super) static RULE: Rule = Rule {
    code: "ML0609",
    name: "fault-injected",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Error,
    claim: "no VirtualService injects faults",
    needs: Inputs::of(&[Kind::VirtualService]),
    uses: effect::USES,
    explains: &["ML10", "ML07"],
    docs: include_str!("fault_injected.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    let mesh = facts.mesh;
    let Some(case) = case else {
        for service in mesh.objects.of_kind(Kind::VirtualService) {
            out.examined();
            for (place, route) in service.spec_list("http").iter().enumerate() {
                if let Some(fault) = route.get("fault").filter(|fault| acts(fault)) {
                    let severity = if is_for_testers(route) {
                        Severity::Info
                    } else {
                        Severity::Warning
                    };
                    find(facts, service, place, fault, out).severity(severity);
                }
            }
        }
        return;
    };
    let client = sidecar(mesh, case);
    for service in serving(mesh, case, client) {
        out.examined();
        let Taken::Route(place, route) = RouteCall::of(case, client).takes(service) else {
            continue;
        };
        let Some(fault) = route.get("fault").filter(|fault| acts(fault)) else {
            continue;
        };
        let finding = find(facts, service, place, fault, out);
        finding.hits.extend(client.map(|pod| pod.id.clone()));
        for line in case
            .client_log
            .iter()
            .filter(|line| line.has("FI") || line.has("DI"))
            .take(1)
        {
            finding.see(Evidence::line(
                &DocId::new(&line.doc),
                line.number,
                "the proxy logged the fault",
            ));
        }
        finding.severity(severity(case, fault));
    }
}

/// How bad it is for the request: what was seen may have another reason.
fn severity(case: &Case<'_>, fault: &Node) -> Severity {
    let ends = case
        .trace
        .branches
        .iter()
        .any(|branch| branch.end.flags.contains(&"FI"));
    let Some(seen) = case.seen else {
        return if ends {
            Severity::Error
        } else {
            Severity::Warning
        };
    };
    let status = fault.at(["abort", "httpStatus"]).and_then(number);
    if seen.has("FI") || seen.has("DI") || (status == Some(seen.code) && seen.flags.is_empty()) {
        Severity::Error
    } else if seen.is_success() || matches!(seen.code, 0 | 408 | 504) {
        Severity::Warning
    } else {
        Severity::Info
    }
}

fn find<'o>(
    facts: &Facts<'_>,
    service: &Object,
    place: usize,
    fault: &Node,
    out: &'o mut Sink,
) -> &'o mut Finding {
    let message = format!("{} injects a fault: it {}", service.id, in_words(fault));
    let proof = Evidence::of(service, fault, "the fault");
    let finding = out.find(service.id.clone(), message, proof);
    for (_, host) in hosts(service, &facts.mesh.domain) {
        if let Some((name, namespace)) = facts.mesh.domain.service_name(&host) {
            finding.hits(ObjectRef::of(Kind::Service, namespace, name));
        }
    }
    finding.fix(Fix::patch(
        &service.id,
        [Op::remove(format!("/spec/http/{place}/fault"))],
    ));
    if service.spec_list("http").len() == 1 {
        finding.fix(Fix::delete(&service.id));
    }
    finding
}

/// `answers 100 % of requests with 503 without sending them on`
fn in_words(fault: &Node) -> String {
    let share = |part: &Node| match part.at(["percentage", "value"]).map(Node::to_json) {
        Some(value) => format!("{value} % of requests"),
        None => "requests".to_owned(),
    };
    let abort = fault.get("abort").map(|abort| {
        let status = ["httpStatus", "grpcStatus", "http2Error"]
            .into_iter()
            .find_map(|key| abort.get(key));
        let status = status.map(Node::to_json).unwrap_or_default();
        format!(
            "answers {} with {} without sending them on",
            share(abort),
            status.trim_matches('"')
        )
    });
    let delay = fault.get("delay").map(|delay| {
        let time = delay
            .str_at("fixedDelay")
            .or_else(|| delay.str_at("exponentialDelay"))
            .unwrap_or("some time");
        format!("delays {} by {time}", share(delay))
    });
    delay
        .into_iter()
        .chain(abort)
        .collect::<Vec<_>>()
        .join(" and ")
}

/// Whether it hits anybody: an explicit zero does not.
fn acts(fault: &Node) -> bool {
    let zero = |part: &Node| {
        let value = part.at(["percentage", "value"]).map(|value| &value.value);
        matches!(value, Some(Value::Number(text)) if text.parse::<f64>().is_ok_and(|share| share <= 0.0))
    };
    ["abort", "delay"]
        .into_iter()
        .filter_map(|key| fault.get(key))
        .any(|part| !zero(part))
}

/// Whether only requests with a certain header get it.
fn is_for_testers(route: &Node) -> bool {
    let blocks = route.get("match").map_or(&[][..], Node::items);
    let asks = |block: &Node| {
        ["headers", "queryParams", "sourceLabels"]
            .iter()
            .any(|key| block.get(key).is_some())
    };
    !blocks.is_empty() && blocks.iter().all(asks)
}
