//! See the page beside this file.

use super::effect;
use crate::doc::json::escape;
use crate::finding::{Fix, Rung, Severity};
use crate::mesh::traffic::StepKind;
use crate::rules::{Asked, Check, Facts, Rule, Sink};

pub(super) static RULE: Rule = Rule {
    code: "ML0602",
    name: "virtual-service-not-exported",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "every VirtualService is exported to the namespaces whose calls it should route",
    needs: &["k8s/virtualservices.networking.istio.io.json", "k8s/services.json"],
    uses: effect::USES,
    explains: &[],
    docs: include_str!("virtual_service_not_exported.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, asked: Option<&Asked<'_>>, out: &mut Sink) {
    out.examined += facts.mesh.objects.of_kind("VirtualService").len();
    for lost in effect::lost_at(facts, asked, StepKind::Exported) {
        let service = &lost.service.id;
        let why = lost.at().map_or("", |step| &step.why);
        let message = match asked.and_then(|asked| asked.client) {
            Some(client) => format!(
                "{service} is {why}, so proxies in {} never get it{}",
                client.namespace,
                lost.without.as_ref().map_or_else(String::new, |without| format!(": {without} is not applied"))
            ),
            None => format!("{service} is {why}, where no proxy is that could use it"),
        };
        let finding = out.find(service.clone(), message, lost.proof());
        lost.tell(finding);
        if let Some(client) = asked.and_then(|asked| asked.client) {
            let to = lost.service.spec_strings("exportTo").filter(|to| *to != "~").map(escape);
            let to: Vec<_> = to.chain([escape(&client.namespace)]).collect();
            finding.fix(Fix::merge(service, format!("{{\"spec\":{{\"exportTo\":[{}]}}}}", to.join(","))));
        }
        finding.fix(Fix::merge(service, "{\"spec\":{\"exportTo\":[\"*\"]}}"));
    }
}
