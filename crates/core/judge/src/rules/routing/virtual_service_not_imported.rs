//! See the page beside this file.

use super::effect;
use crate::finding::{Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::traffic::StepKind;

pub(super) static RULE: Rule = Rule {
    code: "ML0603",
    name: "virtual-service-not-imported",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "every Sidecar imports the VirtualServices for the hosts that its proxies call",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Service, Kind::Sidecar]),
    uses: effect::USES,
    explains: &[],
    docs: include_str!("virtual_service_not_imported.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    out.examined += facts.mesh.objects.of_kind(Kind::Sidecar).len();
    for lost in effect::lost_at(facts, case, StepKind::Imported) {
        let Some((sidecar, _)) = lost.at().and_then(|step| step.by) else {
            continue;
        };
        let service = &lost.service.id;
        let message = format!(
            "{} imports nothing for {} from namespace {}, so its proxies do not get {service}{}",
            sidecar.id,
            lost.host.str().unwrap_or_default(),
            service.namespace,
            lost.consequence()
        );
        let finding = out.find(sidecar.id.clone(), message, lost.proof());
        finding.hits(service.clone());
        lost.tell(finding);
        // Without a port, a listener is for all ports that no other one has.
        let listeners = sidecar.spec_list("egress");
        if let Some(place) = listeners
            .iter()
            .position(|listener| listener.get("port").is_none())
        {
            let entry = format!("{}/*", service.namespace);
            finding.fix(Fix::patch(
                &sidecar.id,
                [Op::add(format!("/spec/egress/{place}/hosts/-"), entry)],
            ));
        }
    }
}
