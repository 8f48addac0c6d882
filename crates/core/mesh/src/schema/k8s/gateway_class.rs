//! GatewayClass.

use super::{NAME, OBJECT_REF};
use crate::schema::describe::Type::{Of, Text as TextOf};
use crate::schema::describe::{Message, Schema, may, must, plain};
use crate::schema::text::Text;
use meshladder_capture::Kind;

pub(in crate::schema) static SCHEMA: Schema = Schema {
    kind: Kind::GatewayClass,
    versions: &["v1", "v1beta1"],
    only: false,
    spec: &SPEC,
};

static SPEC: Message = plain(
    "GatewayClass",
    &[
        must("controllerName", NAME),
        may("description", TextOf(Text::AtMost(256))),
        may("parametersRef", Of(&OBJECT_REF)),
    ],
);
