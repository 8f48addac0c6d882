//! Which lines count: the same on every input.

use super::judge::{AnswerClass, LineJudgement};
use meshladder_capture::access_log::{AccessRecord, LogField};
use meshladder_text::time::Time;

/// Conditions; a line must meet all that are set, and none of those that are forbidden.
#[derive(Clone, Debug, Default)]
pub struct LineFilter {
    /// What a line must have.
    pub wanted: Terms,
    /// What it must not have.
    pub unwanted: Terms,
    /// Started at this time or later.
    pub since: Option<Time>,
    /// Started before it.
    pub until: Option<Time>,
    /// Only what failed.
    pub failed: bool,
}

/// Of each list one must fit; an empty list says nothing.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    /// Flags; `-` is none.
    pub flags: Vec<String>,
    /// Parts of a cluster's name.
    pub clusters: Vec<String>,
    /// Statuses.
    pub codes: Vec<Codes>,
    /// Starts of paths, or with `*` patterns of whole paths, without the query.
    pub paths: Vec<String>,
    /// Methods.
    pub methods: Vec<String>,
    /// Starts of the upstream's address.
    pub upstreams: Vec<String>,
    /// Request ids.
    pub request_ids: Vec<String>,
    /// Parts of the response code details; `-` is none.
    pub details: Vec<String>,
    /// Parts of the authority.
    pub hosts: Vec<String>,
}

/// Statuses from one to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Codes {
    from: u16,
    to: u16,
}

impl Codes {
    /// Reads `503`, `5xx` or `500-504`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no status: try 503, 5xx or 500-504");
        let number = |text: &str| {
            text.parse::<u16>()
                .ok()
                .filter(|code| *code < 1000)
                .ok_or_else(wrong)
        };
        let lower = text.to_ascii_lowercase();
        if let Some(hundreds) = lower.strip_suffix("xx") {
            let hundreds = number(hundreds)?;
            let from = hundreds
                .checked_mul(100)
                .filter(|from| *from < 1000)
                .ok_or_else(wrong)?;
            return Ok(Self {
                from,
                to: from + 99,
            });
        }
        let (from, to) = lower.split_once('-').unwrap_or((&lower, &lower));
        let codes = Self {
            from: number(from)?,
            to: number(to)?,
        };
        if codes.from > codes.to {
            Err(wrong())
        } else {
            Ok(codes)
        }
    }

    fn has(self, code: u16) -> bool {
        (self.from..=self.to).contains(&code)
    }
}

impl LineFilter {
    /// Whether every line counts.
    pub(super) fn is_open(&self) -> bool {
        let asks = self.wanted.asks() || self.unwanted.asks();
        !asks && !self.failed && self.since.is_none() && self.until.is_none()
    }

    /// Whether a line counts.
    pub fn takes(
        &self,
        record: &AccessRecord<'_>,
        start: Option<Time>,
        judgement: LineJudgement,
    ) -> bool {
        let in_time = |limit: Option<Time>, fits: fn(Time, Time) -> bool| {
            limit.is_none_or(|limit| start.is_some_and(|start| fits(start, limit)))
        };
        (!self.failed || judgement.class == AnswerClass::Failed)
            && in_time(self.since, |start, since| start >= since)
            && in_time(self.until, |start, until| start < until)
            && self
                .wanted
                .checks(record)
                .iter()
                .all(|met| met.unwrap_or(true))
            && !self
                .unwanted
                .checks(record)
                .iter()
                .any(|met| met.unwrap_or(false))
    }
}

impl Terms {
    fn asks(&self) -> bool {
        let texts = [
            &self.flags,
            &self.clusters,
            &self.paths,
            &self.methods,
            &self.upstreams,
            &self.request_ids,
            &self.details,
            &self.hosts,
        ];
        !self.codes.is_empty() || texts.iter().any(|list| !list.is_empty())
    }

    /// Per list whether one of it fits; none for an empty list.
    fn checks(&self, record: &AccessRecord<'_>) -> [Option<bool>; 9] {
        let any = |list: &[String], fits: &dyn Fn(&str) -> bool| {
            (!list.is_empty()).then(|| list.iter().any(|text| fits(text)))
        };
        let flag = |text: &str| {
            if text == "-" {
                record.flags().next().is_none()
            } else {
                record.flags().any(|f| f.eq_ignore_ascii_case(text))
            }
        };
        let part = |field| {
            move |text: &str| {
                if text == "-" {
                    record.get(field).is_empty()
                } else {
                    record.get(field).contains(text)
                }
            }
        };
        let path = || {
            record
                .get(LogField::Path)
                .split(['?', '#'])
                .next()
                .unwrap_or_default()
        };
        let codes = (!self.codes.is_empty())
            .then(|| self.codes.iter().any(|codes| codes.has(record.code())));
        [
            codes,
            any(&self.flags, &flag),
            any(&self.clusters, &part(LogField::Cluster)),
            any(&self.paths, &|pattern| path_fits(pattern, path())),
            any(&self.methods, &|method| {
                record.get(LogField::Method).eq_ignore_ascii_case(method)
            }),
            any(&self.upstreams, &|start| {
                record.get(LogField::UpstreamHost).starts_with(start)
            }),
            any(&self.request_ids, &|id| {
                record.get(LogField::RequestId) == id
            }),
            any(&self.details, &part(LogField::Details)),
            any(&self.hosts, &part(LogField::Authority)),
        ]
    }
}

/// `/api` fits what starts with it; with `*`, which stands for anything, the whole path must fit.
fn path_fits(pattern: &str, path: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else {
        return false;
    };
    let mut last = None;
    for part in parts {
        if let Some(before) = last.replace(part) {
            let Some(at) = rest.find(before) else {
                return false;
            };
            rest = &rest[at + before.len()..];
        }
    }
    last.is_none_or(|last| rest.ends_with(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_numbers_classes_and_ranges() {
        for (text, inside, outside) in [
            ("503", 503, 504),
            ("5xx", 599, 499),
            ("500-504", 504, 505),
            ("0", 0, 1),
        ] {
            let codes = Codes::parse(text).expect(text);
            assert!(codes.has(inside) && !codes.has(outside), "{text}");
        }
        for text in ["", "x", "55xx", "504-500", "5x", "1000"] {
            assert!(Codes::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn paths_fit_by_start_or_by_pattern() {
        for (pattern, path, fits) in [
            ("/api", "/api/v1", true),
            ("/api", "/a", false),
            ("/api/*/cart", "/api/v1/cart", true),
            ("/api/*/cart", "/api/v1/cart/x", false),
            ("*cart*", "/api/cart/x", true),
            ("/a*b*c", "/a1b2c", true),
            ("/a*b*c", "/a1c2b", false),
            ("*", "", true),
        ] {
            assert_eq!(path_fits(pattern, path), fits, "{pattern} {path}");
        }
    }
}
