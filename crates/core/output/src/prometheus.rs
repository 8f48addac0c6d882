//! What Prometheus counted, as JSON v1.

use crate::json::{API_VERSION, Pairs, to_line};
use crate::tables::flag_rates::trend;
use meshladder_judge::canary::{CanaryJudgement, VersionShare};
use meshladder_judge::prometheus::answer::Sample;
use meshladder_judge::prometheus::class;
use meshladder_judge::prometheus::query::FlagQuery;
use meshladder_judge::prometheus::rates::FlagRate;
use serde::Serialize;

/// Rates of response flags.
#[derive(Debug)]
pub struct FlagRates<'a> {
    /// The kubeconfig context, where one was named.
    pub context: Option<&'a str>,
    /// What was asked.
    pub query: &'a FlagQuery,
    /// The answer.
    pub rows: &'a [FlagRate],
    /// The labels by which rows are split, beside flags and reporter.
    pub labels: &'a [&'static str],
    /// Why there is nothing, or nothing of use.
    pub absent: Option<&'a str>,
    /// What Prometheus warned of.
    pub warnings: &'a [String],
}

impl FlagRates<'_> {
    /// As JSON on one line.
    pub fn to_json(&self) -> String {
        let mut rows = Vec::new();
        for row in self.rows {
            rows.push(RateJson::new(row, self.labels));
        }
        to_line(&FlagRatesJson {
            api_version: API_VERSION,
            kind: "FlagRates",
            context: self.context,
            metric: self.query.metric.name(),
            window: &self.query.window,
            query: self.query.rates(""),
            absent: self.absent,
            warnings: self.warnings,
            rows,
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FlagRatesJson<'a> {
    api_version: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'a str>,
    metric: &'a str,
    window: &'a str,
    query: String,
    absent: Option<&'a str>,
    warnings: &'a [String],
    rows: Vec<RateJson<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RateJson<'a> {
    flags: &'a str,
    class: Option<&'static str>,
    reporter: &'a str,
    by: Pairs<&'a str, &'a str>,
    per_second: f64,
    share: f64,
    hour_ago: Option<f64>,
    day_ago: Option<f64>,
    trend: String,
    trust: &'a str,
}

impl<'a> RateJson<'a> {
    fn new(row: &'a FlagRate, labels: &[&'a str]) -> Self {
        let mut by = Vec::new();
        for (label, value) in labels.iter().zip(&row.by) {
            by.push((*label, value.as_str()));
        }
        Self {
            flags: &row.flags,
            class: class::of(&row.flags).map(|class| class.id),
            reporter: &row.reporter,
            by: Pairs(by),
            per_second: row.now,
            share: row.share,
            hour_ago: row.hour,
            day_ago: row.day,
            trend: trend(row.trend),
            trust: row.side(),
        }
    }
}

/// The series that a query of the user's own gives, as JSON on one line.
pub fn samples_json(context: Option<&str>, query: &str, samples: &[Sample]) -> String {
    let mut all = Vec::new();
    for sample in samples {
        all.push(SampleJson {
            labels: &sample.labels,
            value: FigureJson::from(sample.value),
        });
    }
    to_line(&SamplesJson {
        api_version: API_VERSION,
        kind: "Samples",
        context,
        query,
        samples: all,
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SamplesJson<'a> {
    api_version: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'a str>,
    query: &'a str,
    samples: Vec<SampleJson<'a>>,
}

#[derive(Serialize)]
struct SampleJson<'a> {
    labels: &'a std::collections::BTreeMap<String, String>,
    value: FigureJson,
}

/// JSON has no number for what is infinite or none.
#[derive(Serialize)]
#[serde(untagged)]
enum FigureJson {
    Finite(f64),
    Other(String),
}

impl From<f64> for FigureJson {
    fn from(value: f64) -> Self {
        if value.is_finite() {
            Self::Finite(value)
        } else {
            Self::Other(value.to_string())
        }
    }
}

/// How traffic compares with the weights.
#[derive(Debug)]
pub struct CanaryShares<'a> {
    /// The kubeconfig context, where one was named.
    pub context: Option<&'a str>,
    /// The service.
    pub service: &'a str,
    /// Its namespace.
    pub namespace: &'a str,
    /// The time that was looked at.
    pub window: &'a str,
    /// Whose count it is.
    pub reporter: &'a str,
    /// Requests that reached no version.
    pub nowhere: f64,
    /// The comparison.
    pub judgement: &'a CanaryJudgement,
    /// The command that asks why a version gets nothing.
    pub why: Option<String>,
}

impl CanaryShares<'_> {
    /// As JSON on one line.
    pub fn to_json(&self) -> String {
        to_line(&CanaryJson {
            api_version: API_VERSION,
            kind: "Canary",
            context: self.context,
            service: self.service,
            namespace: self.namespace,
            window: self.window,
            reporter: self.reporter,
            requests: self.judgement.requests,
            nowhere: self.nowhere,
            verdict: self.judgement.verdict.word(),
            parts: self.judgement.shares.iter().map(ShareJson::from).collect(),
            why: self.why.as_deref(),
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CanaryJson<'a> {
    api_version: &'static str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'a str>,
    service: &'a str,
    namespace: &'a str,
    window: &'a str,
    reporter: &'a str,
    requests: f64,
    nowhere: f64,
    verdict: &'static str,
    parts: Vec<ShareJson<'a>>,
    why: Option<&'a str>,
}

#[derive(Serialize)]
struct ShareJson<'a> {
    name: &'a str,
    configured: Option<f64>,
    seen: f64,
    low: f64,
    high: f64,
    requests: f64,
    fits: bool,
}

impl<'a> From<&'a VersionShare> for ShareJson<'a> {
    fn from(share: &'a VersionShare) -> Self {
        Self {
            name: &share.name,
            configured: share.configured,
            seen: share.seen,
            low: share.interval.low,
            high: share.interval.high,
            requests: share.requests,
            fits: share.fits,
        }
    }
}
