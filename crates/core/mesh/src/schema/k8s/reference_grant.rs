//! ReferenceGrant.

use super::NAME;
use crate::schema::describe::FieldType::{List, Of};
use crate::schema::describe::{KindSchema, MessageSchema, STRING, may, must, plain};
use meshladder_capture::Kind;

pub(in crate::schema) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::ReferenceGrant,
    versions: &["v1beta1", "v1alpha2", "v1"],
    only: false,
    spec: &SPEC,
};

static SPEC: MessageSchema = plain(
    "ReferenceGrant",
    &[
        must("from", List(&Of(&FROM), 1, 16)),
        must("to", List(&Of(&TO), 1, 16)),
    ],
);

static FROM: MessageSchema = plain(
    "ReferenceGrantFrom",
    &[
        must("group", STRING),
        must("kind", NAME),
        must("namespace", NAME),
    ],
);

static TO: MessageSchema = plain(
    "ReferenceGrantTo",
    &[
        must("group", STRING),
        must("kind", NAME),
        may("name", STRING),
    ],
);
