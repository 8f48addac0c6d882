//! Gateway.

use super::describe::FieldType::{Bool, Enum, List, Map, Of, Text as TextOf};
use super::describe::{
    KindSchema, MessageSchema, STRING, STRINGS, UINT32, checked, may, must, plain, some,
};
use super::text::TextRule;
use meshladder_capture::Kind;

mod checks;
mod tls;

pub(super) use checks::{hostname, is_socket};

pub(super) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::Gateway,
    versions: &["v1", "v1beta1", "v1alpha3"],
    only: true,
    spec: &SPEC,
};

static SPEC: MessageSchema = checked(
    "Gateway",
    &[
        may("selector", Map(TextRule::Free, &STRING)),
        must("servers", some(&Of(&SERVER))),
    ],
    checks::spec,
);

static SERVER: MessageSchema = checked(
    "Server",
    &[
        may("bind", STRING),
        may("defaultEndpoint", STRING),
        must("hosts", some(&STRING)),
        may("name", STRING),
        must("port", Of(&SERVER_PORT)),
        may("tls", Of(&SERVER_TLS)),
    ],
    checks::server,
);

static SERVER_PORT: MessageSchema = plain(
    "Port",
    &[
        must("name", TextOf(TextRule::Filled)),
        must("number", UINT32),
        must("protocol", TextOf(TextRule::NeededProtocol)),
        may("targetPort", UINT32),
    ],
);

const VERSIONS: &[&str] = &["TLS_AUTO", "TLSV1_0", "TLSV1_1", "TLSV1_2", "TLSV1_3"];

pub(super) static SERVER_TLS: MessageSchema = checked(
    "ServerTLSSettings",
    &[
        may("caCertCredentialName", STRING),
        may("caCertificates", STRING),
        may("caCrl", STRING),
        may("cipherSuites", STRINGS),
        may("credentialName", STRING),
        may("credentialNames", List(&STRING, 1, 2)),
        may("httpsRedirect", Bool),
        may("maxProtocolVersion", Enum(VERSIONS)),
        may("minProtocolVersion", Enum(VERSIONS)),
        may(
            "mode",
            Enum(&[
                "PASSTHROUGH",
                "SIMPLE",
                "MUTUAL",
                "AUTO_PASSTHROUGH",
                "ISTIO_MUTUAL",
                "OPTIONAL_MUTUAL",
            ]),
        ),
        may("privateKey", STRING),
        may("serverCertificate", STRING),
        may("subjectAltNames", STRINGS),
        may("tlsCertificates", List(&Of(&TLS_CERTIFICATE), 1, 2)),
        may("verifyCertificateHash", STRINGS),
        may("verifyCertificateSpki", STRINGS),
    ],
    tls::settings,
);

static TLS_CERTIFICATE: MessageSchema = plain(
    "TLSCertificate",
    &[
        may("caCertificates", STRING),
        may("privateKey", STRING),
        may("serverCertificate", STRING),
    ],
);
