//! Ports of hosts, and who starts TLS on them.

use crate::rules::endpoints::called_service;
use crate::rules::{Case, Facts};
use meshladder_capture::Kind;
use meshladder_mesh::services::{Protocol, number};
use meshladder_mesh::{Mesh, Object};
use meshladder_text::tree::Node;

/// A port of a ServiceEntry or Service, for one of its hosts.
#[derive(Clone, Debug)]
pub(super) struct Port<'f> {
    pub(super) object: &'f Object,
    pub(super) node: &'f Node,
    pub(super) host: String,
    pub(super) number: u16,
    pub(super) protocol: Protocol,
}

/// The ports that a request may mean; without a request those of all ServiceEntries.
pub(super) fn ports<'f>(facts: &Facts<'f>, case: Option<&Case<'_>>) -> Vec<Port<'f>> {
    let all = facts
        .mesh
        .objects
        .of_kind(Kind::ServiceEntry)
        .iter()
        .flat_map(of_entry);
    match case {
        None => all.collect(),
        Some(case) => all
            .filter(|port| port.host == case.host && port.number == case.call.to.port)
            .collect(),
    }
}

fn of_entry(entry: &Object) -> Vec<Port<'_>> {
    let mut found = Vec::new();
    for host in entry.spec_strings("hosts") {
        for node in entry.spec_list("ports") {
            let Some(number) = node.get("number").and_then(number) else {
                continue;
            };
            let protocol = Protocol::of_name(node.str_at("protocol").unwrap_or_default());
            found.push(Port {
                object: entry,
                node,
                host: host.to_owned(),
                number,
                protocol,
            });
        }
    }
    found
}

impl<'f> Port<'f> {
    /// `tls` of the DestinationRule that a client's calls fall under; without a request, of a
    /// client in the namespace of the port's object.
    pub(super) fn client_tls(
        &self,
        facts: &Facts<'f>,
        case: Option<&Case<'_>>,
    ) -> Option<(&'f Object, &'f Node)> {
        let mesh: &'f Mesh = facts.mesh;
        let scope = match case {
            Some(case) => called_service::client_scope(facts, case)?,
            None => mesh.namespace_scope(&self.object.id.namespace),
        };
        mesh.destination_rule(scope, &self.host)?
            .setting("tls", self.number, None)
    }
}
