//! ListenerSet.

use super::OBJECT_REF;
use super::gateway::LISTENER;
use crate::schema::describe::FieldType::{List, Of};
use crate::schema::describe::{KindSchema, MessageSchema, checked, must};
use crate::schema::fields::{all_different, items};
use meshladder_capture::Kind;

pub(in crate::schema) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::ListenerSet,
    versions: &["v1"],
    only: false,
    spec: &SPEC,
};

static SPEC: MessageSchema = checked(
    "ListenerSet",
    &[
        must("listeners", List(&Of(&LISTENER), 1, 64)),
        must("parentRef", Of(&OBJECT_REF)),
    ],
    |node, walk| {
        all_different(
            items(node, "listeners"),
            |listener| listener.get("name"),
            walk,
        );
    },
);
