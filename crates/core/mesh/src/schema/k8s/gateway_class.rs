//! GatewayClass.

use super::{GROUP, NAME, OBJECT_REF};
use crate::schema::describe::Type::{Of, Text as TextOf};
use crate::schema::describe::{KindSchema, Message, may, must, plain};
use crate::schema::text::Text;

pub(in crate::schema) static KIND: KindSchema = KindSchema {
    kind: "GatewayClass",
    group: GROUP,
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
