//! The ways requests ended, a row each.

use std::borrow::Cow;

use super::Table;
use crate::logs::{clock, shown};
use meshladder_judge::logs::{AnswerClass, Histogram, LineGroup, LogSummary};

/// The groups that did not go well, and what did as the last row; `most` of the former.
pub fn table(summary: &LogSummary, most: usize) -> Table<'_> {
    let mut table = Table::new(
        2,
        &[
            "COUNT",
            "CODE",
            "FLAGS",
            "DETAILS",
            "CLUSTER",
            "AT",
            "ANSWERED BY",
            "FIRST",
            "LAST",
            "OVER TIME",
        ],
    );
    let told = summary
        .groups
        .iter()
        .filter(|group| group.judgement.class != AnswerClass::Fine);
    told.take(most).for_each(|group| table.row(row(group)));
    if let Some(row) = fine(summary) {
        table.row(row);
    }
    table
}

fn row(group: &LineGroup) -> [Cow<'_, str>; 10] {
    let (first, last) = between(group);
    [
        group.count.to_string().into(),
        group.code.to_string().into(),
        group.flags_text().into(),
        short(&shown(&group.details)).into(),
        dash(&shown(&group.cluster)).into(),
        dash(if group.judgement.side.id() == "unknown" {
            ""
        } else {
            group.judgement.side.id()
        })
        .into(),
        group.judgement.by.words().into(),
        first.into(),
        last.into(),
        group.histogram.sparkline().into(),
    ]
}

/// All that went well, as one row.
fn fine(summary: &LogSummary) -> Option<[Cow<'static, str>; 10]> {
    let groups = summary
        .groups
        .iter()
        .filter(|group| group.judgement.class == AnswerClass::Fine);
    let (mut count, mut histogram) = (0, Histogram::default());
    let mut between = None;
    for group in groups {
        count += group.count;
        histogram.merge(&group.histogram);
        between = match (between, group.between) {
            (Some((a, b)), Some((c, d))) => Some((c.min(a), d.max(b))),
            (one, two) => one.or(two),
        };
    }
    let (first, last) = between.map_or(("-".to_owned(), "-".to_owned()), |(a, b)| {
        (clock(a), clock(b))
    });
    let dash = || Cow::Borrowed("-");
    (count > 0).then(|| {
        [
            count.to_string().into(),
            "fine".into(),
            dash(),
            dash(),
            dash(),
            dash(),
            dash(),
            first.into(),
            last.into(),
            histogram.sparkline().into(),
        ]
    })
}

fn between(group: &LineGroup) -> (String, String) {
    group
        .between
        .map_or(("-".to_owned(), "-".to_owned()), |(a, b)| {
            (clock(a), clock(b))
        })
}

fn dash(text: &str) -> String {
    if text.is_empty() {
        "-".to_owned()
    } else {
        text.to_owned()
    }
}

/// A column has no room for all of a TLS error.
fn short(text: &str) -> String {
    const MOST: usize = 60;
    match text.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => dash(text),
    }
}
