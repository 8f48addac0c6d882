//! See the page beside this file.

use super::effect;
use crate::finding::{Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::traffic::StepKind;
use meshladder_text::shell;
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML0601",
    name: "virtual-service-not-for-sidecars",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "every VirtualService for a Service of the mesh acts for the sidecars that call it",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Service]),
    uses: effect::USES,
    explains: &[],
    docs: include_str!("virtual_service_not_for_sidecars.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    out.examined += facts.mesh.objects.of_kind(Kind::VirtualService).len();
    for lost in effect::lost_at(facts, case, StepKind::GatewayBound) {
        let full = facts.mesh.domain.fqdn(
            lost.host.str().unwrap_or_default(),
            &lost.service.id.namespace,
        );
        // A host that is no Service's is for clients outside the mesh.
        if facts.mesh.registered(&full).next().is_none() {
            continue;
        }
        let service = &lost.service.id;
        let message = format!(
            "{service} does not act for sidecars that call {full}: its gateways do not name mesh{}",
            lost.consequence()
        );
        let finding = out.find(service.clone(), message, lost.proof());
        lost.tell(finding);
        let mut gateways = vec!["mesh"];
        gateways.extend(lost.service.spec_strings("gateways"));
        finding.fix(Fix::merge(
            service,
            Value::nested(["spec", "gateways"], gateways),
        ));
        if let Some(pod) = lost.hits.iter().find(|hit| hit.is(Kind::Pod)) {
            finding.fix(Fix::look(shell::command(
                "meshladder pc route {}.{}",
                &[&pod.name, &pod.namespace],
            )));
        }
    }
}
