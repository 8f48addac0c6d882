//! PeerAuthentication.

use super::common::SELECTOR;
use super::describe::FieldType::{Enum, Map, Of};
use super::describe::{KindSchema, MessageSchema, checked, may, plain};
use super::fault::Flaw;
use super::fields::set;
use super::text::TextRule;
use super::walk::SchemaWalk;
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

pub(super) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::PeerAuthentication,
    versions: &["v1", "v1beta1"],
    only: true,
    spec: &SPEC,
};

static SPEC: MessageSchema = checked(
    "PeerAuthentication",
    &[
        may("mtls", Of(&MUTUAL_TLS)),
        may("portLevelMtls", Map(TextRule::PortKey, &Of(&MUTUAL_TLS))),
        may("selector", SELECTOR),
    ],
    port_level,
);

static MUTUAL_TLS: MessageSchema = plain(
    "MutualTLS",
    &[may(
        "mode",
        Enum(&["UNSET", "DISABLE", "PERMISSIVE", "STRICT"]),
    )],
);

/// "portLevelMtls requires selector", "port level mTLS, if defined, must have at least one element"
fn port_level<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    let Some(ports) = set(spec, "portLevelMtls") else {
        return;
    };
    let labels = spec
        .at(["selector", "matchLabels"])
        .map_or(&[][..], Node::members);
    if ports.members().is_empty() {
        walk.fault(Flaw::MissingField, ports, "is empty");
    } else if labels.is_empty() {
        walk.fault(
            Flaw::Misfit,
            ports,
            "is set, and without a selector with labels there are no ports to set it for",
        );
    }
}
