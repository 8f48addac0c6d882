//! GatewayClass.

use super::{NAME, OBJECT_REF};
use crate::schema::describe::FieldType::{Of, Text as TextOf};
use crate::schema::describe::{KindSchema, MessageSchema, may, must, plain};
use crate::schema::text::TextRule;
use meshladder_capture::Kind;

pub(in crate::schema) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::GatewayClass,
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
