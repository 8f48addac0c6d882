//! `envoy.filters.http.fault`: delays and aborts on purpose.

use std::borrow::Cow;

use super::{FilterBranch, FilterVerdict, PerRoute};
use crate::answer::{Answer, is_grpc};
use crate::matcher::HeaderMatcher;
use crate::message;
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
        let headers = raw.list("headers");
        let nodes = message::texts(raw, "downstream_nodes");
        Self {
            delay: raw
                .get("delay")
                .map(|delay| Delay::compile(delay, raw, runtime)),
            abort: raw
                .get("abort")
                .map(|abort| Abort::compile(abort, raw, runtime)),
            upstream_cluster: message::text(raw, "upstream_cluster").into(),
            downstream_nodes: nodes.into_iter().map(Box::from).collect(),
            headers: headers.map(HeaderMatcher::compile).collect(),
            is_off: max_active_faults(raw, runtime) == Some(0),
        }
    }

    /// What the filter does. Delays and aborts are drawn independently of each other.
    pub(super) fn evaluate(&self, request: &Request, cluster: Option<&str>) -> FilterVerdict {
        let (delay, abort) = (self.delay(request), self.abort(request));
        // Without any fault to inject, whom it is for does not matter.
        if self.is_off || (delay == 0.0 && abort.is_none()) {
            return FilterVerdict::Passed("no fault is injected".into());
        }
        match self.applies(request, cluster) {
            Tri::Yes => {}
            Tri::No => return FilterVerdict::Passed("the fault is for other requests".into()),
            Tri::Unknown(fact) => return FilterVerdict::Undecided(fact),
        }

        let mut branches = Vec::new();
        push_branches(delay, &["DI"], abort.as_ref(), &mut branches);
        push_branches(1.0 - delay, &[], abort.as_ref(), &mut branches);
        if let [only] = branches.as_slice()
            && let Some(answer) = &only.answer
        {
            return FilterVerdict::Answered(answer.clone(), None);
        }
        FilterVerdict::Branches(branches)
    }

    /// How likely a delay is.
    fn delay(&self, request: &Request) -> f64 {
        let Some(delay) = &self.delay else { return 0.0 };
        if let Some(milliseconds) = delay.milliseconds {
            return if milliseconds == 0 {
                0.0
            } else {
                probability(delay.percentage, None)
            };
        }
        // "Fault delays are controlled via an HTTP header (if applicable)."
        match number(request, "x-envoy-fault-delay-request") {
            None | Some(0) => 0.0,
            Some(_) => {
                let header = number(request, "x-envoy-fault-delay-request-percentage");
                probability(delay.percentage, header)
            }
        }
    }

    /// How likely an abort is, and what it answers.
    fn abort(&self, request: &Request) -> Option<(f64, Answer)> {
        let abort = self.abort.as_ref()?;
        let (answer, header) = match &abort.status {
            AbortStatus::Http(code) => (http_abort(request, *code), None),
            AbortStatus::Grpc(status) => (grpc_abort(request, *status), None),
            AbortStatus::Header => {
                let header = number(request, "x-envoy-fault-abort-request-percentage");
                (abort_of_header(request)?, header)
            }
        };
        // A client can only lower what is configured.
        let probability = probability(abort.percentage, header);
        if probability > 0.0 {
            return Some((probability, answer.with_body("fault filter abort")));
        }
        None
    }

    fn applies(&self, request: &Request, cluster: Option<&str>) -> Tri {
        if !self.upstream_cluster.is_empty() && cluster != Some(&*self.upstream_cluster) {
            return Tri::No;
        }
        // "downstream_nodes: Faults are injected for the specified list of downstream hosts. If this
        // setting is not set, faults are injected for all downstream nodes."
        let mut nodes = request.values("x-envoy-downstream-service-node");
        let node = nodes.next().unwrap_or_default();
        let is_listed = self.downstream_nodes.iter().any(|listed| **listed == *node);
        if !self.downstream_nodes.is_empty() && !is_listed {
            return Tri::No;
        }
        // "The fault injection filter can be applied selectively to requests that match a set of
        // headers specified in the fault config."
        Tri::all(self.headers.iter().map(|matcher| matcher.matches(request)))
    }
}

impl Delay {
    fn compile(raw: Raw<'_>, fault: Raw<'_>, runtime: &Runtime<'_>) -> Self {
        let fixed = raw.string_at("fixed_delay");
        let key = key(
            fault,
            "delay_percent_runtime",
            "fault.http.delay.fixed_delay_percent",
        );
        Self {
            milliseconds: fixed.map(|text| milliseconds(&text).unwrap_or_default()),
            percentage: percentage(raw, &key, runtime),
        }
    }
}

