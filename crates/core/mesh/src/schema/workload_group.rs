//! WorkloadGroup.

use super::describe::FieldType::{Int, List, Map, Of, Text as TextOf};
use super::describe::{COUNT, KindSchema, MessageSchema, STRING, checked, may, must, plain};
use super::fault::Flaw;
use super::fields::{at_least_one, at_most_one, filled};
use super::text::TextRule;
use super::workload_entry::TEMPLATE;
use crate::schema::describe::LABELS;
use crate::schema::describe::PORT;
use meshladder_capture::Kind;

pub(super) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::WorkloadGroup,
    versions: &["v1", "v1beta1", "v1alpha3"],
    only: true,
    spec: &SPEC,
};

static SPEC: MessageSchema = plain(
    "WorkloadGroup",
    &[
        may("metadata", Of(&METADATA)),
        may("probe", Of(&PROBE)),
        must("template", Of(&TEMPLATE)),
    ],
);

static METADATA: MessageSchema = plain(
    "ObjectMeta",
    &[
        may("annotations", Map(TextRule::Free, &STRING)),
        may("labels", LABELS),
    ],
);

static PROBE: MessageSchema = checked(
    "ReadinessProbe",
    &[
        may("exec", Of(&EXEC)),
        may("failureThreshold", COUNT),
        may("grpc", Of(&GRPC)),
        may("httpGet", Of(&HTTP_GET)),
        may("initialDelaySeconds", COUNT),
        may("periodSeconds", COUNT),
        may("successThreshold", COUNT),
        may("tcpSocket", Of(&TCP_SOCKET)),
        may("timeoutSeconds", COUNT),
    ],
    |node, walk| {
        at_most_one(node, &["httpGet", "tcpSocket", "exec", "grpc"], walk);
        at_least_one(node, &["httpGet", "tcpSocket", "exec", "grpc"], walk);
    },
);

static EXEC: MessageSchema = plain(
    "ExecHealthCheckConfig",
    &[must("command", List(&STRING, 1, usize::MAX))],
);

static GRPC: MessageSchema = plain(
    "GrpcHealthCheckConfig",
    &[may("port", Int(0, 65535)), may("service", STRING)],
);

static TCP_SOCKET: MessageSchema = plain(
    "TCPHealthCheckConfig",
    &[may("host", STRING), must("port", PORT)],
);

static HTTP_GET: MessageSchema = checked(
    "HTTPHealthCheckConfig",
    &[
        may("host", STRING),
        may("httpHeaders", List(&Of(&HTTP_HEADER), 0, usize::MAX)),
        may("path", STRING),
        must("port", PORT),
        may("scheme", STRING),
    ],
    |node, walk| {
        if let Some(scheme) =
            filled(node, "scheme").filter(|scheme| !matches!(scheme.str(), Some("HTTP" | "HTTPS")))
        {
            walk.value_fault(Flaw::InvalidValue, scheme, "not HTTP or HTTPS");
        }
    },
);

static HTTP_HEADER: MessageSchema = plain(
    "HTTPHeader",
    &[must("name", TextOf(TextRule::Header)), may("value", STRING)],
);
