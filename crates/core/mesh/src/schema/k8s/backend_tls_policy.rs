//! BackendTLSPolicy.

use super::NAME;
use crate::schema::describe::FieldType::{Enum, List, Map, Of, Text as TextOf};
use crate::schema::describe::{KindSchema, MessageSchema, STRING, checked, may, must, plain};
use crate::schema::fields::{at_least_one, at_most_one};
use crate::schema::text::TextRule;
use meshladder_capture::Kind;

pub(in crate::schema) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::BackendTlsPolicy,
    versions: &["v1", "v1alpha3"],
    only: false,
    spec: &SPEC,
};

static SPEC: MessageSchema = plain(
    "BackendTLSPolicy",
    &[
        may("options", Map(TextRule::Free, &STRING)),
        must("targetRefs", List(&Of(&TARGET), 1, 16)),
        must("validation", Of(&VALIDATION)),
    ],
);

static TARGET: MessageSchema = plain(
    "LocalPolicyTargetReferenceWithSectionName",
    &[
        must("group", STRING),
        must("kind", NAME),
        must("name", NAME),
        may("sectionName", NAME),
    ],
);

/// "must not contain both CACertificateRefs and WellKnownCACertificates"
static VALIDATION: MessageSchema = checked(
    "BackendTLSPolicyValidation",
    &[
        may("caCertificateRefs", List(&Of(&CA_REF), 0, 8)),
        must("hostname", TextOf(TextRule::PreciseHostname)),
        may("subjectAltNames", List(&Of(&SUBJECT_ALT_NAME), 0, 5)),
        may("wellKnownCACertificates", STRING),
    ],
    |node, walk| {
        at_most_one(
            node,
            &["caCertificateRefs", "wellKnownCACertificates"],
            walk,
        );
        at_least_one(
            node,
            &["caCertificateRefs", "wellKnownCACertificates"],
            walk,
        );
    },
);

static CA_REF: MessageSchema = plain(
    "LocalObjectReference",
    &[
        must("group", STRING),
        must("kind", NAME),
        must("name", NAME),
    ],
);

static SUBJECT_ALT_NAME: MessageSchema = plain(
    "SubjectAltName",
    &[
        may("hostname", STRING),
        must("type", Enum(&["Hostname", "URI"])),
        may("uri", STRING),
    ],
);
