//! Recording rules: what alerts and the dashboard ask again and again.

use meshladder_judge::prometheus::class::{self, CLASSES};

/// A recording rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The series it makes.
    pub name: String,
    /// From what.
    pub expr: String,
    /// A label it adds.
    pub class: Option<&'static str>,
}

/// The service that is called.
pub(super) const SERVICE: &str = "destination_service_namespace, destination_service_name";

/// Who calls, as its own proxy or gateway tells.
pub(super) const CALLER: &str = "source_workload_namespace, source_workload";

/// A matcher of calls to a service. Istio has names for those that are none: a request without a
/// route has no destination, what REGISTRY_ONLY stops goes to BlackHoleCluster, and what nobody
/// declares passes through. None of them has an objective: scanners at a gateway and a blocked way
/// out are no failures of the mesh.
const SERVED: &str =
    "destination_service_name!~\"unknown|BlackHoleCluster|.*PassthroughCluster.*\"";

/// The windows of the error ratio: each burn-rate alert compares a long one with a short one.
pub(super) const WINDOWS: [&str; 5] = ["5m", "30m", "1h", "6h", "3d"];

/// Every recording rule, those that others build on first.
pub fn all() -> Vec<Record> {
    let mut records = vec![
        record(
            "meshladder:requests:rate5m",
            rate_by_reporter("istio_requests_total", &[String::new()]),
        ),
        record("meshladder:service_requests:rate1h", requests("1h")),
        record("meshladder:version_requests:increase30m", versions("30m")),
        record(
            "meshladder:versioned_requests:increase30m",
            format!("sum by ({SERVICE}) (meshladder:version_requests:increase30m)"),
        ),
        record(
            "meshladder:route_weight",
            format!("max by ({SERVICE}, destination_version) (meshladder_route_weight)"),
        ),
        record(
            "meshladder:version_share:ratio30m",
            format!(
                "(meshladder:version_requests:increase30m or 0 * meshladder:route_weight) / on ({SERVICE}) group_left meshladder:versioned_requests:increase30m"
            ),
        ),
        record("meshladder:caller_requests:rate5m", by_caller("")),
        record(
            "meshladder:unrouted_requests:rate5m",
            by_caller(&unrouted()),
        ),
        record(
            "meshladder:tcp_closed:rate5m",
            rate_by_reporter(TCP, &[SERVED.to_owned()]),
        ),
        record(
            "meshladder:tcp_failed:rate5m",
            rate_by_reporter(TCP, &[format!("{SERVED},{}", failed_connections())]),
        ),
    ];
    records.extend(WINDOWS.map(|window| {
        record(
            &format!("meshladder:error_ratio:rate{window}"),
            error_ratio(window),
        )
    }));
    records.extend(CLASSES.iter().map(|class| Record {
        class: Some(class.id),
        ..record(
            "meshladder:flagged_requests:rate5m",
            rate_by_reporter("istio_requests_total", &class.matchers()),
        )
    }));
    records
}

const TCP: &str = "istio_tcp_connections_closed_total";

fn record(name: &str, expr: String) -> Record {
    Record {
        name: name.to_owned(),
        expr,
        class: None,
    }
}

fn rate_by_reporter(metric: &str, matchers: &[String]) -> String {
    let braced = |matcher: &String| {
        if matcher.is_empty() {
            String::new()
        } else {
            format!("{{{matcher}}}")
        }
    };
    let rates: Vec<_> = matchers
        .iter()
        .map(|matcher| format!("rate({metric}{}[5m])", braced(matcher)))
        .collect();
    format!("sum by ({SERVICE}, reporter) ({})", rates.join(" or "))
}

/// Requests of a service as the side sees them that sees more.
fn requests(window: &str) -> String {
    format!(
        "max by ({SERVICE}) (sum by ({SERVICE}, reporter) (rate(istio_requests_total{{{SERVED}}}[{window}])))"
    )
}

/// The worse of what clients' proxies and the servers' saw: what never reached the server only the
/// clients' count, and where clients have no proxy only the servers' do. Good requests may be none
/// at all, and then have no series.
fn error_ratio(window: &str) -> String {
    let sum = |matchers: &str| {
        format!(
            "sum by ({SERVICE}, reporter) (rate(istio_requests_total{{{SERVED},{matchers}}}[{window}]))"
        )
    };
    let (good, counted) = (sum(&class::good()), sum(&class::counted()));
    format!("max by ({SERVICE}) (1 - ({good} or 0 * {counted}) / ({counted} > 0))")
}

/// The client's proxy or a waypoint chooses the version; where there is neither, the servers tell.
/// A request that reached no server has no version.
fn versions(window: &str) -> String {
    let of = |reporter: &str| {
        let increase = format!(
            "increase(istio_requests_total{{reporter=~\"{reporter}\",destination_version!=\"unknown\"}}[{window}])"
        );
        format!("sum by ({SERVICE}, destination_version) ({increase}) > 0")
    };
    let client = of("source|waypoint");
    format!(
        "({client}) or ({} unless on ({SERVICE}) ({client}))",
        of("destination")
    )
}

/// Requests without a route have no destination, but they have somebody who could not send them on.
fn by_caller(matcher: &str) -> String {
    let comma = if matcher.is_empty() { "" } else { "," };
    format!(
        "sum by ({CALLER}) (rate(istio_requests_total{{reporter=\"source\"{comma}{matcher}}}[5m]))"
    )
}

fn unrouted() -> String {
    let class = CLASSES.iter().find(|class| class.id == "no_route");
    class
        .map(|class| class.matchers().join(","))
        .unwrap_or_default()
}

/// Connections that ended otherwise than their ends wanted.
fn failed_connections() -> String {
    format!(
        "response_flags=~\"{}\"",
        class::any_of(&class::flags_that(class::ObjectiveCount::Failed))
    )
}
