//! Whether the traffic that was seen matches the weights that were configured.

use std::collections::{BTreeMap, BTreeSet};

use crate::prometheus::interval::{Interval, deviations, wilson};

mod routes;
mod weights;

pub use weights::{Label, Split, VersionWeight, configured, parse};

/// How sure all intervals together are.
const CONFIDENCE: f64 = 0.95;

/// Requests that the smallest part should have got before its share can be judged.
const EXPECTED: f64 = 10.0;

/// What came of the comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct CanaryJudgement {
    /// One a part, those configured first.
    pub shares: Vec<VersionShare>,
    /// How many requests were seen.
    pub requests: f64,
    /// The verdict.
    pub verdict: CanaryVerdict,
}

/// One part of the traffic.
#[derive(Clone, Debug, PartialEq)]
pub struct VersionShare {
    /// The version, or the service.
    pub name: String,
    /// The configured share; none for one that no weight names.
    pub configured: Option<f64>,
    /// Requests it got.
    pub requests: f64,
    /// Its share of all.
    pub seen: f64,
    /// Where the true share lies.
    pub interval: Interval,
    /// Whether the configured share fits.
    pub fits: bool,
}

/// The verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CanaryVerdict {
    /// No share differs by more than chance explains.
    Matches,
    /// At least one does.
    Differs,
    /// There are too few requests to tell; about so many would do.
    TooFew {
        /// How many.
        needed: f64,
    },
}

impl CanaryJudgement {
    /// Parts that should get requests and got none, though that is no accident.
    pub fn starved(&self) -> impl Iterator<Item = &VersionShare> {
        self.shares
            .iter()
            .filter(|share| !share.fits && share.requests <= 0.0)
    }
}

impl CanaryVerdict {
    /// In a word or two.
    pub fn word(self) -> &'static str {
        match self {
            Self::Matches => "matches",
            Self::Differs => "differs",
            Self::TooFew { .. } => "too few requests",
        }
    }
}

/// Compares weights with counts of requests by part. A difference up to `tolerance` (0.01 is a
/// percentage point) is none: among a million requests even a retry shows.
pub fn judge(
    weights: &[VersionWeight],
    seen: &BTreeMap<String, f64>,
    tolerance: f64,
) -> CanaryJudgement {
    let requests: f64 = seen.values().sum();
    let named: BTreeSet<&str> = weights.iter().map(|part| part.name.as_str()).collect();
    let others = seen.keys().filter(|name| !named.contains(name.as_str()));
    let parts: Vec<(&str, Option<f64>)> = weights
        .iter()
        .map(|part| (part.name.as_str(), Some(part.share)))
        .chain(others.map(|name| (name.as_str(), None)))
        .collect();
    let z = deviations(CONFIDENCE, parts.len());
    let shares: Vec<VersionShare> = parts
        .into_iter()
        .map(|(name, configured)| {
            let hits = seen.get(name).copied().unwrap_or_default();
            let interval = wilson(hits, requests, z);
            let share = if requests > 0.0 { hits / requests } else { 0.0 };
            let wanted = configured.unwrap_or_default();
            let fits = interval.holds(wanted) || (share - wanted).abs() <= tolerance;
            VersionShare {
                name: name.to_owned(),
                configured,
                requests: hits,
                seen: share,
                interval,
                fits,
            }
        })
        .collect();
    let verdict = verdict(&shares, requests);
    CanaryJudgement {
        shares,
        requests,
        verdict,
    }
}

fn verdict(shares: &[VersionShare], requests: f64) -> CanaryVerdict {
    let wanted = shares
        .iter()
        .filter_map(|share| share.configured)
        .filter(|share| *share > 0.0);
    let smallest = wanted.fold(1.0, f64::min);
    let needed = (EXPECTED / smallest).ceil();
    if requests > 0.0 && shares.iter().any(|share| !share.fits) {
        CanaryVerdict::Differs
    } else if requests < needed {
        CanaryVerdict::TooFew { needed }
    } else {
        CanaryVerdict::Matches
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshladder_capture::snapshot::{Builder, DocId};
    use meshladder_mesh::Mesh;

    /// The split of shop/catalog among some objects.
    pub(super) fn split(yaml: &str) -> Result<Split, String> {
        let mut builder = Builder::new();
        builder.add(
            DocId::new("k8s/all.yaml"),
            "all.yaml".to_owned(),
            yaml.as_bytes().to_vec(),
        );
        let snapshot = builder.finish();
        configured(&Mesh::build(&snapshot), "shop", "catalog")
    }

    fn judged(weights: &str, seen: &[(&str, f64)]) -> CanaryJudgement {
        let seen = seen
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count))
            .collect();
        judge(&parse(weights).expect("weights"), &seen, 0.01)
    }

    #[test]
    fn shares_are_judged_by_what_chance_would_do() {
        for (weights, seen, verdict) in [
            (
                "v1=90,v2=10",
                &[("v1", 905.0), ("v2", 95.0)][..],
                CanaryVerdict::Matches,
            ),
            ("v1=90,v2=10", &[("v1", 1000.0)], CanaryVerdict::Differs),
            (
                "v1=90,v2=10",
                &[("v1", 700.0), ("v2", 300.0)],
                CanaryVerdict::Differs,
            ),
            // 0.9^20 is 12 %: it happens.
            (
                "v1=90,v2=10",
                &[("v1", 20.0)],
                CanaryVerdict::TooFew { needed: 100.0 },
            ),
            ("v1=90,v2=10", &[], CanaryVerdict::TooFew { needed: 100.0 }),
            // 0.5^20 is one in a million: too few for the weights, and enough for this.
            ("v1=50,v2=50", &[("v1", 20.0)], CanaryVerdict::Differs),
            // Significant, and half a point: nobody minds.
            (
                "v1=90,v2=10",
                &[("v1", 905_000.0), ("v2", 95_000.0)],
                CanaryVerdict::Matches,
            ),
            // A version that no weight names.
            (
                "v1=100",
                &[("v1", 900.0), ("v3", 100.0)],
                CanaryVerdict::Differs,
            ),
            ("v1=100,v2=0", &[("v1", 900.0)], CanaryVerdict::Matches),
        ] {
            assert_eq!(
                judged(weights, seen).verdict,
                verdict,
                "{weights}: {seen:?}"
            );
        }
    }

    #[test]
    fn what_gets_nothing_is_named() {
        let judgement = judged("v1=90,v2=10", &[("v1", 1000.0)]);
        let starved: Vec<_> = judgement
            .starved()
            .map(|share| share.name.as_str())
            .collect();
        assert_eq!(starved, ["v2"]);
        assert_eq!(
            judged("v1=100,v2=0", &[("v1", 1000.0)]).starved().count(),
            0
        );
    }
}
