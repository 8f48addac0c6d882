//! ReferenceGrant.

use super::NAME;
use crate::schema::describe::Type::{List, Of};
use crate::schema::describe::{Message, STRING, Schema, may, must, plain};
use meshladder_capture::Kind;

pub(in crate::schema) static SCHEMA: Schema = Schema {
    kind: Kind::ReferenceGrant,
    versions: &["v1beta1", "v1alpha2", "v1"],
    only: false,
    spec: &SPEC,
};

static SPEC: Message = plain(
    "ReferenceGrant",
    &[
        must("from", List(&Of(&FROM), 1, 16)),
        must("to", List(&Of(&TO), 1, 16)),
    ],
);

static FROM: Message = plain(
    "ReferenceGrantFrom",
    &[
        must("group", STRING),
        must("kind", NAME),
        must("namespace", NAME),
    ],
);

static TO: Message = plain(
    "ReferenceGrantTo",
    &[
        must("group", STRING),
        must("kind", NAME),
        may("name", STRING),
    ],
);