impl Abort {
    fn compile(raw: Raw<'_>, fault: Raw<'_>, runtime: &Runtime<'_>) -> Self {
        let key = key(
            fault,
            "abort_percent_runtime",
            "fault.http.abort.abort_percent",
        );
        Self {
            status: AbortStatus::compile(raw),
            percentage: percentage(raw, &key, runtime),
        }
    }
}

impl AbortStatus {
    fn compile(raw: Raw<'_>) -> Self {
        if let Some(code) = message::optional_number(raw, "http_status")
            && let Ok(code) = u16::try_from(code)
        {
            return Self::Http(code);
        }
        if let Some(status) = message::optional_number(raw, "grpc_status")
            && let Ok(status) = u8::try_from(status)
        {
            return Self::Grpc(status);
        }
        Self::Header
    }
}

/// "the percentage … is the minimum of the header's and the configured one": the header keeps the
/// denominator.
fn probability(fraction: Fraction, header: Option<u64>) -> f64 {
    let mut numerator = fraction.numerator;
    if let Some(header) = header {
        numerator = numerator.min(header);
    }
    #[expect(clippy::cast_precision_loss, reason = "both are at most a million")]
    let share = numerator as f64 / fraction.denominator as f64;
    share.min(1.0)
}

/// What becomes of the requests with this share and these flags: aborted or let on.
fn push_branches(
    weight: f64,
    flags: &[&'static str],
    abort: Option<&(f64, Answer)>,
    branches: &mut Vec<FilterBranch>,
) {
    let mut rest = weight;
    if let Some((probability, answer)) = abort {
        rest = weight * (1.0 - probability);
        let aborted = weight * probability;
        if aborted > 0.0 {
            let mut answer = answer.clone();
            answer.flags.splice(0..0, flags.iter().copied());
            branches.push(FilterBranch::answered(Some(aborted), answer));
        }
    }
    if rest > 0.0 {
        branches.push(FilterBranch::on(Some(rest), flags));
    }
}

fn http_abort(request: &Request, code: u16) -> Answer {
    Answer::new(request, code, &["FI"], "fault_filter_abort")
}

/// Who does not speak gRPC gets 200 and never learns the status.
fn grpc_abort(request: &Request, status: u8) -> Answer {
    let mut answer = http_abort(request, 200);
    answer.grpc_status = is_grpc(request).then_some(status);
    answer
}

/// What the client asks for in its headers. Envoy looks at the one for HTTP first.
fn abort_of_header(request: &Request) -> Option<Answer> {
    if let Some(code) = number(request, "x-envoy-fault-abort-request")
        && (200..600).contains(&code)
        && let Ok(code) = u16::try_from(code)
    {
        return Some(http_abort(request, code));
    }
    let status = number(request, "x-envoy-fault-abort-grpc-request")?;
    Some(grpc_abort(request, u8::try_from(status).ok()?))
}

/// "max_active_faults: The maximum number of faults that can be active at a single time via the
/// configured fault filter."
fn max_active_faults(fault: Raw<'_>, runtime: &Runtime<'_>) -> Option<u64> {
    let key = key(
        fault,
        "max_active_faults_runtime",
        "fault.http.max_active_faults",
    );
    runtime
        .integer(&key)
        .or(message::optional_number(fault, "max_active_faults"))
}

/// The runtime key that a field names, or the one that counts when it does not.
fn key<'a>(fault: Raw<'a>, field: &str, default: &'static str) -> Cow<'a, str> {
    fault.string_at(field).unwrap_or(Cow::Borrowed(default))
}

fn percentage(part: Raw<'_>, runtime_key: &str, runtime: &Runtime<'_>) -> Fraction {
    let default = match part.get("percentage") {
        Some(percentage) => Fraction::compile(percentage),
        None => Fraction::NONE,
    };
    runtime.fraction(runtime_key, default)
}

/// The faults that a route has in the place of the filter's.
pub(super) fn of_route(own: Option<&PerRoute>) -> Option<&HttpFault> {
    match own {
        Some(PerRoute::Fault(fault)) => Some(fault),
        _ => None,
    }
}

fn number(request: &Request, header: &str) -> Option<u64> {
    request.values(header).next()?.parse().ok()
}
