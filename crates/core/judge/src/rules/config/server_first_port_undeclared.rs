//! See the page beside this file.

use super::patch;
use crate::finding::{Evidence, Rung, Severity};
use crate::rules::{Case, Check, Facts, Rule, Sink};
use meshladder_capture::Kind;
use meshladder_capture::snapshot::Inputs;
use meshladder_mesh::Object;
use meshladder_mesh::services::{Protocol, ServicePort, number, ports, target_port};

pub(super) static RULE: Rule = Rule {
    code: "ML0518",
    name: "server-first-port-undeclared",
    aka: &[],
    rung: Rung::Config,
    severity: Severity::Warning,
    claim: "every port where the server speaks first is declared as TCP",
    needs: Inputs::of(&[Kind::Service]),
    uses: Inputs::of(&[Kind::Pod]),
    explains: &["ML06", "ML10"],
    docs: include_str!("server_first_port_undeclared.md"),
    check: Check::Either(check),
};

/// Ports of protocols in which the client waits for the server's greeting.
pub(in crate::rules) const SERVER_FIRST: [(u16, &str); 7] = [
    (21, "FTP"),
    (22, "SSH"),
    (25, "SMTP"),
    (110, "POP3"),
    (143, "IMAP"),
    (587, "SMTP"),
    (3306, "MySQL"),
];

fn check(facts: &Facts<'_>, case: Option<&Case<'_>>, out: &mut Sink) {
    for service in facts.mesh.objects.of_kind(Kind::Service) {
        let mut pod = None;
        for port in ports(service) {
            let is_called = |case: &Case<'_>| {
                case.service.is_some_and(|s| {
                    s.name == service.id.name && s.namespace == service.id.namespace
                })
            };
            if case.is_some_and(|case| !is_called(case) || case.call.to.port != port.number) {
                continue;
            }
            out.examined();
            if port.protocol != Protocol::Sniffed && !port.protocol.is_http() {
                continue;
            }
            let pod =
                pod.get_or_insert_with(|| facts.mesh.selected_pods(service).into_iter().next());
            let of_pod = pod.and_then(|pod| target_port(&port, pod));
            let target = of_pod
                .or_else(|| port.target_port.and_then(number))
                .unwrap_or(port.number);
            if let Some((_, protocol)) = SERVER_FIRST.iter().find(|(known, _)| *known == target) {
                let finding = tell(service, &port, target, protocol, out);
                facts
                    .mesh
                    .selected_pods(service)
                    .iter()
                    .for_each(|pod| _ = finding.hits(pod.id.clone()));
                finding.hits.extend(
                    case.and_then(|case| case.client)
                        .map(meshladder_mesh::PodFacts::reference),
                );
            }
        }
    }
}

fn tell<'o>(
    service: &Object,
    port: &ServicePort<'_>,
    target: u16,
    speaks: &str,
    out: &'o mut Sink,
) -> &'o mut crate::finding::Finding {
    let named = if port.name.is_empty() {
        "has no name".to_owned()
    } else {
        format!("is named {}", port.name)
    };
    let message = format!(
        "port {} of {} leads to {target} ({speaks}), where the server speaks first, but it {named}: proxies wait for the client",
        port.number, service.id
    );
    let finding = out.find(
        service.id.clone(),
        message,
        Evidence::of(service, port.node, "the port"),
    );
    finding.hits(service.id.clone());
    finding.fix(patch::set(service, port.node, "appProtocol", "tcp"))
}
