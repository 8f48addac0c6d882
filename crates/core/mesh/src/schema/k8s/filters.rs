//! Filters of routes of the Gateway API.

use super::{BACKEND_REF, FRACTION, NAME, OBJECT_REF, typed};
use crate::schema::describe::FieldType::{Any, Bool, Enum, Int, List, Of, Text as TextOf};
use crate::schema::describe::{
    INT32, MessageSchema, PERCENT, PORT, STRING, STRINGS, checked, may, must, plain,
};
use crate::schema::fields::at_most_one;
use crate::schema::text::TextRule;

const HTTP_TYPES: &[&str] = &[
    "RequestHeaderModifier",
    "ResponseHeaderModifier",
    "RequestMirror",
    "RequestRedirect",
    "URLRewrite",
    "ExtensionRef",
    "CORS",
    "ExternalAuth",
];

const FIELD_OF: [(&str, &str); 8] = [
    ("RequestHeaderModifier", "requestHeaderModifier"),
    ("ResponseHeaderModifier", "responseHeaderModifier"),
    ("RequestMirror", "requestMirror"),
    ("RequestRedirect", "requestRedirect"),
    ("URLRewrite", "urlRewrite"),
    ("ExtensionRef", "extensionRef"),
    ("CORS", "cors"),
    ("ExternalAuth", "externalAuth"),
];

pub(super) static HTTP_FILTER: MessageSchema = checked(
    "HTTPRouteFilter",
    &[
        may("cors", Of(&CORS)),
        may("extensionRef", Of(&OBJECT_REF)),
        may("externalAuth", Any),
        may("requestHeaderModifier", Of(&HEADERS)),
        may("requestMirror", Of(&MIRROR)),
        may("requestRedirect", Of(&REDIRECT)),
        may("responseHeaderModifier", Of(&HEADERS)),
        must("type", Enum(HTTP_TYPES)),
        may("urlRewrite", Of(&REWRITE)),
    ],
    |node, walk| typed(node, &FIELD_OF, walk),
);

pub(super) static GRPC_FILTER: MessageSchema = checked(
    "GRPCRouteFilter",
    &[
        may("extensionRef", Of(&OBJECT_REF)),
        may("requestHeaderModifier", Of(&HEADERS)),
        may("requestMirror", Of(&MIRROR)),
        may("responseHeaderModifier", Of(&HEADERS)),
        must(
            "type",
            Enum(&[
                "RequestHeaderModifier",
                "ResponseHeaderModifier",
                "RequestMirror",
                "ExtensionRef",
            ]),
        ),
    ],
    |node, walk| {
        typed(
            node,
            &[FIELD_OF[0], FIELD_OF[1], FIELD_OF[2], FIELD_OF[5]],
            walk,
        );
    },
);

static HEADERS: MessageSchema = plain(
    "HTTPHeaderFilter",
    &[
        may("add", List(&Of(&HEADER), 0, 16)),
        may("remove", List(&STRING, 0, 16)),
        may("set", List(&Of(&HEADER), 0, 16)),
    ],
);

static HEADER: MessageSchema = plain("HTTPHeader", &[must("name", NAME), must("value", STRING)]);

static MIRROR: MessageSchema = checked(
    "HTTPRequestMirrorFilter",
    &[
        must("backendRef", Of(&BACKEND_REF)),
        may("fraction", Of(&FRACTION)),
        may("percent", PERCENT),
    ],
    |node, walk| at_most_one(node, &["percent", "fraction"], walk),
);

static REDIRECT: MessageSchema = plain(
    "HTTPRequestRedirectFilter",
    &[
        may("hostname", TextOf(TextRule::PreciseHostname)),
        may("path", Of(&PATH)),
        may("port", PORT),
        may("scheme", Enum(&["http", "https"])),
        may("statusCode", Int(301, 308)),
    ],
);

static REWRITE: MessageSchema = plain(
    "HTTPURLRewriteFilter",
    &[
        may("hostname", TextOf(TextRule::PreciseHostname)),
        may("path", Of(&PATH)),
    ],
);

static PATH: MessageSchema = checked(
    "HTTPPathModifier",
    &[
        may("replaceFullPath", STRING),
        may("replacePrefixMatch", STRING),
        must("type", Enum(&["ReplaceFullPath", "ReplacePrefixMatch"])),
    ],
    |node, walk| {
        typed(
            node,
            &[
                ("ReplaceFullPath", "replaceFullPath"),
                ("ReplacePrefixMatch", "replacePrefixMatch"),
            ],
            walk,
        );
    },
);

static CORS: MessageSchema = plain(
    "HTTPCORSFilter",
    &[
        may("allowCredentials", Bool),
        may("allowHeaders", STRINGS),
        may("allowMethods", STRINGS),
        may("allowOrigins", STRINGS),
        may("exposeHeaders", STRINGS),
        may("maxAge", INT32),
    ],
);
