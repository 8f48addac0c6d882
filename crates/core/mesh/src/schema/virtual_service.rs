//! VirtualService.

use super::common::EXPORT_TO;
use super::describe::Type::{Bool, Enum, Map, Number, Of, Text as TextOf};
use super::describe::{
    COUNT, Field, LABELS, Message, PERCENT, PORT, PORT_OR_NONE, STRING, STRINGS, Schema, Span,
    TIME, Type, UINT32, checked, list, may, must, plain, some,
};
use super::text::Text;
use meshladder_capture::Kind;

mod checks;
mod hosts;

pub(super) static SCHEMA: Schema = Schema {
    kind: Kind::VirtualService,
    versions: &["v1", "v1beta1", "v1alpha3"],
    only: true,
    spec: &SPEC,
};

static SPEC: Message = checked(
    "VirtualService",
    &[
        may("exportTo", EXPORT_TO),
        may("gateways", list(&TextOf(Text::Gateway))),
        may("hosts", STRINGS),
        may("http", list(&Of(&HTTP_ROUTE))),
        may("tcp", list(&Of(&TCP_ROUTE))),
        may("tls", list(&Of(&TLS_ROUTE))),
    ],
    checks::spec,
);

static HTTP_ROUTE: Message = checked(
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

static HTTP_MATCH: Message = checked(
    "HTTPMatchRequest",
    &[
        may("authority", Of(&STRING_MATCH)),
        may("gateways", list(&TextOf(Text::Gateway))),
        may("headers", Map(Text::HeaderOrClaim, &Of(&STRING_MATCH))),
        may("ignoreUriCase", Bool),
        may("method", Of(&STRING_MATCH)),
        may("name", STRING),
        may("port", PORT_OR_NONE),
        may("queryParams", Map(Text::Free, &Of(&STRING_MATCH))),
        may("scheme", Of(&STRING_MATCH)),
        may("sourceLabels", LABELS),
        may("sourceNamespace", TextOf(Text::LabelOrNone)),
        may("statPrefix", STRING),
        may("uri", Of(&URI_MATCH)),
        may(
            "withoutHeaders",
            Map(Text::HeaderOrClaim, &Of(&ABSENT_MATCH)),
        ),
    ],
    checks::http_match,
);

const MATCHES: &[Field] = &[
    may("exact", STRING),
    may("prefix", STRING),
    may("regex", TextOf(Text::Regex)),
];

static STRING_MATCH: Message = checked("StringMatch", MATCHES, checks::string_match);

/// "uri allows empty prefix match […] whereas scheme/method/authority does not"
static URI_MATCH: Message = checked("StringMatch", MATCHES, checks::one_match);

/// "`*` is NOT a RE2 style regex, it will be translated as present_match."
static ABSENT_MATCH: Message = checked(
    "StringMatch",
    &[
        may("exact", STRING),
        may("prefix", STRING),
        may("regex", STRING),
    ],
    checks::absent_match,
);

static HTTP_DESTINATION: Message = plain(
    "HTTPRouteDestination",
    &[
        must("destination", Of(&DESTINATION)),
        may("headers", Of(&HEADERS)),
        may("weight", COUNT),
    ],
);

pub(super) static DESTINATION: Message = checked(
    "Destination",
    &[
        must("host", TextOf(Text::HostPattern)),
        may("port", Of(&PORT_SELECTOR)),
        may("subset", TextOf(Text::LabelOrNone)),
    ],
    checks::destination,
);

pub(super) static PORT_SELECTOR: Message = plain("PortSelector", &[must("number", PORT)]);

static DELEGATE: Message = plain("Delegate", &[may("name", STRING), may("namespace", STRING)]);

static HEADERS: Message = plain(
    "Headers",
    &[
        may("request", Of(&REQUEST_HEADERS)),
        may("response", Of(&RESPONSE_HEADERS)),
    ],
);

const HEADER_VALUE: Type = TextOf(Text::HeaderValue);

static REQUEST_HEADERS: Message = plain(
    "HeaderOperations",
    &[
        may("add", Map(Text::HeaderSet, &HEADER_VALUE)),
        may("remove", list(&TextOf(Text::HeaderChanged))),
        may("set", Map(Text::HeaderSet, &HEADER_VALUE)),
    ],
);

static RESPONSE_HEADERS: Message = plain(
    "HeaderOperations",
    &[
        may("add", Map(Text::HeaderChanged, &HEADER_VALUE)),
        may("remove", list(&TextOf(Text::HeaderChanged))),
        may("set", Map(Text::HeaderChanged, &HEADER_VALUE)),
    ],
);

static MIRROR: Message = plain(
    "HTTPMirrorPolicy",
    &[
        must("destination", Of(&DESTINATION)),
        may("percentage", Of(&PLAIN_PERCENT)),
    ],
);

static PLAIN_PERCENT: Message = plain("Percent", &[may("value", Number(0.0, 100.0))]);

static FAULT_PERCENT: Message = checked(
    "Percent",
    &[may("value", Number(0.0, 100.0))],
    checks::fault_percent,
);

static CORS_POLICY: Message = plain(
    "CorsPolicy",
    &[
        may("allowCredentials", Bool),
        may("allowHeaders", list(&TextOf(Text::CorsHeader))),
        may("allowMethods", list(&TextOf(Text::CorsMethod))),
        may("allowOrigin", STRINGS),
        may("allowOrigins", list(&Of(&ORIGIN_MATCH))),
        may("exposeHeaders", list(&TextOf(Text::CorsHeader))),
        may("maxAge", Type::Time(Span::Seconds)),
        may(
            "unmatchedPreflights",
            Enum(&["UNSPECIFIED", "FORWARD", "IGNORE"]),
        ),
    ],
);

static ORIGIN_MATCH: Message = checked("StringMatch", MATCHES, checks::origin_match);

static FAULT: Message = checked(
    "HTTPFaultInjection",
    &[may("abort", Of(&ABORT)), may("delay", Of(&DELAY))],
    |node, walk| {
        super::fields::at_least_one(node, &["abort", "delay"], walk);
    },
);

static ABORT: Message = checked(
    "HTTPFaultInjection.Abort",
    &[
        may("grpcStatus", TextOf(Text::GrpcStatus)),
        may("http2Error", STRING),
        may("httpStatus", Type::Int(200, 600)),
        may("percentage", Of(&FAULT_PERCENT)),
    ],
    checks::abort,
);

static DELAY: Message = checked(
    "HTTPFaultInjection.Delay",
    &[
        may("exponentialDelay", TIME),
        may("fixedDelay", TIME),
        may("percent", PERCENT),
        may("percentage", Of(&FAULT_PERCENT)),
    ],
    checks::delay,
);

static REDIRECT: Message = checked(
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

static DIRECT_RESPONSE: Message = plain(
    "HTTPDirectResponse",
    &[may("body", Of(&BODY)), must("status", Type::Int(200, 600))],
);

/// "large direct_responses may impact control plane performance, must be less than 1MB"
static BODY: Message = checked(
    "HTTPBody",
    &[
        may("bytes", TextOf(Text::AtMost(1_398_104))),
        may("string", TextOf(Text::AtMost(1_048_576))),
    ],
    |node, walk| super::fields::at_most_one(node, &["string", "bytes"], walk),
);

static RETRY: Message = checked(
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

static REWRITE: Message = checked(
    "HTTPRewrite",
    &[
        may("authority", STRING),
        may("uri", STRING),
        may("uriRegexRewrite", Of(&REGEX_REWRITE)),
    ],
    checks::rewrite,
);

static REGEX_REWRITE: Message = plain(
    "RegexRewrite",
    &[
        must("match", TextOf(Text::Regex)),
        must("rewrite", TextOf(Text::Filled)),
    ],
);

static TLS_ROUTE: Message = checked(
    "TLSRoute",
    &[
        must("match", some(&Of(&TLS_MATCH))),
        must("route", some(&Of(&ROUTE_DESTINATION))),
    ],
    checks::weights,
);

static TLS_MATCH: Message = checked(
    "TLSMatchAttributes",
    &[
        may("destinationSubnets", list(&TextOf(Text::Range))),
        may("gateways", list(&TextOf(Text::Gateway))),
        may("port", PORT_OR_NONE),
        must("sniHosts", some(&STRING)),
        may("sourceLabels", LABELS),
        may("sourceNamespace", STRING),
    ],
    hosts::tls_match,
);

static TCP_ROUTE: Message = checked(
    "TCPRoute",
    &[
        may("match", list(&Of(&L4_MATCH))),
        must("route", some(&Of(&ROUTE_DESTINATION))),
    ],
    checks::weights,
);

static L4_MATCH: Message = checked(
    "L4MatchAttributes",
    &[
        may("destinationSubnets", list(&TextOf(Text::Range))),
        may("gateways", list(&TextOf(Text::Gateway))),
        may("port", PORT_OR_NONE),
        may("sourceLabels", LABELS),
        may("sourceNamespace", STRING),
        may("sourceSubnet", STRING),
    ],
    hosts::legacy_gateways,
);

static ROUTE_DESTINATION: Message = plain(
    "RouteDestination",
    &[must("destination", Of(&DESTINATION)), may("weight", COUNT)],
);
