//! GatewayClass.

use super::{GROUP, NAME, OBJECT_REF};
use crate::schema::describe::FieldType::{Of, Text as TextOf};
use crate::schema::describe::{KindSchema, MessageSchema, may, must, plain};
use crate::schema::text::TextRule;

pub(in crate::schema) static KIND: KindSchema = KindSchema {
    kind: "GatewayClass",
    group: GROUP,
    versions: &["v1", "v1beta1"],
    only: false,
    spec: &SPEC,
};

static SPEC: MessageSchema = plain(
    "GatewayClass",
    &[
        must("controllerName", NAME),
        may("description", TextOf(TextRule::AtMost(256))),
        may("parametersRef", Of(&OBJECT_REF)),
    ],
);
