//! PromQL for the questions we ask.

use std::fmt::Write;

use meshladder_text::duration;

/// What rows are split by, beside the flags and who reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLabel {
    /// The service that was called.
    Destination,
    /// Which side reports: always asked for.
    Reporter,
    /// The HTTP and gRPC status.
    Code,
    /// The version of the service that was called.
    Version,
}

impl RateLabel {
    /// The labels it adds.
    pub fn labels(self) -> &'static [&'static str] {
        match self {
            Self::Destination => &["destination_service_namespace", "destination_service_name"],
            Self::Reporter => &[],
            Self::Code => &["response_code", "grpc_response_status"],
            Self::Version => &[
                "destination_service_namespace",
                "destination_service_name",
                "destination_version",
            ],
        }
    }
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// HTTP and gRPC requests.
    Requests,
    /// TCP connections that were closed.
    Connections,
}

impl Metric {
    /// Its name in Prometheus.
    pub fn name(self) -> &'static str {
        match self {
            Self::Requests => "istio_requests_total",
            Self::Connections => "istio_tcp_connections_closed_total",
        }
    }
}

/// A question about rates of response flags.
#[derive(Clone, Debug)]
pub struct FlagQuery {
    /// What is counted.
    pub metric: Metric,
    /// What rows are split by.
    pub by: Vec<RateLabel>,
    /// The window, as in `5m`.
    pub window: String,
    /// Only calls of this service.
    pub service: Option<String>,
    /// Only calls of services in this namespace.
    pub namespace: Option<String>,
}

impl FlagQuery {
    /// The labels of a row, the flags first.
    pub fn labels(&self) -> Vec<&'static str> {
        let mut labels = vec!["response_flags", "reporter"];
        for label in self.by.iter().flat_map(|by| by.labels()) {
            if !labels.contains(label) {
                labels.push(label);
            }
        }
        labels
    }

    /// The rates, as they were that long ago; `""` is now.
    pub fn rates(&self, ago: &str) -> String {
        let offset = if ago.is_empty() {
            String::new()
        } else {
            format!(" offset {ago}")
        };
        let selector = self.selector("");
        format!(
            "sum by ({}) (rate({selector}[{}]{offset}))",
            self.labels().join(", "),
            self.window
        )
    }

    /// How many series there are at this moment; with the label, when one is named.
    pub fn series(&self, label: &str) -> String {
        let matcher = if label.is_empty() {
            String::new()
        } else {
            format!("{label}!=\"\"")
        };
        format!("count({})", self.selector(&matcher))
    }

    /// How many series had a sample in the last day.
    pub fn series_of_a_day(&self) -> String {
        format!("count(last_over_time({}[1d]))", self.selector(""))
    }

    /// Whether there is any series of the metric, whatever service is asked about.
    pub fn series_of_any(&self) -> String {
        format!("count({})", self.metric.name())
    }

    fn selector(&self, more: &str) -> String {
        let named = [
            ("destination_service_name", self.service.as_deref()),
            ("destination_service_namespace", self.namespace.as_deref()),
        ];
        let mut matchers: Vec<String> = named
            .iter()
            .filter_map(|(label, value)| Some(format!("{label}={}", quoted((*value)?))))
            .collect();
        if !more.is_empty() {
            matchers.push(more.to_owned());
        }
        if matchers.is_empty() {
            return self.metric.name().to_owned();
        }
        format!("{}{{{}}}", self.metric.name(), matchers.join(","))
    }
}

/// Calls of a service, as one side counts them.
#[derive(Clone, Debug)]
pub struct Calls {
    /// The service's namespace.
    pub namespace: String,
    /// The service; several when the parts are services of their own.
    pub services: Vec<String>,
    /// `source` or `destination`.
    pub reporter: &'static str,
    /// Over which time.
    pub window: String,
}

impl Calls {
    /// How many went to each value of a label.
    pub fn by(&self, labels: &[&str]) -> String {
        let names = self.services.join("|");
        format!(
            "sum by ({}) (increase(istio_requests_total{{reporter={},destination_service_namespace={},destination_service_name=~{}}}[{}]))",
            labels.join(", "),
            quoted(self.reporter),
            quoted(&self.namespace),
            quoted(&names),
            self.window
        )
    }
}

/// A PromQL string.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            // A String takes everything.
            c if c.is_control() => drop(write!(out, "\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Seconds of a duration such as `5m` or `1h30m`; none for what Prometheus would not take.
pub fn seconds(text: &str) -> Option<f64> {
    duration::prometheus_seconds(text).filter(|seconds| *seconds > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(by: &[RateLabel]) -> FlagQuery {
        FlagQuery {
            metric: Metric::Requests,
            by: by.to_vec(),
            window: "5m".to_owned(),
            service: None,
            namespace: None,
        }
    }

    #[test]
    fn the_standard_query_is_the_one_everybody_knows() {
        assert_eq!(
            query(&[]).rates(""),
            "sum by (response_flags, reporter) (rate(istio_requests_total[5m]))"
        );
        let narrowed = FlagQuery {
            namespace: Some("shop".to_owned()),
            ..query(&[RateLabel::Version, RateLabel::Destination])
        };
        assert_eq!(
            narrowed.rates("1h"),
            "sum by (response_flags, reporter, destination_service_namespace, destination_service_name, destination_version) \
             (rate(istio_requests_total{destination_service_namespace=\"shop\"}[5m] offset 1h))"
        );
        assert_eq!(
            narrowed.series("response_flags"),
            "count(istio_requests_total{destination_service_namespace=\"shop\",response_flags!=\"\"})"
        );
    }

    #[test]
    fn what_a_user_names_cannot_leave_its_quotes() {
        assert_eq!(
            quoted(r#"a"} or vector(1) #\"#),
            r#""a\"} or vector(1) #\\""#
        );
        assert_eq!(quoted("a\nb"), "\"a\\u000ab\"");
    }

    #[test]
    fn durations_are_those_of_prometheus() {
        for (text, expected) in [
            ("5m", Some(300.0)),
            ("1h30m", Some(5400.0)),
            ("90s", Some(90.0)),
            ("1d", Some(86_400.0)),
            ("5", None),
            ("", None),
            ("m", None),
            ("5x", None),
            ("0s", None),
        ] {
            assert_eq!(seconds(text), expected, "{text}");
        }
    }
}
