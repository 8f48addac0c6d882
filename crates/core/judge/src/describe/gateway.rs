//! A Gateway: the pods that run it, its servers, their credentials and who is bound to them.

use super::service::urls;
use super::{DescribeFacts, DescriptionSection, few};
use meshladder_capture::Kind;
use meshladder_mesh::Object;
use meshladder_mesh::gateways::servers;

pub(super) fn sections(facts: &DescribeFacts<'_>, gateway: &Object) -> Vec<DescriptionSection> {
    let pods = facts.mesh.gateway_pods(gateway);
    let mut runs = DescriptionSection::new("Run by");
    let names: Vec<String> = pods
        .iter()
        .map(|pod| format!("{}/{}", pod.id.namespace, pod.id.name))
        .collect();
    runs.object(
        "pods",
        if names.is_empty() {
            facts.unless_unread(&[Kind::Pod], "none: its selector finds no pod")
        } else {
            few(&names)
        },
        gateway,
    );
    let mut bound = DescriptionSection::new("Servers");
    for server in servers(gateway) {
        let hosts: Vec<String> = server.hosts().map(|(_, host)| host.to_owned()).collect();
        let tls = server
            .tls_mode
            .map(|mode| format!(", TLS {mode}"))
            .unwrap_or_default();
        bound.object(
            format!("{} {}", server.port, server.protocol.word()),
            format!("{}{tls}", few(&hosts)),
            gateway,
        );
        credential(facts, gateway, server.credential_name, &pods, &mut bound);
        let namespace = pods
            .first()
            .map_or(gateway.id.namespace.as_str(), |pod| &pod.id.namespace);
        let services = facts.mesh.bound(server, namespace);
        if services.is_empty() {
            let says = "no VirtualService is bound to this server";
            let says = facts.unless_unread(&[Kind::VirtualService], says);
            bound.add("", says, None);
        }
        for service in services {
            bound.object(
                urls(facts, server, service),
                super::virtual_service::in_words(service),
                service,
            );
        }
    }
    vec![runs, bound]
}

/// The Secret must be where the gateway's pods run.
fn credential(
    facts: &DescribeFacts<'_>,
    gateway: &Object,
    name: Option<&str>,
    pods: &[&Object],
    section: &mut DescriptionSection,
) {
    let Some(name) = name else { return };
    let namespace = pods
        .first()
        .map_or(gateway.id.namespace.as_str(), |pod| &pod.id.namespace);
    match facts.mesh.objects.get(Kind::Secret, namespace, name) {
        Some(secret) => section.object("credential", name, secret),
        None if facts.mesh.objects.of_kind(Kind::Secret).is_empty() => {
            section.add(
                "credential",
                format!("{name}: unknown, no Secret was read"),
                None,
            );
        }
        None => {
            let says = format!("{name}: no such Secret in {namespace}, where its pods run");
            let says = facts.unless_unread(&[Kind::Secret, Kind::Pod], says);
            section.add("credential", says, None);
        }
    }
}
