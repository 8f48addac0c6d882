//! When each alert fires, and when it does not: minutes of series for promtool.

/// Series over minutes, and how many alerts of that name fire at some minute.
pub(super) struct Case {
    pub(super) alert: &'static str,
    pub(super) firing: u32,
    /// The minute at which it is looked at.
    pub(super) at: u32,
    /// Series and values, in promtool's notation; see [`SHORT`].
    series: &'static [(&'static str, &'static str)],
}

const fn fires(
    alert: &'static str,
    at: u32,
    series: &'static [(&'static str, &'static str)],
) -> Case {
    Case {
        alert,
        firing: 1,
        at,
        series,
    }
}

const fn quiet(
    alert: &'static str,
    at: u32,
    series: &'static [(&'static str, &'static str)],
) -> Case {
    Case {
        alert,
        firing: 0,
        at,
        series,
    }
}

/// `client{` and `server{` are istio_requests_total of one service; `tcp{` the closed connections
/// of another; `@{` takes the labels of a pod.
const SHORT: &[(&str, &str)] = &[
    (
        "client{",
        "istio_requests_total{reporter=\"source\",source_workload_namespace=\"shop\",source_workload=\"front\",destination_service_namespace=\"shop\",destination_service_name=\"cart\",",
    ),
    (
        "server{",
        "istio_requests_total{reporter=\"destination\",destination_service_namespace=\"shop\",destination_service_name=\"cart\",",
    ),
    (
        "tcp{",
        "istio_tcp_connections_closed_total{reporter=\"source\",destination_service_namespace=\"shop\",destination_service_name=\"db\",",
    ),
    (
        "weight{",
        "meshladder_route_weight{destination_service_namespace=\"shop\",destination_service_name=\"cart\",",
    ),
    ("@{", "{namespace=\"shop\",pod=\"cart-1\","),
];

const OK: &str = "client{response_code=\"200\",response_flags=\"-\"}";
const BLOCKED: &str = "istio_requests_total{reporter=\"source\",destination_service_name=\"BlackHoleCluster\",response_code=\"502\",response_flags=\"-\"}";
/// It has no destination.
const NO_ROUTE: &str = "istio_requests_total{reporter=\"source\",source_workload_namespace=\"shop\",source_workload=\"front\",destination_service_namespace=\"unknown\",destination_service_name=\"unknown\",response_code=\"404\",response_flags=\"NR\"}";
const CLIENT_GONE: &str = "client{response_code=\"0\",response_flags=\"DC\"}";

