//! VirtualService.

use super::common::EXPORT_TO;
use super::describe::FieldType::{Bool, Enum, Map, Number, Of, Text as TextOf};
use super::describe::{
    COUNT, DurationRule, FieldType, KindSchema, LABELS, MessageSchema, PERCENT, PORT, PORT_OR_NONE,
    STRING, STRINGS, TIME, UINT32, checked, list, may, must, plain, some,
};
use super::text::TextRule;
use crate::schema::describe::FieldSchema;
use meshladder_capture::Kind;

mod checks;
mod hosts;

pub(super) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::VirtualService,
    versions: &["v1", "v1beta1", "v1alpha3"],
    only: true,
    spec: &SPEC,
};

static SPEC: MessageSchema = checked(
    "VirtualService",
    &[
        may("exportTo", EXPORT_TO),
        may("gateways", list(&TextOf(TextRule::Gateway))),
        may("hosts", STRINGS),
        may("http", list(&Of(&HTTP_ROUTE))),
        may("tcp", list(&Of(&TCP_ROUTE))),
        may("tls", list(&Of(&TLS_ROUTE))),
    ],
    checks::spec,
);

static HTTP_ROUTE: MessageSchema = checked(
    "HTTPRoute",
    &[
        may("corsPolicy", Of(&CORS_POLICY)),
        may("delegate", Of(&DELEGATE)),
        may("directResponse", Of(&DIRECT_RESPONSE)),
        may("fault", Of(&FAULT)),
        may("headers", Of(&HEADERS)),
        may("match", list(&Of(&HTTP_MATCH))),
        may("mirror", Of(&DESTINATION)),
        may("mirrorPercent", PERCENT),
        may("mirrorPercentage", Of(&PLAIN_PERCENT)),
        may("mirror_percent", PERCENT),
        may("mirrors", list(&Of(&MIRROR))),
        may("name", STRING),
        may("redirect", Of(&REDIRECT)),
        may("retries", Of(&RETRY)),
        may("rewrite", Of(&REWRITE)),
        may("route", list(&Of(&HTTP_DESTINATION))),
        may("timeout", TIME),
    ],
    checks::http_route,
);

static HTTP_MATCH: MessageSchema = checked(
    "HTTPMatchRequest",
    &[
        may("authority", Of(&STRING_MATCH)),
        may("gateways", list(&TextOf(TextRule::Gateway))),
        may("headers", Map(TextRule::HeaderOrClaim, &Of(&STRING_MATCH))),
        may("ignoreUriCase", Bool),
        may("method", Of(&STRING_MATCH)),
        may("name", STRING),
        may("port", PORT_OR_NONE),
        may("queryParams", Map(TextRule::Free, &Of(&STRING_MATCH))),
        may("scheme", Of(&STRING_MATCH)),
        may("sourceLabels", LABELS),
        may("sourceNamespace", TextOf(TextRule::LabelOrNone)),
        may("statPrefix", STRING),
        may("uri", Of(&URI_MATCH)),
        may(
            "withoutHeaders",
            Map(TextRule::HeaderOrClaim, &Of(&ABSENT_MATCH)),
        ),
    ],
    checks::http_match,
);

const MATCHES: &[FieldSchema] = &[
    may("exact", STRING),
    may("prefix", STRING),
    may("regex", TextOf(TextRule::Regex)),
];

static STRING_MATCH: MessageSchema = checked("StringMatch", MATCHES, checks::string_match);

/// "uri allows empty prefix match […] whereas scheme/method/authority does not"
static URI_MATCH: MessageSchema = checked("StringMatch", MATCHES, checks::one_match);

/// "`*` is NOT a RE2 style regex, it will be translated as present_match."
static ABSENT_MATCH: MessageSchema = checked(
    "StringMatch",
    &[
        may("exact", STRING),
        may("prefix", STRING),
        may("regex", STRING),
    ],
    checks::absent_match,
);

static HTTP_DESTINATION: MessageSchema = plain(
    "HTTPRouteDestination",
    &[
        must("destination", Of(&DESTINATION)),
        may("headers", Of(&HEADERS)),
        may("weight", COUNT),
    ],
);

pub(super) static DESTINATION: MessageSchema = checked(
    "Destination",
    &[
        must("host", TextOf(TextRule::HostPattern)),
        may("port", Of(&PORT_SELECTOR)),
        may("subset", TextOf(TextRule::LabelOrNone)),
    ],
    checks::destination,
);

pub(super) static PORT_SELECTOR: MessageSchema = plain("PortSelector", &[must("number", PORT)]);

static DELEGATE: MessageSchema =
    plain("Delegate", &[may("name", STRING), may("namespace", STRING)]);

static HEADERS: MessageSchema = plain(
    "Headers",
    &[
        may("request", Of(&REQUEST_HEADERS)),
        may("response", Of(&RESPONSE_HEADERS)),
    ],
);

const HEADER_VALUE: FieldType = TextOf(TextRule::HeaderValue);

static REQUEST_HEADERS: MessageSchema = plain(
    "HeaderOperations",
    &[
        may("add", Map(TextRule::HeaderSet, &HEADER_VALUE)),
        may("remove", list(&TextOf(TextRule::HeaderChanged))),
        may("set", Map(TextRule::HeaderSet, &HEADER_VALUE)),
    ],
);

static RESPONSE_HEADERS: MessageSchema = plain(
    "HeaderOperations",
    &[
        may("add", Map(TextRule::HeaderChanged, &HEADER_VALUE)),
        may("remove", list(&TextOf(TextRule::HeaderChanged))),
        may("set", Map(TextRule::HeaderChanged, &HEADER_VALUE)),
    ],
);

