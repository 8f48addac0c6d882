//! Alerts that fire when a series that others rely on is not there: silence is not health.

use super::{Alert, When};

pub(super) static ALERTS: &[Alert] = &[
    Alert {
        name: "MeshRequestMetricsAbsent",
        when: When::Holds("absent(istio_requests_total)"),
        hold: "15m",
        severity: "warning",
        summary: "there is no istio_requests_total",
        description: "Prometheus scrapes no proxy, or Telemetry switches the metric off: no alert on response flags can fire",
        means: "The metric is absent, not zero. Look for scrape targets of port 15020 (/stats/prometheus), and for a Telemetry that disables REQUEST_COUNT",
        look: &[
            "meshladder flags --prometheus URL",
            "kubectl get telemetries -A",
        ],
    },
    Alert {
        name: "MeshResponseFlagsAbsent",
        when: When::Holds(
            "absent(istio_requests_total{response_flags!=\"\"}) unless absent(istio_requests_total)",
        ),
        hold: "15m",
        severity: "warning",
        summary: "istio_requests_total has no label response_flags",
        description: "A Telemetry or a relabelling drops it: no alert on response flags can fire",
        means: "The metric is there and the label is not: a Telemetry's tagOverrides removes it, or metric_relabel_configs does",
        look: &[
            "meshladder flags --prometheus URL",
            "kubectl get telemetries -A -o yaml",
        ],
    },
    Alert {
        name: "MeshPilotMetricsAbsent",
        when: When::Holds("absent(pilot_xds)"),
        hold: "15m",
        severity: "warning",
        summary: "there are no metrics of istiod",
        description: "Prometheus does not scrape istiod (port 15014): refused configuration and slow pushes go unseen",
        means: "istiod is down or is not scraped",
        look: &[
            "meshladder check",
            "kubectl get pods -n istio-system -l app=istiod",
        ],
    },
    Alert {
        name: "MeshExporterAbsent",
        when: When::Holds("absent(meshladder_up)"),
        hold: "15m",
        severity: "warning",
        summary: "there are no metrics of meshladder",
        description: "The exporter is down or is not scraped: sync, endpoints, certificates and log levels go unseen",
        means: "`meshladder monitor serve` does not run, or nothing scrapes it",
        look: &[
            "meshladder monitor install --dry-run",
            "kubectl get pods -A -l app.kubernetes.io/name=meshladder",
        ],
    },
    Alert {
        name: "MeshExporterStale",
        when: When::Holds(
            "min by (instance) (meshladder_up) == 0 or time() - max by (instance) (meshladder_last_read_timestamp_seconds) > 900",
        ),
        hold: "5m",
        severity: "warning",
        summary: "meshladder at INSTANCE cannot read the mesh",
        description: "What it tells is old: its log says what it could not read",
        means: "The exporter runs, but its source cannot be read, or reading takes longer than a quarter of an hour",
        look: &[
            "meshladder check",
            "kubectl logs -A -l app.kubernetes.io/name=meshladder",
        ],
    },
    Alert {
        name: "MeshExporterOverflow",
        when: When::Holds("max by (name) (meshladder_series_dropped) > 0"),
        hold: "15m",
        severity: "info",
        summary: "meshladder leaves VALUE series of NAME out",
        description: "The mesh has more proxies than the exporter may tell of: raise --max-series",
        means: "The exporter bounds every label set, the worst first; what is left out is counted here",
        look: &["meshladder monitor serve --max-series 50000 --listen 127.0.0.1:15099"],
    },
];
