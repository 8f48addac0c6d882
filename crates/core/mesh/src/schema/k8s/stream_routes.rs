//! TCPRoute, TLSRoute and UDPRoute.

use super::{BACKEND_REF, NAME, PARENT_REFS, route_fields};
use crate::schema::describe::FieldType::{List, Of};
use crate::schema::describe::{
    FieldSchema, FieldType, KindSchema, MessageSchema, STRING, may, must, plain,
};
use meshladder_capture::Kind;

pub(in crate::schema) static TCP: KindSchema = KindSchema {
    kind: Kind::TcpRoute,
    versions: &["v1alpha2", "v1"],
    only: false,
    spec: &TCP_SPEC,
};

pub(in crate::schema) static TLS: KindSchema = KindSchema {
    kind: Kind::TlsRoute,
    versions: &["v1", "v1alpha3", "v1alpha2"],
    only: false,
    spec: &TLS_SPEC,
};

pub(in crate::schema) static UDP: KindSchema = KindSchema {
    kind: Kind::UdpRoute,
    versions: &["v1alpha2", "v1"],
    only: false,
    spec: &UDP_SPEC,
};

const FIELDS: &[FieldSchema] = &[
    may("parentRefs", PARENT_REFS),
    must("rules", RULES),
    may("useDefaultGateways", STRING),
];

static TCP_SPEC: MessageSchema = plain("TCPRoute", FIELDS);

static UDP_SPEC: MessageSchema = plain("UDPRoute", FIELDS);

static TLS_SPEC: MessageSchema = plain("TLSRoute", &TLS_FIELDS);

static TLS_FIELDS: [FieldSchema; 4] = route_fields(must("rules", RULES));

const RULES: FieldType = List(&Of(&RULE), 1, 16);

static RULE: MessageSchema = plain(
    "RouteRule",
    &[
        may("backendRefs", List(&Of(&BACKEND_REF), 0, 16)),
        may("name", NAME),
    ],
);
