//! BackendTLSPolicy.

use super::NAME;
use crate::schema::describe::Type::{Enum, List, Map, Of, Text as TextOf};
use crate::schema::describe::{Message, STRING, Schema, checked, may, must, plain};
use crate::schema::fields::{at_least_one, at_most_one};
use crate::schema::text::Text;
use meshladder_capture::Kind;

pub(in crate::schema) static SCHEMA: Schema = Schema {
    kind: Kind::BackendTlsPolicy,
    versions: &["v1", "v1alpha3"],
    only: false,
    spec: &SPEC,
};

static SPEC: Message = plain(
    "BackendTLSPolicy",
    &[
        may("options", Map(Text::Free, &STRING)),
        must("targetRefs", List(&Of(&TARGET), 1, 16)),
        must("validation", Of(&VALIDATION)),
    ],
);

static TARGET: Message = plain(
    "LocalPolicyTargetReferenceWithSectionName",
    &[
        must("group", STRING),
        must("kind", NAME),
        must("name", NAME),
        may("sectionName", NAME),
    ],
);

/// "must not contain both CACertificateRefs and WellKnownCACertificates"
static VALIDATION: Message = checked(
    "BackendTLSPolicyValidation",
    &[
        may("caCertificateRefs", List(&Of(&CA_REF), 0, 8)),
        must("hostname", TextOf(Text::PreciseHostname)),
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

static CA_REF: Message = plain(
    "LocalObjectReference",
    &[
        must("group", STRING),
        must("kind", NAME),
        must("name", NAME),
    ],
);

static SUBJECT_ALT_NAME: Message = plain(
    "SubjectAltName",
    &[
        may("hostname", STRING),
        must("type", Enum(&["Hostname", "URI"])),
        may("uri", STRING),
    ],
);
