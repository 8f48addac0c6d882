//! Telemetry.

use super::common::{SELECTOR, TARGET_REF, TARGET_REFS, one_selection};
use super::describe::FieldType::{Bool, Enum, List, Map, Number, Of, Text as TextOf};
use super::describe::{
    FieldType, KindSchema, MessageSchema, TIME, checked, list, may, must, plain,
};
use super::fault::Flaw;
use super::fields::{at_most_one, filled, items, text};
use super::text::TextRule;
use super::walk::SchemaWalk;
use crate::schema::describe::STRING;
use meshladder_capture::Kind;
use meshladder_text::tree::Node;

pub(super) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::Telemetry,
    versions: &["v1", "v1alpha1"],
    only: true,
    spec: &SPEC,
};

static SPEC: MessageSchema = checked(
    "Telemetry",
    &[
        may("accessLogging", list(&Of(&ACCESS_LOGGING))),
        may("metrics", list(&Of(&METRICS))),
        may("selector", SELECTOR),
        may("targetRef", Of(&TARGET_REF)),
        may("targetRefs", TARGET_REFS),
        may("tracing", list(&Of(&TRACING))),
    ],
    spec,
);

const PROVIDERS: FieldType = List(&Of(&PROVIDER), 0, usize::MAX);
const MODE: FieldType = Enum(&["CLIENT_AND_SERVER", "CLIENT", "SERVER"]);

static PROVIDER: MessageSchema = plain("ProviderRef", &[must("name", TextOf(TextRule::Filled))]);

static ACCESS_LOGGING: MessageSchema = plain(
    "AccessLogging",
    &[
        may("disabled", Bool),
        may("filter", Of(&FILTER)),
        may("match", Of(&MODE_MATCH)),
        may("providers", PROVIDERS),
    ],
);

static FILTER: MessageSchema = plain("AccessLogging.Filter", &[may("expression", STRING)]);

static MODE_MATCH: MessageSchema = plain("LogSelector", &[may("mode", MODE)]);

static METRICS: MessageSchema = plain(
    "Metrics",
    &[
        may("overrides", list(&Of(&OVERRIDE))),
        may("providers", PROVIDERS),
        may("reportingInterval", TIME),
    ],
);

static OVERRIDE: MessageSchema = plain(
    "MetricsOverrides",
    &[
        may("disabled", Bool),
        may("match", Of(&METRIC_MATCH)),
        may("tagOverrides", Map(TextRule::Filled, &Of(&TAG_OVERRIDE))),
    ],
);

const METRIC: &[&str] = &[
    "ALL_METRICS",
    "REQUEST_COUNT",
    "REQUEST_DURATION",
    "REQUEST_SIZE",
    "RESPONSE_SIZE",
    "TCP_OPENED_CONNECTIONS",
    "TCP_CLOSED_CONNECTIONS",
    "TCP_SENT_BYTES",
    "TCP_RECEIVED_BYTES",
    "GRPC_REQUEST_MESSAGES",
    "GRPC_RESPONSE_MESSAGES",
];

static METRIC_MATCH: MessageSchema = checked(
    "MetricSelector",
    &[
        may("customMetric", TextOf(TextRule::Filled)),
        may("metric", Enum(METRIC)),
        may("mode", MODE),
    ],
    |node, walk| at_most_one(node, &["metric", "customMetric"], walk),
);

static TAG_OVERRIDE: MessageSchema = checked(
    "MetricsOverrides.TagOverride",
    &[
        may("operation", Enum(&["UPSERT", "REMOVE"])),
        may("value", STRING),
    ],
    tag_override,
);

static TRACING: MessageSchema = checked(
    "Tracing",
    &[
        may("customTags", Map(TextRule::Filled, &Of(&CUSTOM_TAG))),
        may("disableContextPropagation", Bool),
        may("disableSpanReporting", Bool),
        may("enableIstioTags", Bool),
        may("match", Of(&MODE_MATCH)),
        may("providers", PROVIDERS),
        may("randomSamplingPercentage", Number(0.0, 100.0)),
        may("useRequestIdForTraceSampling", Bool),
    ],
    tracing,
);

static CUSTOM_TAG: MessageSchema = checked(
    "Tracing.CustomTag",
    &[
        may("environment", Of(&NAMED_TAG)),
        may("formatter", Of(&FORMATTER_TAG)),
        may("header", Of(&NAMED_TAG)),
        may("literal", Of(&LITERAL_TAG)),
    ],
    |node, walk| {
        at_most_one(
            node,
            &["literal", "environment", "header", "formatter"],
            walk,
        );
    },
);

static NAMED_TAG: MessageSchema = plain(
    "Tracing.RequestHeader",
    &[
        may("defaultValue", STRING),
        must("name", TextOf(TextRule::Filled)),
    ],
);

static LITERAL_TAG: MessageSchema = plain(
    "Tracing.Literal",
    &[must("value", TextOf(TextRule::Filled))],
);

static FORMATTER_TAG: MessageSchema = plain(
    "Tracing.Formatter",
    &[must("value", TextOf(TextRule::Filled))],
);

/// "multiple tracing is not currently supported"
fn spec<'n>(spec: &'n Node, walk: &mut SchemaWalk<'n>) {
    one_selection(spec, walk);
    for extra in items(spec, "tracing").iter().skip(1) {
        walk.fault(
            Flaw::NoEffect,
            extra,
            "is one more entry, and only one is supported",
        );
    }
}

/// "multiple providers is not currently supported"
fn tracing<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    for extra in items(node, "providers").iter().skip(1) {
        walk.fault(
            Flaw::NoEffect,
            extra,
            "is one more provider, and only one is supported",
        );
    }
}

/// "tagOverrides.value must be set when operation is UPSERT"
fn tag_override<'n>(node: &'n Node, walk: &mut SchemaWalk<'n>) {
    match (text(node, "operation"), filled(node, "value")) {
        ("REMOVE", Some(value)) => {
            walk.fault(
                Flaw::Misfit,
                value,
                "is set, and operation REMOVE takes none",
            );
        }
        ("" | "UPSERT", None) => {
            walk.fault(
                Flaw::MissingField,
                node,
                "has operation UPSERT and lacks value",
            );
        }
        _ => {}
    }
}
