//! What time it is where the cluster is. The clock of the machine that asks may be hours off, and
//! certificates of a healthy mesh would look expired: the API server's clock counts.

use std::sync::Mutex;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, header};
use meshladder_text::time::Time;

/// The last time that an API server told, and when it did by a clock that nobody sets.
#[derive(Debug, Default)]
pub(crate) struct Clock(Mutex<Option<(Time, Instant)>>);

impl Clock {
    /// "An origin server with a clock MUST generate a Date header field in all 2xx (Successful),
    /// 3xx (Redirection), and 4xx (Client Error) responses" (RFC 9110, 6.6.1).
    pub(crate) fn note(&self, headers: &HeaderMap) {
        let date = headers
            .get(header::DATE)
            .and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
        let (Some(date), Ok(mut last)) = (date, self.0.lock()) else {
            return;
        };
        *last = Some((time(date), Instant::now()));
    }

    /// The time there; our own until an answer has told it.
    pub(crate) fn now(&self) -> Time {
        let last = self.0.lock().ok().and_then(|last| *last);
        let Some((told, at)) = last else {
            return own_now();
        };
        let since = i64::try_from(at.elapsed().as_secs()).unwrap_or_default();
        Time::from_seconds(told.seconds + since)
    }
}

/// The time by the clock of this machine.
pub(crate) fn own_now() -> Time {
    time(SystemTime::now())
}

fn time(time: SystemTime) -> Time {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_seconds(i64::try_from(since.as_secs()).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(date: &str) -> Clock {
        let clock = Clock::default();
        let mut headers = HeaderMap::new();
        headers.insert(header::DATE, date.parse().expect("a header"));
        clock.note(&headers);
        clock
    }

    #[test]
    fn the_servers_time_counts_and_ours_where_it_tells_none() {
        let there = told("Sun, 06 Nov 1994 08:49:37 GMT").now();
        let wanted = Time::parse("1994-11-06T08:49:37Z").expect("a time");
        assert!((0..60).contains(&there.seconds_since(wanted)), "{there}");

        let without = told("soon").now();
        assert!(
            (0..60).contains(&own_now().seconds_since(without)),
            "{without}"
        );
    }
}
