//! Gateway of the Gateway API.

use super::{LABEL_SELECTOR, NAME, OBJECT_REF};
use crate::schema::describe::FieldType::{Any, Enum, List, Map, Of, Text as TextOf};
use crate::schema::describe::{
    FieldType, KindSchema, MessageSchema, PORT, STRING, checked, may, must, plain,
};
use crate::schema::fault::Flaw;
use crate::schema::fields::{all_different, entries, filled, has, items, set, text};
use crate::schema::text::TextRule;
use crate::schema::walk::SchemaWalk;
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

pub(in crate::schema) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::K8sGateway,
    versions: &["v1", "v1beta1"],
    only: false,
    spec: &SPEC,
};

static SPEC: MessageSchema = checked(
    "Gateway",
    &[
        may("addresses", List(&Of(&ADDRESS), 0, 16)),
        may("allowedListeners", Any),
        may("backendTLS", Any),
        may("defaultScope", STRING),
        must("gatewayClassName", NAME),
        may("infrastructure", Of(&INFRASTRUCTURE)),
        must("listeners", List(&Of(&LISTENER), 1, 64)),
        may("tls", Any),
    ],
    |node, walk| {
        all_different(
            items(node, "listeners"),
            |listener| listener.get("name"),
            walk,
        );
        distinct(items(node, "listeners"), walk);
    },
);

static ADDRESS: MessageSchema = plain(
    "GatewayAddress",
    &[may("type", STRING), may("value", STRING)],
);

const STRING_MAP: FieldType = Map(TextRule::Free, &STRING);

static INFRASTRUCTURE: MessageSchema = plain(
    "GatewayInfrastructure",
    &[
        may("annotations", STRING_MAP),
        may("labels", STRING_MAP),
        may("parametersRef", Of(&OBJECT_REF)),
    ],
);

pub(super) static LISTENER: MessageSchema = checked(
    "Listener",
    &[
        may("allowedRoutes", Of(&ALLOWED_ROUTES)),
        may("hostname", TextOf(TextRule::Hostname)),
        must("name", NAME),
        must("port", PORT),
        must("protocol", NAME),
        may("tls", Of(&LISTENER_TLS)),
    ],
    listener,
);

static ALLOWED_ROUTES: MessageSchema = plain(
    "AllowedRoutes",
    &[
        may("kinds", List(&Of(&ROUTE_KIND), 0, 8)),
        may("namespaces", Of(&ROUTE_NAMESPACES)),
    ],
);

static ROUTE_KIND: MessageSchema = plain(
    "RouteGroupKind",
    &[may("group", STRING), must("kind", NAME)],
);

static ROUTE_NAMESPACES: MessageSchema = plain(
    "RouteNamespaces",
    &[
        may("from", Enum(&["All", "Selector", "Same", "None"])),
        may("selector", Of(&LABEL_SELECTOR)),
    ],
);

static LISTENER_TLS: MessageSchema = checked(
    "ListenerTLSConfig",
    &[
        may("certificateRefs", List(&Of(&OBJECT_REF), 0, 64)),
        may("frontendValidation", Any),
        may("mode", Enum(&["Terminate", "Passthrough"])),
        may("options", STRING_MAP),
    ],
    |tls, walk| {
        let ends = matches!(text(tls, "mode"), "" | "Terminate");
        if ends && entries(tls, "certificateRefs").is_none() && !has(tls, "options") {
            walk.fault(
                Flaw::MissingField,
                tls,
                "ends TLS and lacks certificateRefs or options",
            );
        }
    },
);

/// TLS "must not be specified" for HTTP, TCP and UDP, a hostname not for TCP and UDP, and "tls mode
/// must be Terminate for protocol HTTPS".
fn listener<'n>(listener: &'n Node, walk: &mut SchemaWalk<'n>) {
    let protocol = text(listener, "protocol");
    if let Some(tls) = set(listener, "tls") {
        if matches!(protocol, "HTTP" | "TCP" | "UDP") {
            walk.fault(
                Flaw::Misfit,
                tls,
                format!("is set, and {protocol} has no TLS"),
            );
        } else if let Some(mode) = tls
            .get("mode")
            .filter(|mode| protocol == "HTTPS" && mode.str() == Some("Passthrough"))
        {
            walk.value_fault(Flaw::Misfit, mode, "and a listener for HTTPS ends TLS");
        }
    }
    if let Some(host) = filled(listener, "hostname").filter(|_| matches!(protocol, "TCP" | "UDP")) {
        walk.value_fault(
            Flaw::Misfit,
            host,
            format!("and {protocol} has no hostnames"),
        );
    }
}

/// "Combination of port, protocol and hostname must be unique for each listener"
fn distinct<'n>(listeners: &'n [Node], walk: &mut SchemaWalk<'n>) {
    let place = |listener: &'n Node| {
        let port = listener.get("port").map(Node::to_json);
        (port, text(listener, "protocol"), text(listener, "hostname"))
    };
    if listeners.len() < 2 {
        return;
    }
    let mut seen = std::collections::BTreeSet::new();
    for listener in listeners {
        if !seen.insert(place(listener)) {
            walk.fault(
                Flaw::Duplicate,
                listener,
                "has port, protocol and hostname of a listener before it",
            );
        }
    }
}
