//! EnvoyFilter. What a patch holds is Envoy's, and not looked into.

use super::common::{LABEL_SELECTOR, TARGET_REFS};
use super::describe::FieldType::{Any, Enum, Map, Of, Text as TextOf};
use super::describe::{
    INT32, KindSchema, MessageSchema, STRING, UINT32, checked, list, may, must, plain,
};
use super::text::TextRule;
use meshladder_capture::Kind;

mod checks;

pub(super) static SCHEMA: KindSchema = KindSchema {
    kind: Kind::EnvoyFilter,
    versions: &["v1alpha3"],
    only: true,
    spec: &SPEC,
};

static SPEC: MessageSchema = checked(
    "EnvoyFilter",
    &[
        may("configPatches", list(&Of(&CONFIG_PATCH))),
        may("priority", INT32),
        may("targetRefs", TARGET_REFS),
        may("workloadSelector", Of(&LABEL_SELECTOR)),
    ],
    |node, walk| super::fields::at_most_one(node, &["workloadSelector", "targetRefs"], walk),
);

const APPLY_TO: &[&str] = &[
    "INVALID",
    "LISTENER",
    "FILTER_CHAIN",
    "NETWORK_FILTER",
    "HTTP_FILTER",
    "ROUTE_CONFIGURATION",
    "VIRTUAL_HOST",
    "HTTP_ROUTE",
    "CLUSTER",
    "EXTENSION_CONFIG",
    "BOOTSTRAP",
    "LISTENER_FILTER",
];

static CONFIG_PATCH: MessageSchema = checked(
    "EnvoyConfigObjectPatch",
    &[
        must("applyTo", Enum(APPLY_TO)),
        may("match", Of(&MATCH)),
        must("patch", Of(&PATCH)),
    ],
    checks::config_patch,
);

static MATCH: MessageSchema = checked(
    "EnvoyConfigObjectMatch",
    &[
        may("cluster", Of(&CLUSTER_MATCH)),
        may(
            "context",
            Enum(&[
                "ANY",
                "SIDECAR_INBOUND",
                "SIDECAR_OUTBOUND",
                "GATEWAY",
                "WAYPOINT",
            ]),
        ),
        may("listener", Of(&LISTENER_MATCH)),
        may("proxy", Of(&PROXY_MATCH)),
        may("routeConfiguration", Of(&ROUTE_CONFIGURATION_MATCH)),
        may("waypoint", Of(&WAYPOINT_MATCH)),
    ],
    |node, walk| {
        super::fields::at_most_one(
            node,
            &["listener", "routeConfiguration", "cluster", "waypoint"],
            walk,
        );
    },
);

static PROXY_MATCH: MessageSchema = checked(
    "ProxyMatch",
    &[
        may("metadata", Map(TextRule::Free, &STRING)),
        may("proxyVersion", STRING),
    ],
    checks::proxy_match,
);

static CLUSTER_MATCH: MessageSchema = plain(
    "ClusterMatch",
    &[
        may("name", STRING),
        may("portNumber", UINT32),
        may("service", STRING),
        may("subset", STRING),
    ],
);

static ROUTE_CONFIGURATION_MATCH: MessageSchema = plain(
    "RouteConfigurationMatch",
    &[
        may("gateway", STRING),
        may("name", STRING),
        may("portName", STRING),
        may("portNumber", UINT32),
        may("vhost", Of(&VIRTUAL_HOST_MATCH)),
    ],
);

static VIRTUAL_HOST_MATCH: MessageSchema = plain(
    "VirtualHostMatch",
    &[
        may("domainName", STRING),
        may("name", STRING),
        may("route", Of(&ROUTE_MATCH)),
    ],
);

static ROUTE_MATCH: MessageSchema = plain(
    "RouteMatch",
    &[
        may(
            "action",
            Enum(&["ANY", "ROUTE", "REDIRECT", "DIRECT_RESPONSE"]),
        ),
        may("name", STRING),
    ],
);

static LISTENER_MATCH: MessageSchema = plain(
    "ListenerMatch",
    &[
        may("filterChain", Of(&FILTER_CHAIN_MATCH)),
        may("listenerFilter", STRING),
        may("name", STRING),
        may("portName", STRING),
        may("portNumber", UINT32),
    ],
);

static FILTER_CHAIN_MATCH: MessageSchema = plain(
    "FilterChainMatch",
    &[
        may("applicationProtocols", STRING),
        may("destinationPort", UINT32),
        may("filter", Of(&FILTER_MATCH)),
        may("name", STRING),
        may("sni", STRING),
        may("transportProtocol", STRING),
    ],
);

static FILTER_MATCH: MessageSchema = plain(
    "FilterMatch",
    &[may("name", STRING), may("subFilter", Of(&SUB_FILTER_MATCH))],
);

static SUB_FILTER_MATCH: MessageSchema =
    plain("SubFilterMatch", &[must("name", TextOf(TextRule::Filled))]);

static WAYPOINT_MATCH: MessageSchema = plain(
    "WaypointMatch",
    &[
        may("filter", Of(&FILTER_MATCH)),
        may("portNumber", UINT32),
        may("route", Of(&WAYPOINT_ROUTE)),
    ],
);

static WAYPOINT_ROUTE: MessageSchema = plain("RouteMatch", &[may("name", STRING)]);

static PATCH: MessageSchema = plain(
    "Patch",
    &[
        may(
            "filterClass",
            Enum(&["UNSPECIFIED", "AUTHN", "AUTHZ", "STATS"]),
        ),
        must(
            "operation",
            Enum(&[
                "INVALID",
                "MERGE",
                "ADD",
                "REMOVE",
                "INSERT_BEFORE",
                "INSERT_AFTER",
                "INSERT_FIRST",
                "REPLACE",
            ]),
        ),
        may("value", Any),
    ],
);
