//! The panels, row by row.

use super::{Panel, PanelKind, PanelRow};

/// Every row.
pub static ROWS: &[PanelRow] = &[
    PanelRow {
        title: "Response flags",
        panels: &[
            Panel {
                title: "Requests with a flag, by class",
                about: "No route, no healthy upstream, connection failure, timeout, overflow, … A request may be in two classes",
                kind: PanelKind::Lines,
                unit: "reqps",
                queries: &[(
                    "sum by (class) (meshladder:flagged_requests:rate5m{destination_service_namespace=~\"$namespace\",destination_service_name=~\"$service\"}) > 0",
                    "{{class}}",
                )],
            },
            Panel {
                title: "Requests with a flag, by hop",
                about: "A flag is set by the proxy that saw it: source is the client's proxy or a gateway, destination the server's",
                kind: PanelKind::Lines,
                unit: "reqps",
                queries: &[(
                    "sum by (reporter, response_flags) (rate(istio_requests_total{response_flags!=\"-\",destination_service_namespace=~\"$namespace\",destination_service_name=~\"$service\"}[5m])) > 0",
                    "{{reporter}} {{response_flags}}",
                )],
            },
        ],
    },
    PanelRow {
        title: "Where",
        panels: &[
            Panel {
                title: "Flags by service",
                about: "The ten with most",
                kind: PanelKind::Lines,
                unit: "reqps",
                queries: &[(
                    "topk(10, sum by (destination_service_namespace, destination_service_name, response_flags) (rate(istio_requests_total{response_flags!=\"-\",destination_service_namespace=~\"$namespace\",destination_service_name=~\"$service\"}[5m])) > 0)",
                    "{{destination_service_name}}.{{destination_service_namespace}} {{response_flags}}",
                )],
            },
            Panel {
                title: "Flags by version",
                about: "A canary that fails shows here, and not in the service's sum",
                kind: PanelKind::Lines,
                unit: "reqps",
                queries: &[(
                    "topk(10, sum by (destination_service_name, destination_version, response_flags) (rate(istio_requests_total{response_flags!=\"-\",destination_service_namespace=~\"$namespace\",destination_service_name=~\"$service\"}[5m])) > 0)",
                    "{{destination_service_name}} {{destination_version}} {{response_flags}}",
                )],
            },
            Panel {
                title: "TCP connections with a flag",
                about: "TCP has no status: the flag of a closed connection is all there is",
                kind: PanelKind::Lines,
                unit: "cps",
                queries: &[(
                    "topk(10, sum by (destination_service_name, response_flags) (rate(istio_tcp_connections_closed_total{response_flags!=\"-\",destination_service_namespace=~\"$namespace\",destination_service_name=~\"$service\"}[5m])) > 0)",
                    "{{destination_service_name}} {{response_flags}}",
                )],
            },
        ],
    },
    PanelRow {
        title: "Objective and canaries",
        panels: &[
            Panel {
                title: "Share of requests that failed",
                about: "By status or by flag, as the side saw it that saw more; clients that went away (DC, DR) are left out",
                kind: PanelKind::Lines,
                unit: "percentunit",
                queries: &[
                    (
                        "topk(10, meshladder:error_ratio:rate5m{destination_service_namespace=~\"$namespace\",destination_service_name=~\"$service\"} > 0)",
                        "{{destination_service_name}} 5m",
                    ),
                    (
                        "topk(10, meshladder:error_ratio:rate1h{destination_service_namespace=~\"$namespace\",destination_service_name=~\"$service\"} > 0)",
                        "{{destination_service_name}} 1h",
                    ),
                ],
            },
            Panel {
                title: "Versions: share seen and weight",
                about: "Two lines a version that should lie on one another",
                kind: PanelKind::Lines,
                unit: "percentunit",
                queries: &[
                    (
                        "meshladder:version_share:ratio30m{destination_service_namespace=~\"$namespace\",destination_service_name=~\"$service\"} and on (destination_service_namespace, destination_service_name) meshladder:route_weight",
                        "{{destination_service_name}} {{destination_version}} seen",
                    ),
                    (
                        "meshladder:route_weight{destination_service_namespace=~\"$namespace\",destination_service_name=~\"$service\"}",
                        "{{destination_service_name}} {{destination_version}} weight",
                    ),
                ],
            },
        ],
    },
    PanelRow {
        title: "Sync",
        panels: &[
            Panel {
                title: "Proxies by state",
                about: "Resource types of all proxies: SYNCED, STALE, NOT SENT, ERROR",
                kind: PanelKind::Lines,
                unit: "short",
                queries: &[(
                    "count by (state) (max by (namespace, pod, type, state) (meshladder_proxy_sync))",
                    "{{state}}",
                )],
            },
            Panel {
                title: "Refused, disconnected",
                about: "NACKs as istiod counts them, proxies that refuse, and proxies that no istiod knows",
                kind: PanelKind::Lines,
                unit: "short",
                queries: &[
                    (
                        "sum by (type) (increase(pilot_total_xds_rejects[10m]))",
                        "refused {{type}}",
                    ),
                    (
                        "count(max by (namespace, pod) (meshladder_proxy_sync{state=\"ERROR\"}))",
                        "proxies that refuse",
                    ),
                    (
                        "count(max by (namespace, pod) (meshladder_proxy_connected) == 0)",
                        "disconnected",
                    ),
                ],
            },
            Panel {
                title: "From a change to the proxies",
                about: "99 of 100 pushes are quicker",
                kind: PanelKind::Lines,
                unit: "s",
                queries: &[(
                    "histogram_quantile(0.99, sum by (le) (rate(pilot_proxy_convergence_time_bucket[10m])))",
                    "99 %",
                )],
            },
        ],
    },
    PanelRow {
        title: "Certificates and state",
        panels: &[
            Panel {
                title: "Certificates that expire first",
                about: "Workload certificates live for a day and are renewed half-way",
                kind: PanelKind::Table,
                unit: "s",
                queries: &[(
                    "bottomk(10, min by (namespace, pod, name) (meshladder_certificate_not_after_seconds) - time())",
                    "",
                )],
            },
            Panel {
                title: "Findings",
                about: "What `meshladder check` finds, by code",
                kind: PanelKind::Table,
                unit: "short",
                queries: &[(
                    "max by (code, name, rung, severity) (meshladder_findings)",
                    "",
                )],
            },
            Panel {
                title: "Proxies to look at",
                about: "Ejected endpoints, endpoints that are gone, loggers at debug or trace",
                kind: PanelKind::Numbers,
                unit: "short",
                queries: &[
                    (
                        "sum(max by (namespace, pod) (meshladder_proxy_ejected_endpoints))",
                        "ejected endpoints",
                    ),
                    (
                        "sum(max by (namespace, pod) (meshladder_proxy_ghost_endpoints))",
                        "endpoints that are gone",
                    ),
                    (
                        "count(max by (namespace, pod) (meshladder_proxy_loggers{level=~\"debug|trace\"})) or vector(0)",
                        "proxies at debug",
                    ),
                ],
            },
        ],
    },
];
