//! HTTPRoute.

use super::filters::HTTP_FILTER;
use super::{HEADER_MATCH, NAME, backend_fields, regular_expression, route_fields, service_port};
use crate::schema::describe::FieldType::{Any, Enum, Int, List, Of, Text as TextOf, Time};
use crate::schema::describe::{
    DurationRule, FieldSchema, FieldType, KindSchema, MessageSchema, checked, list, may, must,
    plain,
};
use crate::schema::fault::Flaw;
use crate::schema::fields::{filled, text};
use crate::schema::text::TextRule;
use crate::schema::walk::SchemaWalk;
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

pub(in crate::schema) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::HttpRoute,
    versions: &["v1", "v1beta1"],
    only: false,
    spec: &SPEC,
};

static SPEC: MessageSchema = plain("HTTPRoute", &FIELDS);

static FIELDS: [FieldSchema; 4] = route_fields(may("rules", List(&Of(&RULE), 1, 16)));

const DURATION: FieldType = Time(DurationRule::Gateway);

static RULE: MessageSchema = plain(
    "HTTPRouteRule",
    &[
        may("backendRefs", List(&Of(&HTTP_BACKEND), 0, 16)),
        may("filters", List(&Of(&HTTP_FILTER), 0, 16)),
        may("matches", List(&Of(&MATCH), 0, 64)),
        may("name", NAME),
        may("retry", Of(&RETRY)),
        may("sessionPersistence", Any),
        may("timeouts", Of(&TIMEOUTS)),
    ],
);

static TIMEOUTS: MessageSchema = plain(
    "HTTPRouteTimeouts",
    &[may("backendRequest", DURATION), may("request", DURATION)],
);

static RETRY: MessageSchema = plain(
    "HTTPRouteRetry",
    &[
        may("attempts", Int(0, 2_147_483_647)),
        may("backoff", DURATION),
        may("codes", list(&Int(400, 599))),
    ],
);

const METHODS: &[&str] = &[
    "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH",
];

static MATCH: MessageSchema = plain(
    "HTTPRouteMatch",
    &[
        may("headers", List(&Of(&HEADER_MATCH), 0, 16)),
        may("method", Enum(METHODS)),
        may("path", Of(&PATH_MATCH)),
        may("queryParams", List(&Of(&QUERY_MATCH), 0, 16)),
    ],
);

static QUERY_MATCH: MessageSchema = checked(
    "HTTPQueryParamMatch",
    &[
        must("name", NAME),
        may("type", Enum(&["Exact", "RegularExpression"])),
        must("value", NAME),
    ],
    regular_expression,
);

static PATH_MATCH: MessageSchema = checked(
    "HTTPPathMatch",
    &[
        may("type", Enum(&["Exact", "PathPrefix", "RegularExpression"])),
        may("value", TextOf(TextRule::AtMost(1024))),
    ],
    |node, walk| {
        regular_expression(node, walk);
        absolute(node, walk);
    },
);

/// "value must be an absolute path" unless it is a regular expression.
fn absolute<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    let Some(value) = filled(node, "value").filter(|_| text(node, "type") != "RegularExpression")
    else {
        return;
    };
    let path = text(node, "value");
    let is_odd = ["//", "/./", "/../", "%2f", "%2F", "#"]
        .iter()
        .any(|part| path.contains(part))
        || path.ends_with("/..")
        || path.ends_with("/.");
    if !path.starts_with('/') {
        walk.value_fault(Flaw::InvalidValue, value, "which does not start with /");
    } else if is_odd {
        walk.value_fault(Flaw::InvalidValue, value, "not a plain path");
    }
}

static HTTP_BACKEND: MessageSchema = checked("HTTPBackendRef", &BACKEND_FIELDS, service_port);

static BACKEND_FIELDS: [FieldSchema; 7] = backend_fields(&Of(&HTTP_FILTER));
