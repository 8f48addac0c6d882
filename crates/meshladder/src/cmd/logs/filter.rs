//! From flags to a filter.

use std::time::{SystemTime, UNIX_EPOCH};

use meshladder_judge::logs::{LineFilter, Terms};
use meshladder_text::duration;
use meshladder_text::time::Time;

use crate::args::logs::Filters;
use crate::exit::{Failure, USAGE};

/// Reads the filters; `taken_at` is what a duration is counted back from.
pub(super) fn of(flags: &Filters, taken_at: Option<Time>) -> Result<LineFilter, Failure> {
    let time = |text: &Option<String>| text.as_deref().map(|text| time(text, taken_at)).transpose();
    Ok(LineFilter {
        wanted: Terms {
            flags: flags.flag.clone(),
            clusters: flags.cluster.clone(),
            codes: flags.code.clone(),
            paths: flags.path.clone(),
            methods: flags.method.clone(),
            upstreams: flags.upstream.clone(),
            request_ids: flags.request_id.clone(),
            details: flags.details.clone(),
            hosts: flags.host.clone(),
        },
        unwanted: Terms {
            flags: flags.not_flag.clone(),
            clusters: flags.not_cluster.clone(),
            codes: flags.not_code.clone(),
            paths: flags.not_path.clone(),
            methods: flags.not_method.clone(),
            upstreams: flags.not_upstream.clone(),
            request_ids: flags.not_request_id.clone(),
            details: flags.not_details.clone(),
            hosts: flags.not_host.clone(),
        },
        since: time(&flags.since)?,
        until: time(&flags.until)?,
        failed: flags.failed,
    })
}

fn time(text: &str, taken_at: Option<Time>) -> Result<Time, Failure> {
    let back = || {
        Some(Time::from_seconds(
            taken_at.or_else(now)?.seconds - seconds(text)?,
        ))
    };
    Time::parse(text).or_else(back).ok_or_else(|| {
        Failure::new(
            USAGE,
            format!(
                "`{text}` is no time: try 2026-11-15T06:00:00Z, or how long ago, as in 90s, 10m, 2h"
            ),
        )
    })
}

pub(super) fn now() -> Option<Time> {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_secs();
    Some(Time::from_seconds(i64::try_from(seconds).ok()?))
}

/// `90s`, `10m`, `2h`, `1d`
pub(super) fn seconds(text: &str) -> Option<i64> {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what is longer than all time is all time"
    )]
    duration::prometheus_seconds(text).map(|seconds| seconds as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_or_counted_back() {
        let taken = Time::parse("2026-11-15T06:00:00Z");
        let read = |text| time(text, taken).map(|time| time.to_string()).ok();
        assert_eq!(read("10m").as_deref(), Some("2026-11-15T05:50:00Z"));
        assert_eq!(read("1d").as_deref(), Some("2026-11-14T06:00:00Z"));
        assert_eq!(
            read("2026-11-15T01:00:00+01:00").as_deref(),
            Some("2026-11-15T00:00:00Z")
        );
        for wrong in ["", "m", "10", "-5m", "yesterday", "10é"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
