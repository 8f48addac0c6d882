//! Rates of response flags now, an hour and a day ago, the most abnormal first.

use std::collections::BTreeMap;

use super::answer::{PrometheusAnswer, Sample};
use super::class::{self, ObjectiveCount};

/// A row of the table.
#[derive(Clone, Debug, PartialEq)]
pub struct FlagRate {
    /// The joined flags, as in `URX,UF`; `-` for none.
    pub flags: String,
    /// Who reports it: `source`, `destination`, `waypoint`.
    pub reporter: String,
    /// The other labels that were asked for, in that order.
    pub by: Vec<String>,
    /// Requests a second.
    pub now: f64,
    /// The part of all that the same side reports.
    pub share: f64,
    /// An hour ago; none when the metric was not there then.
    pub hour: Option<f64>,
    /// A day ago.
    pub day: Option<f64>,
    /// How the rate compares with those before.
    pub trend: Trend,
    /// How far it is from what it was, in standard deviations of a count.
    score: f64,
}

/// How a rate compares with those before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trend {
    /// There was none before.
    New,
    /// There is none any more.
    Gone,
    /// This many times what it was.
    Times(f64),
    /// No more than chance explains.
    Steady,
    /// Nothing to compare with.
    Unknown,
}

/// The answers that a table is made from.
#[derive(Clone, Copy, Debug)]
pub struct Answers<'a> {
    /// Rates now.
    pub now: &'a PrometheusAnswer,
    /// An hour ago.
    pub hour: &'a PrometheusAnswer,
    /// A day ago.
    pub day: &'a PrometheusAnswer,
}

type Key = Vec<String>;

/// The rows, the most abnormal first; `labels` are those of the query, and `window` its length in
/// seconds.
pub fn rows(answers: Answers<'_>, labels: &[&str], window: f64) -> Vec<FlagRate> {
    let [now, hour, day] =
        [answers.now, answers.hour, answers.day].map(|answer| by_key(answer, labels));
    let totals = totals(&now);
    let mut keys: Vec<&Key> = now.keys().chain(hour.keys()).chain(day.keys()).collect();
    keys.sort();
    keys.dedup();
    let before = |then: &BTreeMap<Key, f64>, key: &Key| {
        (!then.is_empty()).then(|| then.get(key).copied().unwrap_or_default())
    };
    let rows = keys.iter().filter(|key| is_trusted(key, &now)).map(|key| {
        let rate = now.get(*key).copied().unwrap_or_default();
        let total = totals.get(key[1].as_str()).copied().unwrap_or_default();
        let (hour, day) = (before(&hour, key), before(&day, key));
        let (trend, score) = compare(rate, hour, day, window);
        FlagRate {
            flags: if key[0].is_empty() {
                "?".to_owned()
            } else {
                key[0].clone()
            },
            reporter: key[1].clone(),
            by: key[2..].to_vec(),
            now: rate,
            share: if total > 0.0 { rate / total } else { 0.0 },
            hour,
            day,
            trend,
            score,
        }
    });
    let mut rows: Vec<FlagRate> = rows
        .filter(|row| row.now > 0.0 || row.hour > Some(0.0) || row.day > Some(0.0))
        .collect();
    rows.sort_by(|a, b| {
        let order = (a.is_plain(), a.is_left_out()).cmp(&(b.is_plain(), b.is_left_out()));
        order
            .then(b.score.total_cmp(&a.score))
            .then(b.now.total_cmp(&a.now))
    });
    rows
}

impl FlagRate {
    /// No flag at all: what went its way.
    pub fn is_plain(&self) -> bool {
        self.flags == "-"
    }

    fn is_left_out(&self) -> bool {
        class::of(&self.flags).is_some_and(|class| class.counts == ObjectiveCount::LeftOut)
    }

    /// Why this side is believed.
    pub fn side(&self) -> &'static str {
        match (self.reporter.as_str(), self.is_plain()) {
            ("source", true) => {
                "without a flag: counted by the clients' proxies, since the servers' report none"
            }
            ("source", false) => "set by the clients' proxies or a gateway",
            ("destination", true) => {
                "without a flag: both sides count it, and the servers' count is taken"
            }
            ("destination", false) => "set by the servers' proxies",
            ("waypoint", _) => "set by a waypoint",
            _ => "the reporter is not told",
        }
    }
}

fn by_key(answer: &PrometheusAnswer, labels: &[&str]) -> BTreeMap<Key, f64> {
    let key = |sample: &Sample| {
        labels
            .iter()
            .map(|label| sample.label(label).to_owned())
            .collect()
    };
    answer
        .samples
        .iter()
        .filter(|sample| sample.value.is_finite())
        .map(|s| (key(s), s.value))
        .collect()
}

