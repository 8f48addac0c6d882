//! DestinationRule.

use super::common::{EXPORT_TO, SELECTOR};
use super::describe::FieldType::{Bool, Enum, Int, List, Map, Number, Of, Text as TextOf, Time};
use super::describe::{
    COUNT, DurationRule, KindSchema, LABELS, MessageSchema, PERCENT, PORT, STRING, STRINGS, TIME,
    UINT32, checked, list, may, must, plain,
};
use super::text::TextRule;
use super::virtual_service::PORT_SELECTOR;
use crate::schema::describe::INT32;
use meshladder_capture::Kind;

mod checks;
mod locality;

pub(super) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::DestinationRule,
    versions: &["v1", "v1beta1", "v1alpha3"],
    only: true,
    spec: &SPEC,
};

static SPEC: MessageSchema = checked(
    "DestinationRule",
    &[
        may("exportTo", EXPORT_TO),
        must("host", TextOf(TextRule::HostPattern)),
        may("subsets", list(&Of(&SUBSET))),
        may("trafficPolicy", Of(&TRAFFIC_POLICY)),
        may("workloadSelector", SELECTOR),
    ],
    checks::spec,
);

static SUBSET: MessageSchema = plain(
    "Subset",
    &[
        may("labels", LABELS),
        must("name", TextOf(TextRule::Label)),
        may("trafficPolicy", Of(&TRAFFIC_POLICY)),
    ],
);

static TRAFFIC_POLICY: MessageSchema = checked(
    "TrafficPolicy",
    &[
        may("connectionPool", Of(&CONNECTION_POOL)),
        may("loadBalancer", Of(&LOAD_BALANCER)),
        may("outlierDetection", Of(&OUTLIER_DETECTION)),
        may("portLevelSettings", List(&Of(&PORT_POLICY), 0, 4096)),
        may("proxyProtocol", Of(&PROXY_PROTOCOL)),
        may("retryBudget", Of(&RETRY_BUDGET)),
        may("tls", Of(&CLIENT_TLS)),
        may("tunnel", Of(&TUNNEL)),
    ],
    checks::traffic_policy,
);

static PORT_POLICY: MessageSchema = checked(
    "PortTrafficPolicy",
    &[
        may("connectionPool", Of(&CONNECTION_POOL)),
        may("loadBalancer", Of(&LOAD_BALANCER)),
        may("outlierDetection", Of(&OUTLIER_DETECTION)),
        must("port", Of(&PORT_SELECTOR_OR_NONE)),
        may("tls", Of(&CLIENT_TLS)),
    ],
    checks::port_policy,
);

static PORT_SELECTOR_OR_NONE: MessageSchema = plain(PORT_SELECTOR.name, &[may("number", UINT32)]);

static PROXY_PROTOCOL: MessageSchema =
    plain("ProxyProtocol", &[may("version", Enum(&["V1", "V2"]))]);

static RETRY_BUDGET: MessageSchema = plain(
    "RetryBudget",
    &[
        may("minRetryConcurrency", UINT32),
        may("percent", Number(0.0, 100.0)),
    ],
);

static TUNNEL: MessageSchema = checked(
    "TunnelSettings",
    &[
        may("protocol", STRING),
        must("targetHost", STRING),
        must("targetPort", PORT),
    ],
    checks::tunnel,
);

pub(super) static CONNECTION_POOL: MessageSchema = checked(
    "ConnectionPoolSettings",
    &[
        may("http", Of(&HTTP_SETTINGS)),
        may("tcp", Of(&TCP_SETTINGS)),
    ],
    |node, walk| {
        super::fields::at_least_one(node, &["http", "tcp"], walk);
    },
);

static HTTP_SETTINGS: MessageSchema = checked(
    "HTTPSettings",
    &[
        may(
            "h2UpgradePolicy",
            Enum(&["DEFAULT", "DO_NOT_UPGRADE", "UPGRADE"]),
        ),
        may("http1MaxPendingRequests", COUNT),
        may("http2MaxRequests", COUNT),
        may("idleTimeout", TIME),
        may("maxConcurrentStreams", COUNT),
        may("maxRequestsPerConnection", COUNT),
        may("maxRetries", COUNT),
        may("useClientProtocol", Bool),
    ],
    checks::http_settings,
);

