//! `envoy.filters.http.fault`: delays and aborts on purpose.

use super::{FilterBranch, FilterVerdict};
use crate::answer::{Answer, is_grpc};
use crate::matcher::HeaderMatcher;
use crate::runtime::{Fraction, Runtime};
use crate::{Request, Tri};
use meshladder_text::duration::milliseconds;
use meshladder_text::json::Raw;

/// A compiled `HTTPFault`.
#[derive(Debug, Default)]
pub struct HttpFault {
    delay: Option<Delay>,
    abort: Option<Abort>,
    /// "Specifies the name of the (destination) upstream cluster that the filter should match on."
    upstream_cluster: Box<str>,
    downstream_nodes: Vec<Box<str>>,
    headers: Vec<HeaderMatcher>,
    /// `max_active_faults: 0` means never.
    is_off: bool,
}

#[derive(Debug)]
struct Delay {
    /// None when the client's header says how long.
    milliseconds: Option<u64>,
    percentage: Fraction,
}

#[derive(Debug)]
struct Abort {
    status: AbortStatus,
    percentage: Fraction,
}

#[derive(Debug)]
enum AbortStatus {
    Http(u16),
    Grpc(u8),
    /// The client's header says which.
    Header,
}

impl HttpFault {
    pub(super) fn compile(raw: Raw<'_>, runtime: &Runtime<'_>) -> Self {
        let key = |name: &str, default: &str| {
            raw.string_at(name)
                .unwrap_or_else(|| default.to_owned().into())
        };
        let percentage = |fault: Raw<'_>, runtime_key: &str| {
            let none = Fraction {
                numerator: 0,
                denominator: 100,
            };
            runtime.fraction(
                runtime_key,
                fault.get("percentage").map_or(none, Fraction::compile),
            )
        };
        let max = runtime.integer(&key(
            "max_active_faults_runtime",
            "fault.http.max_active_faults",
        ));
        let max = max.or_else(|| raw.get("max_active_faults")?.number());
        Self {
            delay: raw.get("delay").map(|delay| Delay {
                milliseconds: delay
                    .string_at("fixed_delay")
                    .map(|text| milliseconds(&text).unwrap_or_default()),
                percentage: percentage(
                    delay,
                    &key(
                        "delay_percent_runtime",
                        "fault.http.delay.fixed_delay_percent",
                    ),
                ),
            }),
            abort: raw.get("abort").map(|abort| Abort {
                status: AbortStatus::compile(abort),
                percentage: percentage(
                    abort,
                    &key("abort_percent_runtime", "fault.http.abort.abort_percent"),
                ),
            }),
            upstream_cluster: raw.string_at("upstream_cluster").unwrap_or_default().into(),
            downstream_nodes: raw
                .list("downstream_nodes")
                .filter_map(|n| Some(n.string()?.into()))
                .collect(),
            headers: raw.list("headers").map(HeaderMatcher::compile).collect(),
            is_off: max == Some(0),
        }
    }

    /// What the filter does. "Delays and aborts are independent events."
    pub(super) fn evaluate(&self, request: &Request, cluster: Option<&str>) -> FilterVerdict {
        let (delay, abort) = (self.delay(request), self.abort(request));
        if self.is_off || (delay == 0.0 && abort.is_none()) {
            return FilterVerdict::Passed("no fault is injected".into());
        }
        match self.applies(request, cluster) {
            Tri::Yes => {}
            Tri::No => return FilterVerdict::Passed("the fault is for other requests".into()),
            Tri::Unknown(fact) => return FilterVerdict::Undecided(fact),
        }
        let (probability, answer) = abort.unzip();
        let probability = probability.unwrap_or(0.0);
        let mut branches = Vec::new();
        for (weight, flags) in [(delay, &["DI"][..]), (1.0 - delay, &[])] {
            if let Some(answer) = answer.as_ref().filter(|_| weight * probability > 0.0) {
                let flags = [flags, &answer.flags].concat();
                branches.push(FilterBranch::answered(
                    Some(weight * probability),
                    Answer {
                        flags,
                        ..answer.clone()
                    },
                ));
            }
            if weight * (1.0 - probability) > 0.0 {
                branches.push(FilterBranch::on(Some(weight * (1.0 - probability)), flags));
            }
        }
        match branches.as_slice() {
            [
                FilterBranch {
                    answer: Some(answer),
                    ..
                },
            ] => FilterVerdict::Answered(answer.clone(), None),
            _ => FilterVerdict::Branches(branches),
        }
    }

    /// How likely a delay is.
    fn delay(&self, request: &Request) -> f64 {
        let Some(delay) = &self.delay else { return 0.0 };
        let milliseconds = delay
            .milliseconds
            .or_else(|| number(request, "x-envoy-fault-delay-request"));
        if milliseconds.unwrap_or(0) == 0 {
            return 0.0;
        }
        let header = delay
            .milliseconds
            .is_none()
            .then_some("x-envoy-fault-delay-request-percentage");
        probability(
            delay.percentage,
            header.and_then(|name| number(request, name)),
        )
    }

    /// How likely an abort is, and what it answers.
    fn abort(&self, request: &Request) -> Option<(f64, Answer)> {
        const DETAILS: &str = "fault_filter_abort";
        let abort = self.abort.as_ref()?;
        let http = |code| Answer::new(request, code, &["FI"], DETAILS);
        // Who does not speak gRPC gets 200 and never learns the status.
        let grpc = |status| Answer {
            grpc_status: is_grpc(request).then_some(status),
            ..http(200)
        };
        let by_header = || {
            let code = number(request, "x-envoy-fault-abort-request");
            let code = code
                .and_then(|code| u16::try_from(code).ok())
                .filter(|code| (200..600).contains(code));
            let status = || u8::try_from(number(request, "x-envoy-fault-abort-grpc-request")?).ok();
            // "gRPC status code takes precedence" is not said anywhere: the HTTP header is looked
            // at first.
            code.map(http).or_else(|| status().map(grpc))
        };
        let (answer, header) = match &abort.status {
            AbortStatus::Http(code) => (http(*code), None),
            AbortStatus::Grpc(status) => (grpc(*status), None),
            AbortStatus::Header => (
                by_header()?,
                number(request, "x-envoy-fault-abort-request-percentage"),
            ),
        };
        let probability = probability(abort.percentage, header);
        (probability > 0.0).then(|| (probability, answer.with_body("fault filter abort")))
    }

    fn applies(&self, request: &Request, cluster: Option<&str>) -> Tri {
        let to_cluster =
            self.upstream_cluster.is_empty() || cluster == Some(&*self.upstream_cluster);
        let node = request
            .values("x-envoy-downstream-service-node")
            .next()
            .unwrap_or_default();
        let from_node =
            self.downstream_nodes.is_empty() || self.downstream_nodes.iter().any(|n| **n == *node);
        let headers = self.headers.iter().map(|matcher| matcher.matches(request));
        Tri::all(
            [to_cluster.into(), from_node.into()]
                .into_iter()
                .chain(headers),
        )
    }
}

impl AbortStatus {
    fn compile(raw: Raw<'_>) -> Self {
        let number = |key: &str| raw.get(key).and_then(Raw::number);
        let http = number("http_status")
            .and_then(|code| u16::try_from(code).ok())
            .map(Self::Http);
        let grpc = || {
            number("grpc_status")
                .and_then(|code| u8::try_from(code).ok())
                .map(Self::Grpc)
        };
        http.or_else(grpc).unwrap_or(Self::Header)
    }
}

/// "the percentage … is the minimum of the header's and the configured one": the header keeps the
/// denominator.
fn probability(fraction: Fraction, header: Option<u64>) -> f64 {
    let numerator = header.map_or(fraction.numerator, |header| header.min(fraction.numerator));
    #[expect(clippy::cast_precision_loss, reason = "both are at most a million")]
    let share = numerator as f64 / fraction.denominator as f64;
    share.min(1.0)
}

fn number(request: &Request, header: &str) -> Option<u64> {
    request.values(header).next()?.parse().ok()
}
