//! Sidecar.

use super::common::LABEL_SELECTOR;
use super::describe::FieldType::{Enum, Of, Text as TextOf};
use super::describe::{KindSchema, MessageSchema, UINT32, checked, list, may, must, plain, some};
use super::destination_rule::CONNECTION_POOL;
use super::gateway::SERVER_TLS;
use super::text::TextRule;
use super::virtual_service::DESTINATION;
use crate::schema::describe::STRING;
use meshladder_capture::Kind;

mod checks;

pub(super) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::Sidecar,
    versions: &["v1", "v1beta1", "v1alpha3"],
    only: true,
    spec: &SPEC,
};

static SPEC: MessageSchema = checked(
    "Sidecar",
    &[
        may("egress", list(&Of(&EGRESS))),
        may("inboundConnectionPool", Of(&CONNECTION_POOL)),
        may("ingress", list(&Of(&INGRESS))),
        may("outboundTrafficPolicy", Of(&OUTBOUND)),
        may("workloadSelector", Of(&LABEL_SELECTOR)),
    ],
    checks::spec,
);

const CAPTURE: &[&str] = &["DEFAULT", "IPTABLES", "NONE"];

static EGRESS: MessageSchema = checked(
    "IstioEgressListener",
    &[
        may("bind", STRING),
        may("captureMode", Enum(CAPTURE)),
        must("hosts", some(&STRING)),
        may("port", Of(&SIDECAR_PORT)),
    ],
    checks::egress,
);

static INGRESS: MessageSchema = checked(
    "IstioIngressListener",
    &[
        may("bind", TextOf(TextRule::AddressOrNone)),
        may("captureMode", Enum(CAPTURE)),
        may("connectionPool", Of(&CONNECTION_POOL)),
        may("defaultEndpoint", STRING),
        must("port", Of(&SIDECAR_PORT)),
        may("tls", Of(&SERVER_TLS)),
    ],
    checks::ingress,
);

static SIDECAR_PORT: MessageSchema = plain(
    "SidecarPort",
    &[
        may("name", TextOf(TextRule::LabelOrNone)),
        may("number", UINT32),
        may("protocol", TextOf(TextRule::Protocol)),
        may("targetPort", UINT32),
    ],
);

static OUTBOUND: MessageSchema = checked(
    "OutboundTrafficPolicy",
    &[
        may("egressProxy", Of(&DESTINATION)),
        may("mode", Enum(&["REGISTRY_ONLY", "ALLOW_ANY"])),
    ],
    checks::outbound,
);
