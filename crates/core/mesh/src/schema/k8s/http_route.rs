//! HTTPRoute.

use super::filters::HTTP_FILTER;
use super::{HEADER_MATCH, NAME, backend_fields, regular_expression, route_fields, service_port};
use crate::schema::describe::Type::{Any, Enum, Int, List, Of, Text as TextOf, Time};
use crate::schema::describe::{
    Field, Message, Schema, Span, Type, checked, list, may, must, plain,
};
use crate::schema::fault::{Flaw, shown};
use crate::schema::fields::{filled, text};
use crate::schema::text::Text;
use crate::schema::walk::Walk;
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

pub(in crate::schema) static SCHEMA: Schema = Schema {
    kind: Kind::HttpRoute,
    versions: &["v1", "v1beta1"],
    only: false,
    spec: &SPEC,
};

static SPEC: Message = plain("HTTPRoute", &FIELDS);

static FIELDS: [Field; 4] = route_fields(may("rules", List(&Of(&RULE), 1, 16)));

const DURATION: Type = Time(Span::Gateway);

static RULE: Message = plain(
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

static TIMEOUTS: Message = plain(
    "HTTPRouteTimeouts",
    &[may("backendRequest", DURATION), may("request", DURATION)],
);

static RETRY: Message = plain(
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

static MATCH: Message = plain(
    "HTTPRouteMatch",
    &[
        may("headers", List(&Of(&HEADER_MATCH), 0, 16)),
        may("method", Enum(METHODS)),
        may("path", Of(&PATH_MATCH)),
        may("queryParams", List(&Of(&QUERY_MATCH), 0, 16)),
    ],
);

static QUERY_MATCH: Message = checked(
    "HTTPQueryParamMatch",
    &[
        must("name", NAME),
        may("type", Enum(&["Exact", "RegularExpression"])),
        must("value", NAME),
    ],
    regular_expression,
);

static PATH_MATCH: Message = checked(
    "HTTPPathMatch",
    &[
        may("type", Enum(&["Exact", "PathPrefix", "RegularExpression"])),
        may("value", TextOf(Text::AtMost(1024))),
    ],
    |node, walk| {
        regular_expression(node, walk);
        absolute(node, walk);
    },
);

/// "value must be an absolute path" unless it is a regular expression.
fn absolute<'n>(node: &'n Node, walk: &mut Walk<'n>) {
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
        walk.fault(
            Flaw::InvalidValue,
            value,
            format!("is {}, which does not start with /", shown(value)),
        );
    } else if is_odd {
        walk.fault(
            Flaw::InvalidValue,
            value,
            format!("is {}, not a plain path", shown(value)),
        );
    }
}

static HTTP_BACKEND: Message = checked("HTTPBackendRef", &BACKEND_FIELDS, service_port);

static BACKEND_FIELDS: [Field; 7] = backend_fields(&Of(&HTTP_FILTER));
