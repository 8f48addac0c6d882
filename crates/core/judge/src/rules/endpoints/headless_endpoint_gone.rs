//! See the page beside this file.

use super::{called_service, slices};
use crate::finding::{Confidence, Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::{DocId, Inputs, Part};
use meshladder_text::tree::Node;

pub(super) static RULE: Rule = Rule {
    code: "ML0718",
    name: "headless-endpoint-gone",
    aka: &[],
    rung: Rung::Endpoints,
    severity: Severity::Error,
    claim: "clients of a headless Service call addresses that it still has",
    needs: Inputs::of(&[Kind::Service, Kind::Pod, Kind::EndpointSlice]).and(&[Part::Logs]),
    uses: Inputs::NONE,
    explains: &["ML10"],
    docs: include_str!("headless_endpoint_gone.md"),
    check: Check::Request(check),
};

fn check(facts: &Facts<'_>, case: &Case<'_>, out: &mut Sink) {
    for called in called_service::services(facts, Some(case)) {
        if called.service.spec_at(["clusterIP"]).and_then(Node::str) != Some("None") {
            continue;
        }
        out.examined();
        let known = slices::addresses(facts.mesh, called.service, None);
        let is_gone = |host: &str| {
            let address = host.rsplit_once(':').map_or(host, |(address, _)| address);
            !address.is_empty()
                && !known.iter().any(|one| one.address == address)
                && !slices::has_owner(facts.mesh, address)
        };
        // Only the last line tells what happens now.
        let last = case
            .client_log
            .iter()
            .rfind(|line| line.cluster.ends_with(&format!("|{}", called.host(facts))));
        let Some(line) =
            last.filter(|line| !line.upstream_host.is_empty() && is_gone(&line.upstream_host))
        else {
            continue;
        };
        let message = format!(
            "{} still calls {} of the headless {}, an address that it no longer has: whoever resolved the name keeps the old answer",
            case.client.map_or_else(
                || "the client".to_owned(),
                |client| client.workload().to_string()
            ),
            line.upstream_host,
            called.service.id
        );
        let proof = Evidence::line(
            &DocId::new(&line.doc),
            line.number,
            "a call to an address that is gone",
        );
        let finding = out.find(called.service.id.clone(), message, proof);
        finding.confidence(Confidence::Likely);
        called_service::hit(finding, called.service, &[], Some(case));
        finding.fix(Fix::advice(format!(
            "let the client resolve again and reconnect, or give {} a cluster IP so that proxies choose the pod",
            called.service.id
        )));
    }
}
