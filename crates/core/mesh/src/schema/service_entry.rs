//! ServiceEntry.

use super::common::{EXPORT_TO, LABEL_SELECTOR};
use super::describe::FieldType::{Enum, List, Of, Text as TextOf};
use super::describe::{
    KindSchema, MessageSchema, PORT, PORT_OR_NONE, STRING, STRINGS, checked, may, must, plain,
};
use super::text::TextRule;
use super::workload_entry;
use meshladder_capture::Kind;

mod checks;

pub(super) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::ServiceEntry,
    versions: &["v1", "v1beta1", "v1alpha3"],
    only: true,
    spec: &SPEC,
};

static SPEC: MessageSchema = checked(
    "ServiceEntry",
    &[
        may("addresses", List(&TextOf(TextRule::Range), 0, 256)),
        may("endpoints", List(&Of(&workload_entry::ENDPOINT), 0, 4096)),
        may("exportTo", EXPORT_TO),
        must("hosts", List(&STRING, 1, 256)),
        may("location", Enum(&["MESH_EXTERNAL", "MESH_INTERNAL"])),
        may("ports", List(&Of(&SERVICE_PORT), 0, 256)),
        may(
            "resolution",
            Enum(&["NONE", "STATIC", "DNS", "DNS_ROUND_ROBIN", "DYNAMIC_DNS"]),
        ),
        may("subjectAltNames", STRINGS),
        may("workloadSelector", Of(&LABEL_SELECTOR)),
    ],
    checks::spec,
);

static SERVICE_PORT: MessageSchema = plain(
    "ServicePort",
    &[
        must("name", TextOf(TextRule::Label)),
        must("number", PORT),
        may("protocol", TextOf(TextRule::Protocol)),
        may("targetPort", PORT_OR_NONE),
    ],
);
