//! TCPRoute, TLSRoute and UDPRoute.

use super::{BACKEND_REF, NAME, PARENT_REFS, route_fields};
use crate::schema::describe::Type::{List, Of};
use crate::schema::describe::{Field, Message, STRING, Schema, Type, may, must, plain};
use meshladder_capture::Kind;

pub(in crate::schema) static TCP: Schema = Schema {
    kind: Kind::TcpRoute,
    versions: &["v1alpha2", "v1"],
    only: false,
    spec: &TCP_SPEC,
};

pub(in crate::schema) static TLS: Schema = Schema {
    kind: Kind::TlsRoute,
    versions: &["v1", "v1alpha3", "v1alpha2"],
    only: false,
    spec: &TLS_SPEC,
};

pub(in crate::schema) static UDP: Schema = Schema {
    kind: Kind::UdpRoute,
    versions: &["v1alpha2", "v1"],
    only: false,
    spec: &UDP_SPEC,
};

const FIELDS: &[Field] = &[
    may("parentRefs", PARENT_REFS),
    must("rules", RULES),
    may("useDefaultGateways", STRING),
];

static TCP_SPEC: Message = plain("TCPRoute", FIELDS);

static UDP_SPEC: Message = plain("UDPRoute", FIELDS);

static TLS_SPEC: Message = plain("TLSRoute", &TLS_FIELDS);

static TLS_FIELDS: [Field; 4] = route_fields(must("rules", RULES));

const RULES: Type = List(&Of(&RULE), 1, 16);

static RULE: Message = plain(
    "RouteRule",
    &[
        may("backendRefs", List(&Of(&BACKEND_REF), 0, 16)),
        may("name", NAME),
    ],
);
