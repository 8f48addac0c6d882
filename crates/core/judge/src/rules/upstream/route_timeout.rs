//! See the page beside this file.

use crate::finding::{Confidence, Evidence, Fix, Op, Rung, Severity};
use crate::rules::accounts::{self, Account};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{Inputs, Part};
use meshladder_mesh::Object;
use meshladder_mesh::services::number;
use meshladder_text::duration::milliseconds;
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML1016",
    name: "route-timeout",
    aka: &[],
    rung: Rung::Upstream,
    severity: Severity::Error,
    claim: "the route waits as long as the work takes",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Pod]),
    uses: Inputs::of(&[Kind::Service, Kind::ServiceEntry, Kind::Sidecar])
        .and(&[Part::Proxies, Part::Logs]),
    explains: &[],
    docs: include_str!("route_timeout.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    out.examined();
    let timed_out = |told: &Account<'_>| told.has("UT") || told.details == "response_timeout";
    let told = accounts::of(facts, case).into_iter().find(timed_out);
    let is_seen = case.seen.is_some_and(|seen| seen.has("UT"));
    if told.is_none() && !is_seen {
        return;
    }
    // Who never got a connection waits for another reason.
    if accounts::unconnected(case).is_some() {
        return;
    }
    let waited = told.as_ref().and_then(|told| told.line?.duration);
    let services = accounts::virtual_services(facts, case);
    let timeouts = services.iter().flat_map(|service| {
        timeouts(service)
            .into_iter()
            .map(move |found| (*service, found))
    });
    // The wait is the timeout, give or take what the proxy itself needs.
    let fits = |ms: u64, tries: u64| {
        let most = tries * (ms + ms / 2) + 200;
        ms > 0 && waited.is_none_or(|waited| ms <= waited + 50 && waited <= most)
    };
    let Some((service, (node, ms, _))) = timeouts
        .into_iter()
        .find(|(_, (_, ms, tries))| fits(*ms, *tries))
    else {
        return told.map_or((), |told| slow(facts, case, told, out));
    };
    let text = node.str().unwrap_or_default();
    let message = format!(
        "{} lets {} wait for {text} only, and the application takes longer",
        service.id,
        accounts::call(case)
    );
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, node, "the timeout"),
    );
    if let Some(told) = told {
        finding.see(told.proof);
    }
    for pod in case.client.iter().chain(&case.servers) {
        finding.hits(pod.reference());
    }
    let at = service.path_of(node);
    let longer = format!("{}s", (ms * 10).div_ceil(1000).max(10));
    finding.fix(Fix::patch(&service.id, [Op::replace(at, longer)]));
    finding.fix(Fix::advice("or make the application answer sooner"));
}

/// No route's timeout fits: the caller may have set one in a header, and the work is slow in any
/// case.
fn slow(facts: &Facts<'_>, case: &Case<'_>, told: Account<'_>, out: &mut Sink) {
    let server = case.servers.first().map(|server| server.workload());
    let Some(server) =
        server.or_else(|| accounts::outside(facts, case).map(|entry| entry.id.clone()))
    else {
        return;
    };
    // A route was shortened and is longer now: the proxy may not have heard of it yet.
    if !case.client_log.iter().any(|line| line.has("UT")) {
        return;
    }
    let waited = told.line.and_then(|line| line.duration).unwrap_or_default();
    let message = format!(
        "the application of {server} does not answer {} within {waited} ms, and no VirtualService sets that timeout",
        accounts::call(case)
    );
    let finding = out.find(server, message, told.proof);
    finding
        .hits
        .extend(case.servers.first().map(|server| server.reference()));
    finding.confidence(Confidence::Possible);
    finding.fix(Fix::advice(
        "see whether the caller sends x-envoy-upstream-rq-timeout-ms, and why the application is slow",
    ));
}

/// `timeout` and `perTryTimeout` of every route, in milliseconds, and how often a request may wait
/// for it.
fn timeouts(service: &Object) -> Vec<(&Node, u64, u64)> {
    let mut found = Vec::new();
    for route in service.spec_list("http") {
        // "The default is 2"
        let retries = route
            .at(["retries", "attempts"])
            .and_then(number)
            .map_or(2, u64::from);
        let nodes = [
            (route.get("timeout"), 1),
            (route.at(["retries", "perTryTimeout"]), retries + 1),
        ];
        let read = |node: &Node| milliseconds(node.str()?);
        found.extend(
            nodes
                .into_iter()
                .filter_map(|(node, tries)| Some((node?, read(node?)?, tries))),
        );
    }
    found
}