static MIRROR: MessageSchema = plain(
    "HTTPMirrorPolicy",
    &[
        must("destination", Of(&DESTINATION)),
        may("percentage", Of(&PLAIN_PERCENT)),
    ],
);

static PLAIN_PERCENT: MessageSchema = plain("Percent", &[may("value", Number(0.0, 100.0))]);

static FAULT_PERCENT: MessageSchema = checked(
    "Percent",
    &[may("value", Number(0.0, 100.0))],
    checks::fault_percent,
);

static CORS_POLICY: MessageSchema = plain(
    "CorsPolicy",
    &[
        may("allowCredentials", Bool),
        may("allowHeaders", list(&TextOf(TextRule::CorsHeader))),
        may("allowMethods", list(&TextOf(TextRule::CorsMethod))),
        may("allowOrigin", STRINGS),
        may("allowOrigins", list(&Of(&ORIGIN_MATCH))),
        may("exposeHeaders", list(&TextOf(TextRule::CorsHeader))),
        may("maxAge", FieldType::Time(DurationRule::Seconds)),
        may(
            "unmatchedPreflights",
            Enum(&["UNSPECIFIED", "FORWARD", "IGNORE"]),
        ),
    ],
);

static ORIGIN_MATCH: MessageSchema = checked("StringMatch", MATCHES, checks::origin_match);

static FAULT: MessageSchema = checked(
    "HTTPFaultInjection",
    &[may("abort", Of(&ABORT)), may("delay", Of(&DELAY))],
    |node, walk| {
        super::fields::at_least_one(node, &["abort", "delay"], walk);
    },
);

static ABORT: MessageSchema = checked(
    "HTTPFaultInjection.Abort",
    &[
        may("grpcStatus", TextOf(TextRule::GrpcStatus)),
        may("http2Error", STRING),
        may("httpStatus", FieldType::Int(200, 600)),
        may("percentage", Of(&FAULT_PERCENT)),
    ],
    checks::abort,
);

static DELAY: MessageSchema = checked(
    "HTTPFaultInjection.Delay",
    &[
        may("exponentialDelay", TIME),
        may("fixedDelay", TIME),
        may("percent", PERCENT),
        may("percentage", Of(&FAULT_PERCENT)),
    ],
    checks::delay,
);

static REDIRECT: MessageSchema = checked(
    "HTTPRedirect",
    &[
        may("authority", STRING),
        may(
            "derivePort",
            Enum(&["FROM_PROTOCOL_DEFAULT", "FROM_REQUEST_PORT"]),
        ),
        may("port", PORT_OR_NONE),
        may("redirectCode", UINT32),
        may("scheme", STRING),
        may("uri", STRING),
    ],
    checks::redirect,
);

static DIRECT_RESPONSE: MessageSchema = plain(
    "HTTPDirectResponse",
    &[
        may("body", Of(&BODY)),
        must("status", FieldType::Int(200, 600)),
    ],
);

/// "large direct_responses may impact control plane performance, must be less than 1MB"
static BODY: MessageSchema = checked(
    "HTTPBody",
    &[
        may("bytes", TextOf(TextRule::AtMost(1_398_104))),
        may("string", TextOf(TextRule::AtMost(1_048_576))),
    ],
    |node, walk| super::fields::at_most_one(node, &["string", "bytes"], walk),
);

static RETRY: MessageSchema = checked(
    "HTTPRetry",
    &[
        may("attempts", COUNT),
        may("backoff", TIME),
        may("perTryTimeout", TIME),
        may("retryIgnorePreviousHosts", Bool),
        may("retryOn", STRING),
        may("retryRemoteLocalities", Bool),
    ],
    checks::retry,
);

static REWRITE: MessageSchema = checked(
    "HTTPRewrite",
    &[
        may("authority", STRING),
        may("uri", STRING),
        may("uriRegexRewrite", Of(&REGEX_REWRITE)),
    ],
    checks::rewrite,
);

static REGEX_REWRITE: MessageSchema = plain(
    "RegexRewrite",
    &[
        must("match", TextOf(TextRule::Regex)),
        must("rewrite", TextOf(TextRule::Filled)),
    ],
);

static TLS_ROUTE: MessageSchema = checked(
    "TLSRoute",
    &[
        must("match", some(&Of(&TLS_MATCH))),
        must("route", some(&Of(&ROUTE_DESTINATION))),
    ],
    checks::weights,
);

static TLS_MATCH: MessageSchema = checked(
    "TLSMatchAttributes",
    &[
        may("destinationSubnets", list(&TextOf(TextRule::Range))),
        may("gateways", list(&TextOf(TextRule::Gateway))),
        may("port", PORT_OR_NONE),
        must("sniHosts", some(&STRING)),
        may("sourceLabels", LABELS),
        may("sourceNamespace", STRING),
    ],
    hosts::tls_match,
);

static TCP_ROUTE: MessageSchema = checked(
    "TCPRoute",
    &[
        may("match", list(&Of(&L4_MATCH))),
        must("route", some(&Of(&ROUTE_DESTINATION))),
    ],
    checks::weights,
);

static L4_MATCH: MessageSchema = checked(
    "L4MatchAttributes",
    &[
        may("destinationSubnets", list(&TextOf(TextRule::Range))),
        may("gateways", list(&TextOf(TextRule::Gateway))),
        may("port", PORT_OR_NONE),
        may("sourceLabels", LABELS),
        may("sourceNamespace", STRING),
        may("sourceSubnet", STRING),
    ],
    hosts::legacy_gateways,
);

static ROUTE_DESTINATION: MessageSchema = plain(
    "RouteDestination",
    &[must("destination", Of(&DESTINATION)), may("weight", COUNT)],
);
