//! Alerts on the state of proxies and of istiod: what the exporter and istiod's own metrics tell.

use super::{Alert, When};

pub(super) static ALERTS: &[Alert] = &[
    Alert {
        name: "MeshCanaryMismatch",
        // Three standard deviations of what that many requests would show by chance, and two points
        // that nobody minds.
        when: When::Holds(
            "abs(meshladder:version_share:ratio30m - meshladder:route_weight) > 0.02 + 3 * sqrt(meshladder:route_weight * (1 - meshladder:route_weight) / on (destination_service_namespace, destination_service_name) group_left meshladder:versioned_requests:increase30m) and on (destination_service_namespace, destination_service_name) meshladder:versioned_requests:increase30m > 100",
        ),
        hold: "15m",
        severity: "warning",
        summary: "the share of requests that VERSION of SERVICE gets is off its weight by SHARE",
        description: "More than chance explains: clients may not have the VirtualService, or a version has no endpoints",
        means: "The weights of the VirtualService and what the requests of the last 30 minutes got differ by more than three standard deviations and two points. A version that gets nothing is most often one that the clients' proxies do not know of: not in sync, another VirtualService, a subset without pods",
        look: &[
            "meshladder canary --service NAME -n NAMESPACE --prometheus URL",
            "meshladder check virtualservice/NAME -n NAMESPACE",
        ],
    },
    Alert {
        name: "MeshProxyNotInSync",
        when: When::Holds(
            "max by (namespace, pod, type) (meshladder_proxy_sync{state=\"STALE\"}) > 0",
        ),
        hold: "10m",
        severity: "warning",
        summary: "PROXY has not acknowledged TYPE for ten minutes",
        description: "istiod sent TYPE to the proxy, and no answer came: the proxy works with what it had before",
        means: "STALE: sent, and neither acknowledged nor refused. For moments that is normal; for minutes the proxy hangs, its stream is dead, or istiod is short of CPU",
        look: &["meshladder ps", "meshladder check POD -n NAMESPACE"],
    },
    Alert {
        name: "MeshProxyDisconnected",
        when: When::Holds("max by (namespace, pod) (meshladder_proxy_connected) == 0"),
        hold: "10m",
        severity: "critical",
        summary: "PROXY is connected to no istiod",
        description: "The proxy keeps what it had, and its certificate will expire",
        means: "No istiod has a stream of this proxy: a NetworkPolicy, a revision without istiod, an expired certificate, a name that does not resolve",
        look: &[
            "meshladder check POD -n NAMESPACE",
            "kubectl logs POD -n NAMESPACE -c istio-proxy --tail=50",
        ],
    },
    Alert {
        name: "MeshProxyRejectsConfig",
        when: When::Holds(
            "max by (namespace, pod, type) (meshladder_proxy_sync{state=\"ERROR\"}) > 0",
        ),
        hold: "5m",
        severity: "critical",
        summary: "PROXY refuses TYPE",
        description: "Envoy refused what istiod sent: nothing newer of TYPE reaches it until that is repaired",
        means: "A NACK: most often an EnvoyFilter or a certificate that Envoy cannot use. The proxy keeps the last good configuration, in part",
        look: &["meshladder ps", "meshladder check POD -n NAMESPACE"],
    },
    Alert {
        name: "MeshConfigRejected",
        when: When::Holds("sum by (type) (increase(pilot_total_xds_rejects[10m])) > 0"),
        hold: "5m",
        severity: "warning",
        summary: "proxies refuse TYPE from istiod",
        description: "VALUE refusals in ten minutes, as istiod counts them",
        means: "The same as MeshProxyRejectsConfig, told by istiod, without the proxies' names",
        look: &["meshladder ps", "meshladder check"],
    },
    Alert {
        name: "MeshConvergenceSlow",
        when: When::Holds(
            "histogram_quantile(0.99, sum by (le) (rate(pilot_proxy_convergence_time_bucket[10m]))) > 20",
        ),
        hold: "10m",
        severity: "warning",
        summary: "configuration takes DURATION to reach the proxies",
        description: "One push in a hundred takes longer than 20 s from the change to the proxy",
        means: "istiod is short of CPU, or pushes too much to too many: a Sidecar or exportTo would narrow it",
        look: &["meshladder ps -o wide", "kubectl top pod -n istio-system"],
    },
    Alert {
        name: "MeshGhostEndpoints",
        when: When::Holds("max by (namespace, pod) (meshladder_proxy_ghost_endpoints) > 0"),
        hold: "10m",
        severity: "warning",
        summary: "PROXY sends to VALUE endpoints that no longer exist",
        description: "Neither a pod nor an EndpointSlice has these addresses; requests to them end in UF or in a timeout",
        means: "The proxy has endpoints that Kubernetes does not: it is not in sync, or istiod missed their end",
        look: &[
            "meshladder pc endpoint POD -n NAMESPACE -o wide",
            "meshladder check POD -n NAMESPACE",
        ],
    },
    Alert {
        name: "MeshEndpointsEjected",
        when: When::Holds("max by (namespace, pod) (meshladder_proxy_ejected_endpoints) > 0"),
        hold: "15m",
        severity: "info",
        summary: "PROXY has VALUE endpoints ejected",
        description: "Outlier detection keeps this proxy from them: they answered errors, or did not answer",
        means: "Each proxy ejects for itself. Once all hosts of a cluster are ejected, requests end in UH",
        look: &[
            "meshladder pc endpoint POD -n NAMESPACE -o wide",
            "meshladder why --from POD --to URL",
        ],
    },
    Alert {
        name: "MeshCertificateExpires",
        // A fifth of its life, at most 30 days: workload certificates live for a day and are
        // renewed half-way.
        when: When::Holds(
            "min by (namespace, pod, name) (meshladder_certificate_not_after_seconds) - time() < clamp_max(0.2 * (min by (namespace, pod, name) (meshladder_certificate_not_after_seconds) - min by (namespace, pod, name) (meshladder_certificate_not_before_seconds)), 2592000)",
        ),
        hold: "15m",
        severity: "critical",
        summary: "the certificate NAME of PROXY expires in DURATION",
        description: "Less than a fifth of its life is left, and it was not renewed",
        means: "Workload certificates are renewed half-way through their day; one that is near its end was not: the proxy has lost istiod, or istiod cannot sign. Gateways' certificates come from Secrets, and those who fill them",
        look: &[
            "meshladder pc secret POD -n NAMESPACE",
            "meshladder check POD -n NAMESPACE",
        ],
    },
    Alert {
        name: "MeshRootCertificateExpires",
        when: When::Holds("min(citadel_server_root_cert_expiry_timestamp) - time() < 2592000"),
        hold: "1h",
        severity: "critical",
        summary: "istiod's root certificate expires in DURATION",
        description: "With it every workload certificate of the mesh becomes worthless",
        means: "All proxies trust this root. It has to be replaced while the old one is still valid, with both trusted for a while",
        look: &[
            "meshladder pc secret POD -n NAMESPACE -o wide",
            "kubectl get secret -n istio-system",
        ],
    },
    Alert {
        name: "MeshLogLevelDebug",
        when: When::Holds(
            "max by (namespace, pod) (meshladder_proxy_loggers{level=~\"debug|trace\"}) > 0",
        ),
        hold: "30m",
        severity: "info",
        summary: "PROXY has logged at debug or trace for half an hour",
        description: "VALUE loggers; it costs CPU and disk, and may write what should not be in logs",
        means: "Somebody raised the level and did not put it back, or an annotation asks for it",
        look: &[
            "meshladder log-level POD -n NAMESPACE",
            "meshladder log-level POD -n NAMESPACE --reset",
        ],
    },
    Alert {
        name: "MeshFinding",
        when: When::Holds("max by (code, name) (meshladder_findings{severity=\"error\"}) > 0"),
        hold: "10m",
        severity: "warning",
        summary: "CODE NAME: VALUE found by the ladder",
        description: "`meshladder check` finds it in the mesh; `meshladder explain CODE` tells what it means",
        means: "A rule of the ladder finds an error. The exporter counts them by code; the names of objects are in the report",
        look: &["meshladder check", "meshladder explain CODE"],
    },
];
