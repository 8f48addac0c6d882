//! As JSON v1: an outward shape of its own, which may grow and keeps its names.

use super::LogReport;
use crate::json::{API_VERSION, Pairs, to_pretty};
use crate::report::ReportJson;
use meshladder_judge::logs::{AnswerClass, Histogram, LineExample, LineGroup, LogCause, Top};
use meshladder_text::time::Time;
use serde::Serialize;

/// The summary as pretty JSON.
pub fn to_json(told: &LogReport<'_>) -> String {
    to_pretty(&LogsJson::from(told), 2)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LogsJson<'a> {
    api_version: &'static str,
    kind: &'static str,
    sources: &'a [String],
    requests: u64,
    connections: u64,
    left_out: u64,
    malformed: u64,
    other: u64,
    ungrouped: u64,
    joined: u64,
    classes: Pairs<&'static str, u64>,
    first: Option<String>,
    last: Option<String>,
    failed: HistogramJson,
    groups: Vec<GroupJson<'a>>,
    causes: Vec<CauseJson<'a>>,
    malformed_lines: Vec<ExampleJson<'a>>,
}

impl<'a> From<&'a LogReport<'a>> for LogsJson<'a> {
    fn from(told: &'a LogReport<'a>) -> Self {
        let summary = told.summary;
        let stats = &summary.stats;
        let mut classes = Vec::new();
        for class in AnswerClass::ALL {
            classes.push((class.id(), stats.of(class)));
        }
        let mut groups = Vec::new();
        for group in &summary.groups {
            groups.push(GroupJson::new(group, told));
        }
        let mut causes = Vec::new();
        for (number, cause) in summary.causes.iter().enumerate() {
            causes.push(CauseJson::new(number, cause, told));
        }
        let [first, last] = ends(stats.between);
        Self {
            api_version: API_VERSION,
            kind: "Logs",
            sources: told.sources,
            requests: stats.requests,
            connections: stats.connections,
            left_out: stats.left_out,
            malformed: stats.malformed,
            other: stats.other,
            ungrouped: stats.ungrouped,
            joined: summary.joined,
            classes: Pairs(classes),
            first,
            last,
            failed: HistogramJson::from(&stats.failed),
            groups,
            causes,
            malformed_lines: examples(&stats.malformed_examples, told),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GroupJson<'a> {
    code: u16,
    flags: &'a [String],
    details: &'a str,
    cluster: &'a str,
    side: &'static str,
    by: &'static str,
    class: &'static str,
    grpc: bool,
    count: u64,
    first: Option<String>,
    last: Option<String>,
    duration_ms: Option<DurationJson>,
    histogram: HistogramJson,
    upstreams: Vec<CountJson<'a>>,
    requests: Vec<CountJson<'a>>,
    transport_failures: Vec<CountJson<'a>>,
    examples: Vec<ExampleJson<'a>>,
}

#[derive(Serialize)]
struct DurationJson {
    min: u64,
    max: u64,
    mean: u64,
}

impl<'a> GroupJson<'a> {
    fn new(group: &'a LineGroup, told: &LogReport<'a>) -> Self {
        let [first, last] = ends(group.between);
        Self {
            code: group.code,
            flags: &group.flags,
            details: &group.details,
            cluster: &group.cluster,
            side: group.judgement.side.id(),
            by: group.judgement.by.id(),
            class: group.judgement.class.id(),
            grpc: group.judgement.is_grpc,
            count: group.count,
            first,
            last,
            duration_ms: group.duration.map(|(min, max, sum)| DurationJson {
                min,
                max,
                mean: sum / group.count.max(1),
            }),
            histogram: HistogramJson::from(&group.histogram),
            upstreams: counts(&group.upstreams),
            requests: counts(&group.requests),
            transport_failures: counts(&group.failures),
            examples: examples(&group.examples, told),
        }
    }
}

#[derive(Serialize)]
struct CauseJson<'a> {
    group: usize,
    says: &'a [String],
    also: Vec<AlsoJson>,
    leads: Vec<LeadJson<'a>>,
    ask: Option<&'a str>,
    why: Option<ReportJson<'a>>,
}

#[derive(Serialize)]
struct AlsoJson {
    group: usize,
    requests: u64,
}

#[derive(Serialize)]
struct LeadJson<'a> {
    what: &'a str,
    confirm: &'a str,
}

impl<'a> CauseJson<'a> {
    fn new(number: usize, cause: &'a LogCause, told: &LogReport<'a>) -> Self {
        let mut also = Vec::new();
        for (group, requests) in &cause.also {
            also.push(AlsoJson {
                group: *group,
                requests: *requests,
            });
        }
        let mut leads = Vec::new();
        for lead in &cause.leads {
            leads.push(LeadJson {
                what: &lead.what,
                confirm: &lead.confirm,
            });
        }
        let explained = told.explained.iter().find(|(of, _)| *of == number);
        Self {
            group: cause.group,
            says: &cause.says,
            also,
            leads,
            ask: told.commands.get(number).and_then(Option::as_deref),
            why: explained.map(|(_, report)| ReportJson::from(report)),
        }
    }
}

/// The first time and the last.
fn ends(between: Option<(Time, Time)>) -> [Option<String>; 2] {
    match between {
        Some((first, last)) => [Some(first.to_string()), Some(last.to_string())],
        None => [None, None],
    }
}

#[derive(Serialize)]
struct HistogramJson {
    seconds: i64,
    bars: Vec<BarJson>,
}

#[derive(Serialize)]
struct BarJson {
    start: String,
    count: u64,
}

impl From<&Histogram> for HistogramJson {
    fn from(histogram: &Histogram) -> Self {
        let mut bars = Vec::new();
        for (start, count) in histogram.bars() {
            bars.push(BarJson {
                start: Time::from_seconds(start).to_string(),
                count,
            });
        }
        Self {
            seconds: histogram.width(),
            bars,
        }
    }
}

#[derive(Serialize)]
struct CountJson<'a> {
    value: &'a str,
    count: u64,
}

/// A script that wants more of them counts lines itself.
const MOST_VALUES: usize = 32;

fn counts(top: &Top) -> Vec<CountJson<'_>> {
    let mut counts = Vec::new();
    for (value, count) in top.sorted() {
        if !value.is_empty() && counts.len() < MOST_VALUES {
            counts.push(CountJson { value, count });
        }
    }
    counts
}

#[derive(Serialize)]
struct ExampleJson<'a> {
    doc: &'a str,
    line: u64,
    text: &'a str,
}

fn examples<'a>(examples: &'a [LineExample], told: &LogReport<'a>) -> Vec<ExampleJson<'a>> {
    let mut all = Vec::new();
    for example in examples {
        all.push(ExampleJson {
            doc: told.sources.get(example.source).map_or("", String::as_str),
            line: example.number,
            text: &example.text,
        });
    }
    all
}
