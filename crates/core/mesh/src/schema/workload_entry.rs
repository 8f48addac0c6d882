//! WorkloadEntry, which is also an endpoint of a ServiceEntry.

use std::net::IpAddr;

use super::describe::Type::{Map, Text as TextOf};
use super::describe::{Field, LABELS, Message, PORT, STRING, Schema, UINT32, checked, may, plain};
use super::fault::{Flaw, shown};
use super::fields::{filled, set, text};
use super::gateway::is_socket;
use super::names::host_problem;
use super::text::Text;
use super::walk::Walk;
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

pub(super) static SCHEMA: Schema = Schema {
    kind: Kind::WorkloadEntry,
    versions: &["v1", "v1beta1", "v1alpha3"],
    only: true,
    spec: &ENDPOINT,
};

const FIELDS: &[Field] = &[
    may("address", TextOf(Text::AtMost(256))),
    may("labels", LABELS),
    may("locality", STRING),
    may("network", STRING),
    may("ports", Map(Text::Label, &PORT)),
    may("serviceAccount", TextOf(Text::AtMost(253))),
    may("weight", UINT32),
];

pub(super) static ENDPOINT: Message = checked("WorkloadEntry", FIELDS, endpoint);

/// "Some fields, such as address, are required in WorkloadEntry but not in the template since they
/// are auto populated"
pub(super) static TEMPLATE: Message = plain("WorkloadEntry", FIELDS);

/// "address is required", "unix endpoint must not include ports"
fn endpoint<'n>(node: &'n Node, walk: &mut Walk<'n>) {
    let Some(address) = filled(node, "address") else {
        if text(node, "network").is_empty() {
            walk.fault(Flaw::MissingField, node, "lacks address");
        }
        return;
    };
    let name = text(node, "address");
    let what = match name.strip_prefix("unix://") {
        Some(socket) => {
            if let Some(ports) = set(node, "ports").filter(|ports| !ports.members().is_empty()) {
                walk.fault(
                    Flaw::Misfit,
                    ports,
                    "is set, and a unix socket has no ports",
                );
            }
            (!is_socket(socket)).then(|| "not an absolute path of a file".to_owned())
        }
        None if name.parse::<IpAddr>().is_ok() => None,
        None => host_problem(name, false),
    };
    if let Some(what) = what {
        walk.fault(
            Flaw::InvalidHost,
            address,
            format!("is {}, {what}", shown(address)),
        );
    }
}
