//! As JSON v1: an outward shape of its own, which may grow and keeps its names.

use super::Told;
use crate::json::pretty;
use crate::report::compact;
use meshladder_judge::logs::{Cause, Class, Example, Group, Histogram, Top};
use meshladder_text::json::escape;
use meshladder_text::time::Time;

/// The summary as pretty JSON.
pub fn to_json(told: &Told<'_>) -> String {
    let summary = told.summary;
    let stats = &summary.stats;
    let classes = Class::ALL
        .iter()
        .map(|class| format!("\"{}\":{}", class.id(), stats.of(*class)));
    let counts = format!(
        "\"requests\":{},\"connections\":{},\"leftOut\":{},\"malformed\":{},\"other\":{},\"ungrouped\":{},\"joined\":{}",
        stats.requests,
        stats.connections,
        stats.left_out,
        stats.malformed,
        stats.other,
        stats.ungrouped,
        summary.joined
    );
    let text = format!(
        "{{\"apiVersion\":\"meshladder.dev/v1\",\"kind\":\"Logs\",\"sources\":{},{counts},\"classes\":{{{}}},{},\"failed\":{},\"groups\":{},\"causes\":{},\"malformedLines\":{}}}",
        list(told.sources.iter().map(|source| escape(source))),
        classes.collect::<Vec<_>>().join(","),
        between(stats.between),
        histogram(&stats.failed),
        list(summary.groups.iter().map(|one| group(one, told))),
        list(
            summary
                .causes
                .iter()
                .enumerate()
                .map(|(i, one)| cause(i, one, told))
        ),
        list(
            stats
                .malformed_examples
                .iter()
                .map(|one| example(one, told))
        ),
    );
    pretty(&text)
}

fn group(group: &Group, told: &Told<'_>) -> String {
    let flags = list(group.flags.iter().map(|flag| escape(flag)));
    let duration = group
        .duration
        .map_or("null".to_owned(), |(least, most, sum)| {
            format!(
                "{{\"min\":{least},\"max\":{most},\"mean\":{}}}",
                sum / group.count.max(1)
            )
        });
    format!(
        "{{\"code\":{},\"flags\":{flags},\"details\":{},\"cluster\":{},\"side\":\"{}\",\"by\":\"{}\",\"class\":\"{}\",\"grpc\":{},\"count\":{},{},\"durationMs\":{duration},\"histogram\":{},\"upstreams\":{},\"requests\":{},\"transportFailures\":{},\"examples\":{}}}",
        group.code,
        escape(&group.details),
        escape(&group.cluster),
        group.judgement.side.id(),
        group.judgement.by.id(),
        group.judgement.class.id(),
        group.judgement.is_grpc,
        group.count,
        between(group.between),
        histogram(&group.histogram),
        top(&group.upstreams),
        top(&group.requests),
        top(&group.failures),
        list(group.examples.iter().map(|one| example(one, told))),
    )
}

fn cause(i: usize, cause: &Cause, told: &Told<'_>) -> String {
    let also = cause
        .also
        .iter()
        .map(|(group, count)| format!("{{\"group\":{group},\"requests\":{count}}}"));
    let leads = cause.leads.iter().map(|lead| {
        format!(
            "{{\"what\":{},\"confirm\":{}}}",
            escape(&lead.what),
            escape(&lead.confirm)
        )
    });
    let command = told
        .commands
        .get(i)
        .and_then(Option::as_deref)
        .map_or("null".to_owned(), escape);
    let report = told
        .explained
        .iter()
        .find(|(of, _)| *of == i)
        .map_or("null".to_owned(), |(_, report)| compact(report));
    format!(
        "{{\"group\":{},\"says\":{},\"also\":{},\"leads\":{},\"ask\":{command},\"why\":{report}}}",
        cause.group,
        list(cause.says.iter().map(|text| escape(text))),
        list(also),
        list(leads),
    )
}

fn between(between: Option<(Time, Time)>) -> String {
    match between {
        Some((first, last)) => format!("\"first\":\"{first}\",\"last\":\"{last}\""),
        None => "\"first\":null,\"last\":null".to_owned(),
    }
}

fn histogram(histogram: &Histogram) -> String {
    let bars = histogram.bars().into_iter().map(|(start, count)| {
        format!(
            "{{\"start\":\"{}\",\"count\":{count}}}",
            Time::from_seconds(start)
        )
    });
    format!(
        "{{\"seconds\":{},\"bars\":{}}}",
        histogram.width(),
        list(bars)
    )
}

/// A script that wants more of them counts lines itself.
const MOST_VALUES: usize = 32;

fn top(top: &Top) -> String {
    let named = top
        .sorted()
        .into_iter()
        .filter(|(value, _)| !value.is_empty());
    list(
        named
            .take(MOST_VALUES)
            .map(|(value, count)| format!("{{\"value\":{},\"count\":{count}}}", escape(value))),
    )
}

fn example(example: &Example, told: &Told<'_>) -> String {
    let source = told.sources.get(example.source).map_or("", String::as_str);
    format!(
        "{{\"doc\":{},\"line\":{},\"text\":{}}}",
        escape(source),
        example.number,
        escape(&example.text)
    )
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}