pub(super) const CASES: &[Case] = &[
    fires("MeshNoRoute", 20, &[(OK, "0+54x30"), (NO_ROUTE, "0+12x30")]),
    fires(
        "MeshNoRoute",
        20,
        &[
            (OK, "0+54x30"),
            (
                "client{response_code=\"503\",response_flags=\"NC\"}",
                "0+12x30",
            ),
        ],
    ),
    // Scanners at a gateway: nobody is woken for them, by this or by another alert.
    quiet("MeshNoRoute", 20, &[(OK, "0+95x30"), (NO_ROUTE, "0+5x30")]),
    quiet(
        "MeshErrorBudgetBurnsFast",
        70,
        &[(OK, "0+95x80"), (NO_ROUTE, "0+5x80")],
    ),
    // An application's own 404 has no flag.
    quiet(
        "MeshNoRoute",
        20,
        &[
            (OK, "0+9x30"),
            (
                "client{response_code=\"404\",response_flags=\"-\"}",
                "0+9x30",
            ),
        ],
    ),
    // For gRPC the status is 200.
    fires(
        "MeshNoHealthyUpstream",
        20,
        &[
            (OK, "0+98x30"),
            (
                "client{response_code=\"200\",grpc_response_status=\"14\",response_flags=\"UH\"}",
                "0+2x30",
            ),
        ],
    ),
    quiet(
        "MeshNoHealthyUpstream",
        20,
        &[
            (OK, "0+98x30"),
            (
                "client{response_code=\"503\",response_flags=\"UH\"}",
                "70x30",
            ),
        ],
    ),
    fires(
        "MeshConnectionFailures",
        20,
        &[
            (OK, "0+98x30"),
            (
                "client{response_code=\"503\",response_flags=\"URX,UF\"}",
                "0+2x30",
            ),
        ],
    ),
    fires(
        "MeshConnectionFailures",
        20,
        &[
            (OK, "0+98x30"),
            (
                "client{response_code=\"503\",response_flags=\"UF,URX\"}",
                "0+2x30",
            ),
        ],
    ),
    quiet(
        "MeshConnectionFailures",
        20,
        &[
            (OK, "0+98x30"),
            (
                "client{response_code=\"503\",response_flags=\"URX\"}",
                "0+2x30",
            ),
        ],
    ),
    fires(
        "MeshTimeouts",
        20,
        &[
            (OK, "0+98x30"),
            (
                "client{response_code=\"504\",response_flags=\"UT\"}",
                "0+2x30",
            ),
        ],
    ),
    quiet(
        "MeshTimeouts",
        20,
        &[(OK, "0+9x30"), (CLIENT_GONE, "0+9x30")],
    ),
    fires(
        "MeshOverflow",
        20,
        &[
            (OK, "0+98x30"),
            (
                "client{response_code=\"503\",response_flags=\"UO\"}",
                "0+2x30",
            ),
        ],
    ),
    quiet(
        "MeshOverflow",
        20,
        &[
            (OK, "0+9x30"),
            (
                "client{response_code=\"429\",response_flags=\"RL\"}",
                "0+9x30",
            ),
        ],
    ),
    fires(
        "MeshRetriesExhausted",
        20,
        &[
            (OK, "0+98x30"),
            (
                "client{response_code=\"503\",response_flags=\"UF,URX\"}",
                "0+2x30",
            ),
        ],
    ),
    quiet(
        "MeshRetriesExhausted",
        20,
        &[
            (OK, "0+98x30"),
            (
                "client{response_code=\"503\",response_flags=\"UF\"}",
                "0+2x30",
            ),
        ],
    ),
    // Both sides count it; it is one alert.
    fires(
        "MeshDenied",
        20,
        &[
            (OK, "0+9x30"),
            (
                "client{response_code=\"403\",response_flags=\"-\"}",
                "0+1x30",
            ),
            (
                "server{response_code=\"200\",response_flags=\"-\"}",
                "0+9x30",
            ),
            (
                "server{response_code=\"403\",response_flags=\"-\"}",
                "0+1x30",
            ),
        ],
    ),
    // A gateway denies by itself, and only a client's side counts it.
    fires(
        "MeshDenied",
        20,
        &[
            (OK, "0+9x30"),
            (
                "client{response_code=\"403\",response_flags=\"UAEX\"}",
                "0+1x30",
            ),
        ],
    ),
    fires(
        "MeshDenied",
        20,
        &[
            (OK, "0+9x30"),
            (
                "server{response_code=\"200\",grpc_response_status=\"7\",response_flags=\"-\"}",
                "0+1x30",
            ),
        ],
    ),
    quiet(
        "MeshDenied",
        20,
        &[
            (OK, "0+99x30"),
            (
                "client{response_code=\"403\",response_flags=\"-\"}",
                "0+1x30",
            ),
        ],
    ),
    fires(
        "MeshRateLimited",
        20,
        &[
            (OK, "0+9x30"),
            (
                "client{response_code=\"429\",response_flags=\"RL\"}",
                "0+1x30",
            ),
        ],
    ),
    quiet(
        "MeshRateLimited",
        20,
        &[
            (OK, "0+9x30"),
            (
                "client{response_code=\"503\",response_flags=\"UO\"}",
                "0+1x30",
            ),
        ],
    ),
    fires(
        "MeshFaultInjected",
        80,
        &[
            (OK, "0+99x90"),
            (
                "client{response_code=\"500\",response_flags=\"FI\"}",
                "0+1x90",
            ),
        ],
    ),
    quiet(
        "MeshFaultInjected",
        80,
        &[
            (OK, "0+99x90"),
            (
                "client{response_code=\"500\",response_flags=\"FI\"}",
                "0+1x30 30x60",
            ),
        ],
    ),
    fires(
        "MeshTcpConnectionsFail",
        20,
        &[
            ("tcp{response_flags=\"-\"}", "0+9x30"),
            ("tcp{response_flags=\"UF,URX\"}", "0+1x30"),
        ],
    ),
    quiet(
        "MeshTcpConnectionsFail",
        20,
        &[
            ("tcp{response_flags=\"-\"}", "0+9x30"),
            ("tcp{response_flags=\"DT\"}", "0+1x30"),
        ],
    ),
    fires(
        "MeshErrorBudgetBurnsFast",
        70,
        &[
            (OK, "0+97x80"),
            (
                "client{response_code=\"500\",response_flags=\"-\"}",
                "0+3x80",
            ),
        ],
    ),
    // Green by status, and failed all the same.
    fires(
        "MeshErrorBudgetBurnsFast",
        70,
        &[
            (OK, "0+97x80"),
            (
                "client{response_code=\"200\",grpc_response_status=\"14\",response_flags=\"UH\"}",
                "0+3x80",
            ),
        ],
    ),
    // Nothing goes well: there is no series of good requests.
    fires(
        "MeshErrorBudgetBurnsFast",
        70,
        &[(
            "server{response_code=\"503\",response_flags=\"UF\"}",
            "0+3x80",
        )],
    ),
    // Half of the clients go away, and that costs nothing.
    quiet(
        "MeshErrorBudgetBurnsFast",
        70,
        &[(OK, "0+50x80"), (CLIENT_GONE, "0+50x80")],
    ),
    // What REGISTRY_ONLY stops is stopped on purpose.
    quiet(
        "MeshErrorBudgetBurnsFast",
        70,
        &[(OK, "0+50x80"), (BLOCKED, "0+50x80")],
    ),
    // 4xx are the clients' own fault.
    quiet(
        "MeshErrorBudgetBurnsFast",
        70,
        &[
            (OK, "0+50x80"),
            (
                "client{response_code=\"404\",response_flags=\"-\"}",
                "0+50x80",
            ),
        ],
    ),
    quiet(
        "MeshErrorBudgetBurnsFast",
        70,
        &[
            (OK, "0+97x80"),
            (
                "client{response_code=\"500\",response_flags=\"-\"}",
                "0+3x60 180x20",
            ),
        ],
    ),
    fires(
        "MeshErrorBudgetBurns",
        400,
        &[
            (OK, "0+99x420"),
            (
                "client{response_code=\"500\",response_flags=\"-\"}",
                "0+1x420",
            ),
        ],
    ),
    quiet(
        "MeshErrorBudgetBurns",
        400,
        &[
            (OK, "0+99x420"),
            (
                "client{response_code=\"500\",response_flags=\"-\"}",
                "0+1x350 350x70",
            ),
        ],
    ),
    fires(
        "MeshErrorBudgetBurnsSlowly",
        480,
        &[
            (OK, "0+995x500"),
            (
                "client{response_code=\"500\",response_flags=\"-\"}",
                "0+5x500",
            ),
        ],
    ),
    quiet(
        "MeshErrorBudgetBurnsSlowly",
        480,
        &[
            (OK, "0+9995x500"),
            (
                "client{response_code=\"500\",response_flags=\"-\"}",
                "0+5x500",
            ),
        ],
    ),
    // 0 % to a version is told of both: one gets too little, the other too much.
    Case {
        firing: 2,
        ..fires(
            "MeshCanaryMismatch",
            60,
            &[
                ("weight{destination_version=\"v1\"}", "0.9x70"),
                ("weight{destination_version=\"v2\"}", "0.1x70"),
                ("client{destination_version=\"v1\"}", "0+100x70"),
            ],
        )
    },
    quiet(
        "MeshCanaryMismatch",
        60,
        &[
            ("weight{destination_version=\"v1\"}", "0.9x70"),
            ("weight{destination_version=\"v2\"}", "0.1x70"),
            ("client{destination_version=\"v1\"}", "0+91x70"),
            ("client{destination_version=\"v2\"}", "0+9x70"),
            (
                "client{destination_version=\"unknown\",response_flags=\"UH\"}",
                "0+50x70",
            ),
        ],
    ),
    // Too few requests to tell.
    quiet(
        "MeshCanaryMismatch",
        60,
        &[
            ("weight{destination_version=\"v1\"}", "0.5x70"),
            ("weight{destination_version=\"v2\"}", "0.5x70"),
            ("client{destination_version=\"v1\"}", "0+1x70"),
        ],
    ),
    fires(
        "MeshProxyNotInSync",
        20,
        &[(
            "meshladder_proxy_sync@{type=\"RDS\",state=\"STALE\"}",
            "1x30",
        )],
    ),
    quiet(
        "MeshProxyNotInSync",
        20,
        &[
            (
                "meshladder_proxy_sync@{type=\"RDS\",state=\"STALE\"}",
                "1x5 _x25",
            ),
            (
                "meshladder_proxy_sync@{type=\"RDS\",state=\"SYNCED\"}",
                "_x6 1x24",
            ),
            (
                "meshladder_proxy_sync@{type=\"ECDS\",state=\"NOT SENT\"}",
                "1x30",
            ),
        ],
    ),
    fires(
        "MeshProxyDisconnected",
        20,
        &[("meshladder_proxy_connected@{}", "0x30")],
    ),
    quiet(
        "MeshProxyDisconnected",
        20,
        &[("meshladder_proxy_connected@{}", "1x30")],
    ),
    fires(
        "MeshProxyRejectsConfig",
        20,
        &[(
            "meshladder_proxy_sync@{type=\"LDS\",state=\"ERROR\"}",
            "1x30",
        )],
    ),
    quiet(
        "MeshProxyRejectsConfig",
        20,
        &[(
            "meshladder_proxy_sync@{type=\"LDS\",state=\"STALE\"}",
            "1x30",
        )],
    ),
    fires(
        "MeshConfigRejected",
        20,
        &[("pilot_total_xds_rejects{type=\"cds\"}", "0+1x30")],
    ),
    quiet(
        "MeshConfigRejected",
        20,
        &[("pilot_total_xds_rejects{type=\"cds\"}", "5x30")],
    ),
    fires(
        "MeshConvergenceSlow",
        30,
        &[
            ("pilot_proxy_convergence_time_bucket{le=\"20\"}", "0+1x40"),
            ("pilot_proxy_convergence_time_bucket{le=\"30\"}", "0+9x40"),
            ("pilot_proxy_convergence_time_bucket{le=\"+Inf\"}", "0+9x40"),
        ],
    ),
    quiet(
        "MeshConvergenceSlow",
        30,
        &[
            ("pilot_proxy_convergence_time_bucket{le=\"1\"}", "0+9x40"),
            ("pilot_proxy_convergence_time_bucket{le=\"+Inf\"}", "0+9x40"),
        ],
    ),
    fires(
        "MeshGhostEndpoints",
        20,
        &[("meshladder_proxy_ghost_endpoints@{}", "2x30")],
    ),
    quiet(
        "MeshGhostEndpoints",
        20,
        &[("meshladder_proxy_ghost_endpoints@{}", "0x30")],
    ),
    fires(
        "MeshEndpointsEjected",
        20,
        &[("meshladder_proxy_ejected_endpoints@{}", "1x30")],
    ),
    quiet(
        "MeshEndpointsEjected",
        20,
        &[("meshladder_proxy_ejected_endpoints@{}", "1x10 0x20")],
    ),
    // The last moments of a hundred minutes.
    fires(
        "MeshCertificateExpires",
        100,
        &[
            (
                "meshladder_certificate_not_before_seconds@{name=\"default\"}",
                "0x110",
            ),
            (
                "meshladder_certificate_not_after_seconds@{name=\"default\"}",
                "6000x110",
            ),
        ],
    ),
    // Renewed half-way; and ten years of a root, with nine left.
    quiet(
        "MeshCertificateExpires",
        100,
        &[
            (
                "meshladder_certificate_not_before_seconds@{name=\"default\"}",
                "0x49 3000x60",
            ),
            (
                "meshladder_certificate_not_after_seconds@{name=\"default\"}",
                "6000x49 9000x60",
            ),
            (
                "meshladder_certificate_not_before_seconds@{name=\"ROOTCA\"}",
                "0x110",
            ),
            (
                "meshladder_certificate_not_after_seconds@{name=\"ROOTCA\"}",
                "315360000x110",
            ),
        ],
    ),
    fires(
        "MeshRootCertificateExpires",
        90,
        &[("citadel_server_root_cert_expiry_timestamp{}", "2000000x100")],
    ),
    quiet(
        "MeshRootCertificateExpires",
        90,
        &[(
            "citadel_server_root_cert_expiry_timestamp{}",
            "315360000x100",
        )],
    ),
    fires(
        "MeshLogLevelDebug",
        45,
        &[("meshladder_proxy_loggers@{level=\"debug\"}", "3x60")],
    ),
    quiet(
        "MeshLogLevelDebug",
        45,
        &[("meshladder_proxy_loggers@{level=\"warning\"}", "60x60")],
    ),
    fires(
        "MeshFinding",
        20,
        &[(
            "meshladder_findings{code=\"ML0401\",name=\"a\",severity=\"error\"}",
            "1x30",
        )],
    ),
    quiet(
        "MeshFinding",
        20,
        &[(
            "meshladder_findings{code=\"ML1101\",name=\"b\",severity=\"warning\"}",
            "1x30",
        )],
    ),
    fires(
        "MeshRequestMetricsAbsent",
        20,
        &[("up{job=\"istiod\"}", "1x30")],
    ),
    quiet("MeshRequestMetricsAbsent", 20, &[(OK, "0x30")]),
    fires(
        "MeshResponseFlagsAbsent",
        20,
        &[("client{response_code=\"200\"}", "0+1x30")],
    ),
    quiet("MeshResponseFlagsAbsent", 20, &[(OK, "0+1x30")]),
    quiet(
        "MeshResponseFlagsAbsent",
        20,
        &[("up{job=\"istiod\"}", "1x30")],
    ),
    fires("MeshPilotMetricsAbsent", 20, &[(OK, "0+1x30")]),
    quiet(
        "MeshPilotMetricsAbsent",
        20,
        &[("pilot_xds{version=\"1\"}", "7x30")],
    ),
    fires("MeshExporterAbsent", 20, &[(OK, "0+1x30")]),
    quiet("MeshExporterAbsent", 20, &[("meshladder_up{}", "0x30")]),
    fires(
        "MeshExporterStale",
        20,
        &[("meshladder_up{instance=\"a\"}", "0x30")],
    ),
    fires(
        "MeshExporterStale",
        40,
        &[
            ("meshladder_up{instance=\"a\"}", "1x50"),
            (
                "meshladder_last_read_timestamp_seconds{instance=\"a\"}",
                "60x50",
            ),
        ],
    ),
    quiet(
        "MeshExporterStale",
        40,
        &[
            ("meshladder_up{instance=\"a\"}", "1x50"),
            (
                "meshladder_last_read_timestamp_seconds{instance=\"a\"}",
                "0+60x50",
            ),
        ],
    ),
    fires(
        "MeshExporterOverflow",
        20,
        &[(
            "meshladder_series_dropped{name=\"meshladder_proxy_sync\"}",
            "5x30",
        )],
    ),
    quiet(
        "MeshExporterOverflow",
        20,
        &[(
            "meshladder_series_dropped{name=\"meshladder_proxy_sync\"}",
            "0x30",
        )],
    ),
];

impl Case {
    /// As promtool reads it. What fires is counted, so that labels need not be repeated here.
    pub(super) fn to_yaml(&self) -> String {
        let series: String = self
            .series
            .iter()
            .map(|(name, values)| series(name, values))
            .collect();
        let expected = match self.firing {
            0 => "[]".to_owned(),
            count => format!("[{{labels: '{{}}', value: {count}}}]"),
        };
        format!(
            "- interval: 1m\n  input_series:\n{series}  promql_expr_test:\n  - expr: count(ALERTS{{alertname=\"{}\",alertstate=\"firing\"}})\n    eval_time: {}m\n    exp_samples: {expected}\n",
            self.alert, self.at
        )
    }
}

fn series(name: &str, values: &str) -> String {
    let full = SHORT.iter().fold(name.to_owned(), |name, (short, full)| {
        name.replace(short, full)
    });
    format!("  - series: '{full}'\n    values: '{values}'\n")
}
