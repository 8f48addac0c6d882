//! `flags --prometheus`: which flags requests get now, and what is abnormal about it.

use std::io::Write;

use meshladder_collect::prometheus::Client;
use meshladder_judge::prometheus::answer::PrometheusAnswer;
use meshladder_judge::prometheus::query::{self, FlagQuery, Metric};
use meshladder_judge::prometheus::rates::{self, Answers, FlagRate};
use meshladder_output::prometheus::{FlagRates, samples_json};
use meshladder_output::tables::Table;
use meshladder_output::tables::flag_rates;
use meshladder_text::json::escape;

use super::prometheus::{ask, client, context, in_each_context};
use crate::args::prometheus::{By, Flags};
use crate::args::{Global, TextOrJson};
use crate::exit::{Failure, Outcome, UNDECIDED, USAGE};
use crate::out;

pub(super) fn run(global: &Global, args: &Flags) -> Outcome {
    if let Some(code) = args.codes.first() {
        let hint = "without --prometheus it is explained; with it rates of all flags are shown";
        return Err(Failure::new(USAGE, format!("`{code}` beside --prometheus")).hint(hint));
    }
    in_each_context(global, &args.server, args.output, |global| {
        let client = client(global, &args.server, None)?;
        match &args.query {
            Some(query) => own(&client, query, args.output, context(global)),
            None => standard(&client, &call(global, args), args.output, context(global)),
        }
    })
}

fn call(global: &Global, args: &Flags) -> FlagQuery {
    let by = |by: &By| match by {
        By::Destination => query::RateLabel::Destination,
        By::Reporter => query::RateLabel::Reporter,
        By::Code => query::RateLabel::Code,
        By::Version => query::RateLabel::Version,
    };
    FlagQuery {
        metric: if args.tcp {
            Metric::Connections
        } else {
            Metric::Requests
        },
        by: args.by.iter().map(by).collect(),
        window: args.window.clone(),
        service: args.service.clone(),
        namespace: global.namespace.clone(),
    }
}

fn standard(
    client: &Client,
    call: &FlagQuery,
    output: TextOrJson,
    context: Option<&str>,
) -> Outcome {
    let mut warned = Vec::new();
    let mut case = |ago| ask(client, &call.rates(ago), &mut warned);
    let (now, hour, day) = (case("")?, case("1h")?, case("1d")?);
    let absent = absence(client, call, &now, &mut warned)?;
    let labels = call.labels();
    let window = query::seconds(&call.window).unwrap_or(300.0);
    let mut rows = rates::rows(
        Answers {
            now: &now,
            hour: &hour,
            day: &day,
        },
        &labels,
        window,
    );
    if now.samples.is_empty() {
        // What is unknown now is not gone.
        rows.clear();
    }
    let mut out = out::stdout();
    match output {
        TextOrJson::Json => {
            let rates = FlagRates {
                context,
                query: call,
                rows: &rows,
                labels: &labels[2..],
                absent: absent.as_deref(),
                warnings: &warned,
            };
            writeln!(out, "{}", rates.to_json())?;
        }
        TextOrJson::Text if rows.is_empty() => {}
        TextOrJson::Text => write!(out, "{}", flag_rates::table(&rows, &labels[2..]))?,
    }
    out.flush()?;
    if let Some(why) = absent {
        out::warn(&why);
        return Ok(UNDECIDED);
    }
    tell(call, &rows);
    Ok(0)
}

/// Which side is believed, and what the figures do not tell.
fn tell(call: &FlagQuery, rows: &[FlagRate]) {
    out::note(&format!(
        "{}, rates over {}; the most abnormal first",
        call.metric.name(),
        call.window
    ));
    let mut sides: Vec<String> = rows
        .iter()
        .filter(|row| !row.reporter.is_empty())
        .map(|row| format!("{}: {}", row.reporter, row.side()))
        .collect();
    sides.sort();
    sides.dedup();
    for side in sides {
        out::note(&side);
    }
}

/// Why nothing, or nothing of use, came back: an absent series is not a zero.
fn absence(
    client: &Client,
    call: &FlagQuery,
    now: &PrometheusAnswer,
    warned: &mut Vec<String>,
) -> Result<Option<String>, Failure> {
    let metric = call.metric.name();
    if !now.samples.is_empty() {
        let is_labelled = now
            .samples
            .iter()
            .any(|sample| !sample.label("response_flags").is_empty());
        let unlabelled =
            format!("{metric} has no label response_flags: a Telemetry or a relabelling drops it");
        return Ok((!is_labelled).then_some(unlabelled));
    }
    let mut count =
        |query: &str| Ok::<_, Failure>(ask(client, query, warned)?.first().unwrap_or(0.0));
    Ok(Some(if count(&call.series(""))? > 0.0 {
        let window = &call.window;
        format!(
            "{metric} has series, but no two samples of one within {window}: try a longer --window"
        )
    } else if count(&call.series_of_any())? > 0.0 {
        format!(
            "{metric} has no series of what is asked for: no calls were ever counted, which is not a rate of 0"
        )
    } else if count(&call.series_of_a_day())? > 0.0 {
        format!(
            "{metric} is absent now, and was there within a day: Prometheus no longer scrapes the proxies"
        )
    } else {
        format!(
            "{metric} is absent: Prometheus scrapes no proxy (port 15020), or a Telemetry switches it off"
        )
    }))
}

/// A query of the user's own: its series as they come.
fn own(client: &Client, query: &str, output: TextOrJson, context: Option<&str>) -> Outcome {
    let answer = ask(client, query, &mut Vec::new())?;
    let shown = |labels: &std::collections::BTreeMap<String, String>| {
        let pairs: Vec<_> = labels
            .iter()
            .map(|(name, value)| format!("{name}={}", escape(value)))
            .collect();
        format!("{{{}}}", pairs.join(", "))
    };
    let mut out = out::stdout();
    if output == TextOrJson::Json {
        writeln!(out, "{}", samples_json(context, query, &answer.samples))?;
    } else {
        let mut table = Table::new(2, &["VALUE", "SERIES"]);
        for sample in &answer.samples {
            table.row([
                sample.value.to_string().into(),
                shown(&sample.labels).into(),
            ]);
        }
        write!(out, "{table}")?;
    }
    out.flush()?;
    if answer.samples.is_empty() {
        out::warn("the query gives nothing: an absent series is not a zero");
        return Ok(UNDECIDED);
    }
    Ok(0)
}
