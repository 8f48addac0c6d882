//! Rates of response flags out of Prometheus, and shares of versions.

use std::borrow::Cow;

use super::Table;
use meshladder_capture::flags;
use meshladder_judge::canary::{CanaryJudgement, CanaryVerdict};
use meshladder_judge::prometheus::rates::{FlagRate, Trend};

/// The table; `labels` name the columns that rows are split by, beside flags and reporter.
pub fn table<'a>(rows: &'a [FlagRate], labels: &[&'static str]) -> Table<'a> {
    let mut header: Vec<Cow<'a, str>> = ["FLAGS", "REPORTER"].map(Cow::from).to_vec();
    header.extend(labels.iter().map(|label| Cow::from(title(label))));
    header.extend(
        [
            "PER SECOND",
            "SHARE",
            "HOUR AGO",
            "DAY AGO",
            "TREND",
            "MEANING",
        ]
        .map(Cow::from),
    );
    let mut table = Table::titled(2, header);
    for row in rows {
        let mut cells: Vec<Cow<'a, str>> = vec![row.flags.as_str().into(), or_dash(&row.reporter)];
        cells.extend(row.by.iter().map(|value| or_dash(value)));
        let figures = [
            rate(row.now),
            percent(row.share),
            before(row.hour),
            before(row.day),
            trend(row.trend),
        ];
        cells.extend(figures.map(Cow::from));
        cells.push(meaning(&row.flags));
        table.row(cells);
    }
    table
}

/// Shares beside weights.
pub fn shares(judgement: &CanaryJudgement) -> Table<'_> {
    let mut table = Table::new(
        2,
        &[
            "VERSION",
            "WEIGHT",
            "SEEN",
            "95 % SURE",
            "REQUESTS",
            "VERDICT",
        ],
    );
    for share in &judgement.shares {
        let verdict = match judgement.verdict {
            _ if !share.fits => "differs",
            CanaryVerdict::TooFew { .. } => "too few requests",
            _ => "fits",
        };
        table.row([
            share.name.as_str().into(),
            share
                .configured
                .map_or(Cow::from("none"), |share| percent(share).into()),
            percent(share.seen).into(),
            format!(
                "{} to {}",
                percent(share.interval.low),
                percent(share.interval.high)
            )
            .into(),
            format!("{:.0}", share.requests).into(),
            verdict.into(),
        ]);
    }
    table
}

/// `destination_service_name` is `SERVICE`.
fn title(label: &str) -> String {
    let short = label.strip_prefix("destination_").unwrap_or(label);
    match short {
        "service_namespace" => "NAMESPACE".to_owned(),
        "service_name" => "SERVICE".to_owned(),
        "response_code" => "CODE".to_owned(),
        "grpc_response_status" => "GRPC".to_owned(),
        other => other.to_uppercase(),
    }
}

fn or_dash(text: &str) -> Cow<'_, str> {
    if text.is_empty() {
        "-".into()
    } else {
        text.into()
    }
}

/// What the flags mean, the one that tells most first.
fn meaning(text: &str) -> Cow<'static, str> {
    if text == "-" {
        return "no flag".into();
    }
    let mut known: Vec<_> = text.split(',').filter_map(flags::named).collect();
    known.sort_by_key(|flag| flag.code == "URX");
    match known[..] {
        [] => "not a flag of Envoy's own".into(),
        [one] => one.means.into(),
        [first, ..] => format!(
            "{} (and {})",
            first.means,
            known[1..]
                .iter()
                .map(|f| f.long)
                .collect::<Vec<_>>()
                .join(", ")
        )
        .into(),
    }
}

/// Three digits that count, of the rounded value: 9.9999 is 10.0.
fn rate(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        v if v >= 99.95 => format!("{v:.0}"),
        v if v >= 9.995 => format!("{v:.1}"),
        v if v >= 0.9995 => format!("{v:.2}"),
        v if v >= 0.001 => format!("{v:.3}"),
        _ => "<0.001".to_owned(),
    }
}

fn before(value: Option<f64>) -> String {
    value.map_or("no data".to_owned(), rate)
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0 %".to_owned(),
        p if p < 0.01 => "<0.01 %".to_owned(),
        p if p < 10.0 => format!(
            "{} %",
            format!("{p:.2}")
                .trim_end_matches('0')
                .trim_end_matches('.')
        ),
        p => format!(
            "{} %",
            format!("{p:.1}")
                .trim_end_matches('0')
                .trim_end_matches('.')
        ),
    }
}

pub(crate) fn trend(trend: Trend) -> String {
    match trend {
        Trend::New => "new".to_owned(),
        Trend::Gone => "gone".to_owned(),
        Trend::Steady => "steady".to_owned(),
        Trend::Unknown => "unknown".to_owned(),
        Trend::Times(times) => format!("×{}", rate(times)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_never_a_false_zero() {
        for (value, expected) in [
            (0.0, "0"),
            (0.0004, "<0.001"),
            (0.016_66, "0.017"),
            (1.5, "1.50"),
            (12.34, "12.3"),
            (1234.5, "1234"),
        ] {
            assert_eq!(rate(value), expected);
        }
        for (value, expected) in [(0.999_99, "1.00"), (9.999_99, "10.0"), (99.999, "100")] {
            assert_eq!(rate(value), expected);
        }
        for (share, expected) in [
            (0.0, "0 %"),
            (0.000_01, "<0.01 %"),
            (0.05, "5 %"),
            (0.101, "10.1 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(percent(share), expected);
        }
    }

    #[test]
    fn a_set_of_flags_is_explained_by_its_cause() {
        assert_eq!(meaning("URX,UF"), meaning("UF,URX"));
        assert!(meaning("URX,UF").starts_with(flags::named("UF").expect("a flag").means));
        assert_eq!(meaning("QQ"), "not a flag of Envoy's own");
    }
}
