//! WorkloadEntry, which is also an endpoint of a ServiceEntry.

use crate::schema::describe::LABELS;
use crate::schema::describe::PORT;
use std::net::IpAddr;

use super::describe::FieldType::{Map, Text as TextOf};
use super::describe::{
    FieldSchema, KindSchema, MessageSchema, STRING, UINT32, checked, may, plain,
};
use super::fault::Flaw;
use super::fields::{filled, set, text};
use super::gateway::is_socket;
use super::names::host_problem;
use super::text::TextRule;
use super::walk::SchemaWalk;
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

pub(super) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::WorkloadEntry,
    versions: &["v1", "v1beta1", "v1alpha3"],
    only: true,
    spec: &ENDPOINT,
};

const FIELDS: &[FieldSchema] = &[
    may("address", TextOf(TextRule::AtMost(256))),
    may("labels", LABELS),
    may("locality", STRING),
    may("network", STRING),
    may("ports", Map(TextRule::Label, &PORT)),
    may("serviceAccount", TextOf(TextRule::AtMost(253))),
    may("weight", UINT32),
];

pub(super) static ENDPOINT: MessageSchema = checked("WorkloadEntry", FIELDS, endpoint);

/// "Some fields, such as address, are required in WorkloadEntry but not in the template since they
/// are auto populated"
pub(super) static TEMPLATE: MessageSchema = plain("WorkloadEntry", FIELDS);

/// "address is required", "unix endpoint must not include ports"
fn endpoint<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
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
        walk.value_fault(Flaw::InvalidHost, address, what.clone());
    }
}
