//! PeerAuthentication.

use super::common::SELECTOR;
use super::describe::Type::{Enum, Map, Of};
use super::describe::{Message, Schema, checked, may, plain};
use super::fault::Flaw;
use super::fields::set;
use super::text::Text;
use super::walk::Walk;
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

pub(super) static SCHEMA: Schema = Schema {
    kind: Kind::PeerAuthentication,
    versions: &["v1", "v1beta1"],
    only: true,
    spec: &SPEC,
};

static SPEC: Message = checked(
    "PeerAuthentication",
    &[
        may("mtls", Of(&MUTUAL_TLS)),
        may("portLevelMtls", Map(Text::PortKey, &Of(&MUTUAL_TLS))),
        may("selector", SELECTOR),
    ],
    port_level,
);

static MUTUAL_TLS: Message = plain(
    "MutualTLS",
    &[may(
        "mode",
        Enum(&["UNSET", "DISABLE", "PERMISSIVE", "STRICT"]),
    )],
);

/// "portLevelMtls requires selector", "port level mTLS, if defined, must have at least one element"
fn port_level<'n>(spec: &'n Node, walk: &mut Walk<'n>) {
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
