//! Ports of hosts, and who starts TLS on them.

use crate::rules::endpoints::met;
use crate::rules::{Asked, Facts};
use meshladder_mesh::services::{Protocol, number};
use meshladder_mesh::{Mesh, Stored};
use meshladder_text::tree::Node;

/// A port of a ServiceEntry or Service, for one of its hosts.
#[derive(Clone, Debug)]
pub(super) struct Port<'f> {
    pub(super) object: &'f Stored,
    pub(super) node: &'f Node,
    pub(super) host: String,
    pub(super) number: u16,
    pub(super) protocol: Protocol,
}

/// The ports that a request may mean; without a request those of all ServiceEntries.
pub(super) fn ports<'f>(facts: &Facts<'f>, asked: Option<&Asked<'_>>) -> Vec<Port<'f>> {
    let all = facts
        .mesh
        .objects
        .of_kind("ServiceEntry")
        .iter()
        .flat_map(of_entry);
    match asked {
        None => all.collect(),
        Some(asked) => all
            .filter(|port| port.host == asked.host && port.number == asked.question.to.port)
            .collect(),
    }
}

fn of_entry(entry: &Stored) -> Vec<Port<'_>> {
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
        asked: Option<&Asked<'_>>,
    ) -> Option<(&'f Stored, &'f Node)> {
        let mesh: &'f Mesh = facts.mesh;
        let scope = match asked {
            Some(asked) => met::client_scope(facts, asked)?,
            None => mesh.namespace_scope(&self.object.id.namespace),
        };
        mesh.destination_rule(scope, &self.host)?
            .setting("tls", self.number, None)
    }
}
