//! See the page beside this file.

use super::effect;
use crate::finding::{Fix, Op, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::traffic::StepKind;

pub(super) static RULE: Rule = Rule {
    code: "ML0604",
    name: "virtual-service-host-unknown",
    aka: &["KIA1101"],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "every host of a VirtualService that looks like a Service's name is one",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Service]),
    uses: effect::USES,
    explains: &[],
    docs: include_str!("virtual_service_host_unknown.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    out.examined += facts.mesh.objects.of_kind(Kind::VirtualService).len();
    for lost in effect::lost_at(facts, case, StepKind::HostKnown) {
        let service = &lost.service.id;
        let written = lost.host.str().unwrap_or_default();
        let full = facts.mesh.domain.fqdn(written, &service.namespace);
        let Some(meant) = effect::means(facts.mesh, lost.host, &full) else {
            continue;
        };
        let in_full = if written == full {
            String::new()
        } else {
            format!(", which means {full},")
        };
        let message = format!(
            "host {written}{in_full} of {service} is no Service; the Service is {meant}{}",
            lost.consequence()
        );
        let finding = out.find(service.clone(), message, lost.proof());
        lost.tell(finding);
        let place = lost
            .service
            .spec_strings("hosts")
            .position(|host| host == written)
            .unwrap_or_default();
        finding.fix(Fix::patch(
            service,
            [Op::replace(format!("/spec/hosts/{place}"), meant)],
        ));
    }
}