static TCP_SETTINGS: MessageSchema = plain(
    "TCPSettings",
    &[
        may("connectTimeout", TIME),
        // "If set to 0s, the timeout will be disabled."
        may("idleTimeout", Time(DurationRule::Free)),
        may("maxConnectionDuration", TIME),
        may("maxConnections", COUNT),
        may("tcpKeepalive", Of(&KEEPALIVE)),
    ],
);

static KEEPALIVE: MessageSchema = plain(
    "TcpKeepalive",
    &[
        may("interval", TIME),
        may("probes", UINT32),
        may("time", TIME),
    ],
);

static OUTLIER_DETECTION: MessageSchema = checked(
    "OutlierDetection",
    &[
        may("baseEjectionTime", TIME),
        may("consecutive5xxErrors", UINT32),
        may("consecutiveErrors", INT32),
        may("consecutiveGatewayErrors", UINT32),
        may("consecutiveLocalOriginFailures", UINT32),
        may("interval", TIME),
        may("maxEjectionPercent", PERCENT),
        may("minHealthPercent", PERCENT),
        may("splitExternalLocalOriginErrors", Bool),
    ],
    checks::outlier_detection,
);

pub(super) static CLIENT_TLS: MessageSchema = checked(
    "ClientTLSSettings",
    &[
        may("caCertificates", STRING),
        may("caCrl", STRING),
        may("clientCertificate", STRING),
        may("credentialName", STRING),
        may("insecureSkipVerify", Bool),
        may(
            "mode",
            Enum(&["DISABLE", "SIMPLE", "MUTUAL", "ISTIO_MUTUAL"]),
        ),
        may("privateKey", STRING),
        may("sni", STRING),
        may("subjectAltNames", STRINGS),
    ],
    checks::client_tls,
);

static LOAD_BALANCER: MessageSchema = checked(
    "LoadBalancerSettings",
    &[
        may("consistentHash", Of(&CONSISTENT_HASH)),
        may("localityLbSetting", Of(&LOCALITY)),
        may(
            "simple",
            Enum(&[
                "UNSPECIFIED",
                "LEAST_CONN",
                "RANDOM",
                "PASSTHROUGH",
                "ROUND_ROBIN",
                "LEAST_REQUEST",
            ]),
        ),
        may("warmup", Of(&WARMUP)),
        may("warmupDurationSecs", TIME),
    ],
    |node, walk| super::fields::at_most_one(node, &["simple", "consistentHash"], walk),
);

static WARMUP: MessageSchema = plain(
    "WarmupConfiguration",
    &[
        may("aggression", Number(1.0, f64::MAX)),
        must("duration", TIME),
        may("minimumPercent", Number(0.0, 100.0)),
    ],
);

static CONSISTENT_HASH: MessageSchema = checked(
    "ConsistentHashLB",
    &[
        may("httpCookie", Of(&COOKIE)),
        may("httpHeaderName", STRING),
        may("httpQueryParameterName", STRING),
        may("maglev", Of(&MAGLEV)),
        may("minimumRingSize", Int(0, i64::MAX)),
        may("ringHash", Of(&RING_HASH)),
        may("useSourceIp", Bool),
    ],
    checks::consistent_hash,
);

static COOKIE: MessageSchema = plain(
    "HTTPCookie",
    &[
        may("attributes", list(&Of(&COOKIE_ATTRIBUTE))),
        must("name", TextOf(TextRule::Filled)),
        may("path", STRING),
        may("ttl", Time(DurationRule::Free)),
    ],
);

static COOKIE_ATTRIBUTE: MessageSchema =
    plain("Attribute", &[must("name", STRING), may("value", STRING)]);

static RING_HASH: MessageSchema = plain("RingHash", &[may("minimumRingSize", Int(0, i64::MAX))]);

/// "tableSize must be less than 5000011 for maglev"
static MAGLEV: MessageSchema = checked(
    "MagLev",
    &[may("tableSize", Int(0, 5_000_010))],
    checks::maglev,
);

static LOCALITY: MessageSchema = checked(
    "LocalityLoadBalancerSetting",
    &[
        may("distribute", list(&Of(&DISTRIBUTE))),
        may("enabled", Bool),
        may("failover", list(&Of(&FAILOVER))),
        may("failoverPriority", STRINGS),
    ],
    locality::setting,
);

static DISTRIBUTE: MessageSchema = checked(
    "Distribute",
    &[
        may("from", STRING),
        may("to", Map(TextRule::Free, &Int(1, 100))),
    ],
    locality::distribute,
);

static FAILOVER: MessageSchema = checked(
    "Failover",
    &[may("from", STRING), may("to", STRING)],
    locality::failover,
);