fn totals(now: &BTreeMap<Key, f64>) -> BTreeMap<&str, f64> {
    let mut totals = BTreeMap::new();
    for (key, rate) in now {
        *totals.entry(key[1].as_str()).or_default() += rate;
    }
    totals
}

/// A flag is set by the proxy that saw it, so each side's flags are events of their own. A request
/// without a flag is counted by both sides: the server's counts, and the client's where there is no
/// server's.
fn is_trusted(key: &Key, now: &BTreeMap<Key, f64>) -> bool {
    if key[0] != "-" || key[1] != "source" {
        return true;
    }
    let mut other = key.clone();
    "destination".clone_into(&mut other[1]);
    !now.contains_key(&other)
}

/// Counts of a window scatter by their square root; within two of those nothing happened.
fn compare(now: f64, hour: Option<f64>, day: Option<f64>, window: f64) -> (Trend, f64) {
    let before: Vec<f64> = [hour, day].into_iter().flatten().collect();
    if before.is_empty() {
        return (Trend::Unknown, now * window);
    }
    // The greater of the two: what is usual at this hour of the day is not abnormal.
    let usual = before.iter().copied().fold(0.0, f64::max);
    let scatter = (usual * window).max(now * window).max(1.0).sqrt();
    let score = (now - usual) * window / scatter;
    let trend = match (now > 0.0, usual > 0.0) {
        (true, false) => Trend::New,
        (false, true) => Trend::Gone,
        _ if score.abs() < 2.0 => Trend::Steady,
        _ => Trend::Times(now / usual),
    };
    (trend, score)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LABELS: [&str; 2] = ["response_flags", "reporter"];

    fn answer(rows: &[(&str, &str, f64)]) -> PrometheusAnswer {
        let sample = |(flags, reporter, value): &(&str, &str, f64)| Sample {
            labels: [("response_flags", flags), ("reporter", reporter)]
                .map(|(k, v)| (k.to_owned(), (*v).to_owned()))
                .into(),
            value: *value,
        };
        PrometheusAnswer {
            samples: rows.iter().map(sample).collect(),
            warnings: Vec::new(),
        }
    }

    fn told(
        now: &[(&str, &str, f64)],
        hour: &[(&str, &str, f64)],
        day: &[(&str, &str, f64)],
    ) -> Vec<FlagRate> {
        let (now, hour, day) = (answer(now), answer(hour), answer(day));
        rows(
            Answers {
                now: &now,
                hour: &hour,
                day: &day,
            },
            &LABELS,
            300.0,
        )
    }

    #[test]
    fn what_is_new_comes_before_what_was_always_there() {
        let usual = [
            ("-", "source", 100.0),
            ("-", "destination", 90.0),
            ("UC", "destination", 2.0),
        ];
        let rows = told(
            &[&usual[..], &[("UH", "source", 0.5), ("DC", "source", 9.0)]].concat(),
            &usual,
            &usual,
        );
        let order: Vec<_> = rows
            .iter()
            .map(|row| (row.flags.as_str(), row.reporter.as_str(), row.trend))
            .collect();
        assert_eq!(
            order,
            [
                ("UH", "source", Trend::New),
                ("UC", "destination", Trend::Steady),
                // A client that went away is not the mesh's failure.
                ("DC", "source", Trend::New),
                ("-", "destination", Trend::Steady),
            ]
        );
        assert!((rows[0].share - 0.5 / 109.5).abs() < 1e-9);
    }

    #[test]
    fn the_client_s_count_stands_where_no_server_reports() {
        let rows = told(&[("-", "source", 1.0)], &[], &[]);
        assert_eq!(
            (rows.len(), rows[0].reporter.as_str(), rows[0].trend),
            (1, "source", Trend::Unknown)
        );
    }

    #[test]
    fn absent_before_is_not_zero_before() {
        let now = [("UF", "source", 1.0)];
        assert_eq!(told(&now, &[("-", "source", 1.0)], &[])[0].hour, Some(0.0));
        assert_eq!(told(&now, &[], &[])[0].hour, None);
        assert_eq!(
            told(&now, &[("UF", "source", 0.1)], &[])[0].trend,
            Trend::Times(10.0)
        );
        assert_eq!(
            told(&[("-", "source", 1.0)], &now, &now)[0].trend,
            Trend::Gone
        );
    }

    #[test]
    fn the_usual_rush_of_a_day_is_not_abnormal() {
        let rows = told(
            &[("UO", "source", 5.0)],
            &[("UO", "source", 0.1)],
            &[("UO", "source", 5.1)],
        );
        assert_eq!(rows[0].trend, Trend::Steady);
    }
}
