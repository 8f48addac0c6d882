//! See the page beside this file.

use std::collections::BTreeSet;

use super::effect;
use crate::finding::{Evidence, Fix, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::export::export_node;
use meshladder_mesh::gateways::{gateway_name, servers};
use meshladder_mesh::scope::is_router;
use meshladder_mesh::traffic::{StepKind, binds_mesh, hosts};
use meshladder_mesh::{Object, PodFacts};
use meshladder_text::tree::Value;

pub(super) static RULE: Rule = Rule {
    code: "ML0602",
    name: "virtual-service-not-exported",
    aka: &[],
    rung: Rung::Routing,
    severity: Severity::Warning,
    claim: "every VirtualService is exported to the namespaces whose calls it should route",
    needs: Inputs::of(&[Kind::VirtualService, Kind::Service]),
    uses: effect::USES,
    explains: &["ML0612"],
    docs: include_str!("virtual_service_not_exported.md"),
    check: Check::Either(check),
};

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    out.examined += facts.mesh.objects.of_kind(Kind::VirtualService).len();
    for lost in effect::lost_at(facts, case, StepKind::Exported) {
        let service = &lost.service.id;
        let why = lost.at().map_or("", |step| &step.why);
        let message = match case.and_then(|case| case.client) {
            Some(client) => format!(
                "{service} is {why}, so proxies in {} never get it{}",
                client.namespace,
                lost.without
                    .as_ref()
                    .map_or_else(String::new, |without| format!(": {without} is not applied"))
            ),
            None => format!("{service} is {why}, where no proxy is that could use it"),
        };
        let finding = out.find(service.clone(), message, lost.proof());
        lost.tell(finding);
        if let Some(client) = case.and_then(|case| case.client) {
            let to = lost
                .service
                .spec_strings("exportTo")
                .filter(|to| *to != "~");
            let to: Vec<_> = to.chain([client.namespace.as_str()]).collect();
            finding.fix(Fix::merge(service, Value::nested(["spec", "exportTo"], to)));
        }
        finding.fix(Fix::merge(
            service,
            Value::nested(["spec", "exportTo"], ["*"]),
        ));
    }
    if case.is_none() {
        kept_close(facts, out);
        kept_from_gateways(facts, out);
    }
}

/// One that names Gateways whose pods all stand where it is not exported to.
fn kept_from_gateways(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::VirtualService) {
        let Some(node) = export_node(service) else {
            continue;
        };
        let named = service
            .spec_strings("gateways")
            .filter(|entry| *entry != "mesh")
            .filter_map(|entry| {
                let (namespace, name) = gateway_name(entry, &service.id.namespace);
                facts.mesh.gateway(namespace, name)
            });
        let takes = |gateway: &&Object| {
            let hosts = service.spec_list("hosts");
            servers(gateway).any(|server| {
                hosts
                    .iter()
                    .any(|host| server.takes(service, host, &facts.mesh.domain))
            })
        };
        let pods: Vec<&Object> = named
            .filter(takes)
            .flat_map(|gateway| facts.mesh.gateway_pods(gateway))
            .collect();
        let sees = |pod: &&Object| facts.mesh.is_exported_to(service, &pod.id.namespace);
        let Some(first) = pods.first().filter(|_| !pods.iter().any(sees)) else {
            continue;
        };
        let message = format!(
            "{} is not exported to {}, where the pods of its Gateways are, so they never get it",
            service.id, first.id.namespace
        );
        let finding = out.find(
            service.id.clone(),
            message,
            Evidence::of(service, node, "who gets it"),
        );
        finding.hits.extend(pods.iter().map(|pod| pod.id.clone()));
        finding.fix(Fix::merge(
            &service.id,
            Value::nested(["spec", "exportTo"], ["*"]),
        ));
    }
}

/// One that some namespaces get and others do not is often meant so; who asks why it has no effect
/// wants to know.
fn kept_close(facts: &Facts<'_>, out: &mut Sink) {
    for service in facts
        .mesh
        .objects
        .of_kind(Kind::VirtualService)
        .iter()
        .filter(|service| binds_mesh(service))
    {
        let Some(node) = export_node(service) else {
            continue;
        };
        let called = hosts(service, &facts.mesh.domain)
            .find_map(|(_, host)| facts.mesh.service_of_host(&host));
        let Some(called) = called.filter(|called| called.id.namespace == service.id.namespace)
        else {
            continue;
        };
        let is_sidecar = |pod: &PodFacts| {
            let stored = facts.mesh.objects.get(Kind::Pod, &pod.namespace, &pod.name);
            pod.has_proxy && pod.running && stored.is_some_and(|stored| !is_router(stored))
        };
        let proxies = facts.mesh.pods.iter().filter(|pod| is_sidecar(pod));
        let without: BTreeSet<&str> = proxies
            .map(|pod| pod.namespace.as_str())
            .filter(|ns| {
                facts.mesh.is_exported_to(called, ns) && !facts.mesh.is_exported_to(service, ns)
            })
            .collect();
        let has_some = facts
            .mesh
            .pods
            .iter()
            .any(|pod| facts.mesh.is_exported_to(service, &pod.namespace));
        if without.is_empty() || !has_some {
            continue;
        }
        let names: Vec<&str> = without.into_iter().collect();
        let message = format!(
            "{} is not exported to {}: proxies there call {} without it",
            service.id,
            names.join(", "),
            called.id
        );
        let finding = out.find(
            service.id.clone(),
            message,
            Evidence::of(service, node, "who gets it"),
        );
        finding
            .severity(Severity::Info)
            .when_asked(Severity::Warning);
        finding.fix(Fix::merge(
            &service.id,
            Value::nested(["spec", "exportTo"], ["*"]),
        ));
    }
}
