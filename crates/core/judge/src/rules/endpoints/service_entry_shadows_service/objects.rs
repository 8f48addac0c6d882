//! As the objects alone show it.

use crate::finding::{Evidence, Fix, Severity};
use crate::rules::endpoints::service_entry_shadows_service::leads_elsewhere;
use crate::rules::{Alone, Facts, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::export::Export;

pub(super) const ALONE: Alone = Alone {
    severity: Severity::Warning,
    needs: Inputs::of(&[Kind::ServiceEntry, Kind::Service]),
    uses: Inputs::of(&[Kind::Pod]),
};

pub(super) fn check(facts: &Facts<'_>, out: &mut Sink) {
    for entry in facts.mesh.objects.of_kind(Kind::ServiceEntry) {
        for host in entry.spec_list("hosts") {
            let service = host.str().and_then(|name| facts.mesh.service_of_host(name));
            let Some(service) = service.filter(|service| !service.is_assumed()) else {
                continue;
            };
            out.examined();
            if facts.mesh.export(entry) == Export::Nowhere
                || !leads_elsewhere(facts.mesh, entry, service)
            {
                continue;
            }
            // "its own namespace's, else the Kubernetes Service"
            let namespace = &entry.id.namespace;
            let so = if *namespace == service.id.namespace
                || !facts.mesh.is_exported_to(entry, namespace)
            {
                "two objects say where that name leads".to_owned()
            } else {
                format!("for clients in {namespace} it takes the Service's place")
            };
            let host_name = host.str().unwrap_or_default();
            let message = format!(
                "{} has {host_name}, the name of {}, and leads elsewhere: {so}",
                entry.id, service.id
            );
            let finding = out.find(
                entry.id.clone(),
                message,
                Evidence::of(entry, host, "the Service's own name"),
            );
            finding.see(Evidence::object(service, "the Service"));
            finding.hits(service.id.clone());
            finding.fix(Fix::advice("give the ServiceEntry a name of its own"));
        }
    }
}
