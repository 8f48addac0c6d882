//! Kinds of the Gateway API that istiod reads, with the fields of its standard and of its
//! experimental channel.

use super::describe::FieldType::{Enum, Int, List, Map, Number, Of, Text as TextOf};
use super::describe::{
    FieldSchema, FieldType, MessageSchema, PORT, STRING, STRINGS, checked, may, must, plain,
};
use super::fault::{Flaw, shown};
use super::fields::{has, text};
use super::text::TextRule;
use super::walk::SchemaWalk;
use meshladder_text::tree::Node;

pub(super) mod backend_tls_policy;
pub(super) mod gateway;
pub(super) mod gateway_class;
pub(super) mod grpc_route;
pub(super) mod http_route;
pub(super) mod listener_set;
pub(super) mod reference_grant;
pub(super) mod stream_routes;

mod filters;

const NAME: FieldType = TextOf(TextRule::Filled);
const HOSTNAMES: FieldType = List(&TextOf(TextRule::Hostname), 0, 16);
const PARENT_REFS: FieldType = List(&Of(&PARENT_REF), 0, 32);

static PARENT_REF: MessageSchema = plain(
    "ParentReference",
    &[
        may("group", STRING),
        may("kind", NAME),
        must("name", NAME),
        may("namespace", NAME),
        may("port", PORT),
        may("sectionName", NAME),
    ],
);

/// A reference to a kind in any namespace.
static OBJECT_REF: MessageSchema = plain(
    "ObjectReference",
    &[
        may("group", STRING),
        may("kind", NAME),
        must("name", NAME),
        may("namespace", NAME),
    ],
);

const WEIGHT: FieldType = Int(0, 1_000_000);

static BACKEND_REF: MessageSchema = checked(
    "BackendRef",
    &[
        may("group", STRING),
        may("kind", NAME),
        must("name", NAME),
        may("namespace", NAME),
        may("port", PORT),
        may("weight", WEIGHT),
    ],
    service_port,
);

/// The fields of a reference to a backend with filters of its own.
const fn backend_fields(filter: &'static FieldType) -> [FieldSchema; 7] {
    [
        may("filters", List(filter, 0, 16)),
        may("group", STRING),
        may("kind", NAME),
        must("name", NAME),
        may("namespace", NAME),
        may("port", PORT),
        may("weight", WEIGHT),
    ]
}

/// The fields of a route with hostnames.
const fn route_fields(rules: FieldSchema) -> [FieldSchema; 4] {
    [
        may("hostnames", HOSTNAMES),
        may("parentRefs", PARENT_REFS),
        rules,
        may("useDefaultGateways", STRING),
    ]
}

/// "Must have port for Service reference"
fn service_port<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    let is_service = text(node, "group").is_empty() && matches!(text(node, "kind"), "" | "Service");
    if is_service && !has(node, "port") && has(node, "name") {
        walk.fault(Flaw::MissingField, node, "names a Service and lacks port");
    }
}

static LABEL_SELECTOR: MessageSchema = plain(
    "LabelSelector",
    &[
        may("matchExpressions", List(&Of(&REQUIREMENT), 0, usize::MAX)),
        may(
            "matchLabels",
            Map(TextRule::LabelKey, &TextOf(TextRule::LabelValue)),
        ),
    ],
);

static REQUIREMENT: MessageSchema = plain(
    "LabelSelectorRequirement",
    &[
        must("key", NAME),
        must("operator", Enum(&["In", "NotIn", "Exists", "DoesNotExist"])),
        may("values", STRINGS),
    ],
);

static HEADER_MATCH: MessageSchema = checked(
    "HeaderMatch",
    &[
        must("name", TextOf(TextRule::Header)),
        may("type", Enum(&["Exact", "RegularExpression"])),
        must("value", NAME),
    ],
    regular_expression,
);

/// Istio gives Envoy the expression, which RE2 reads.
fn regular_expression<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    let Some(value) = node
        .get("value")
        .filter(|_| text(node, "type") == "RegularExpression")
    else {
        return;
    };
    if let Some((flaw, what)) = value
        .str()
        .and_then(|pattern| TextRule::Regex.problem(pattern))
    {
        walk.fault(flaw, value, what);
    }
}

/// Kinds that a policy's or filter's `type` names by the field it fills.
fn typed<'n>(node: &'n Node, fields: &[(&str, &'static str)], walk: &mut SchemaWalk<'n>) {
    let Some(name) = node.get("type") else { return };
    for (of, field) in fields {
        let is_of = name.str() == Some(of);
        match node.get(field) {
            None if is_of => {
                walk.fault(
                    Flaw::MissingField,
                    node,
                    format!("is of type {of} and lacks {field}"),
                );
            }
            Some(value) if !is_of => {
                walk.fault(
                    Flaw::Misfit,
                    value,
                    format!("does not go with type {}", shown(name)),
                );
            }
            _ => {}
        }
    }
}

static FRACTION: MessageSchema = plain(
    "Fraction",
    &[
        may("denominator", Int(1, 2_147_483_647)),
        must("numerator", Number(0.0, 2_147_483_647.0)),
    ],
);
