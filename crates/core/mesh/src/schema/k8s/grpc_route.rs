//! GRPCRoute.

use super::filters::GRPC_FILTER;
use super::{HEADER_MATCH, NAME, backend_fields, route_fields, service_port};
use crate::schema::describe::FieldType::{Any, Enum, List, Of};
use crate::schema::describe::{
    FieldSchema, KindSchema, MessageSchema, STRING, checked, may, plain,
};
use crate::schema::fields::at_least_one;
use meshladder_capture::Kind;

pub(in crate::schema) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::GrpcRoute,
    versions: &["v1", "v1alpha2"],
    only: false,
    spec: &SPEC,
};

static SPEC: MessageSchema = plain("GRPCRoute", &FIELDS);

static FIELDS: [FieldSchema; 4] = route_fields(may("rules", List(&Of(&RULE), 0, 16)));

static RULE: MessageSchema = plain(
    "GRPCRouteRule",
    &[
        may("backendRefs", List(&Of(&GRPC_BACKEND), 0, 16)),
        may("filters", List(&Of(&GRPC_FILTER), 0, 16)),
        may("matches", List(&Of(&MATCH), 0, 64)),
        may("name", NAME),
        may("sessionPersistence", Any),
    ],
);

static MATCH: MessageSchema = plain(
    "GRPCRouteMatch",
    &[
        may("headers", List(&Of(&HEADER_MATCH), 0, 16)),
        may("method", Of(&METHOD_MATCH)),
    ],
);

/// "One or both of 'service' or 'method' must be specified"
static METHOD_MATCH: MessageSchema = checked(
    "GRPCMethodMatch",
    &[
        may("method", STRING),
        may("service", STRING),
        may("type", Enum(&["Exact", "RegularExpression"])),
    ],
    |node, walk| at_least_one(node, &["service", "method"], walk),
);

static GRPC_BACKEND: MessageSchema = checked("GRPCBackendRef", &BACKEND_FIELDS, service_port);

static BACKEND_FIELDS: [FieldSchema; 7] = backend_fields(&Of(&GRPC_FILTER));
