//! What was not looked at, in as few lines as there are reasons.

use super::{Report, Verdict};
use crate::finding::MissingFact;

impl Report {
    /// What could not be read, and then what else is not known; a line for each reason. What leaves
    /// the answer open stands in the answer.
    pub fn gaps(&self) -> Vec<String> {
        let is_open = self.verdict == Verdict::Undecided;
        let unread = self
            .coverage
            .iter()
            .filter(|(_, coverage)| coverage.why().is_some());
        let unread =
            unread.map(|(need, coverage)| MissingFact::Unread(need.clone(), coverage.clone()));
        let unread: Vec<MissingFact> = unread
            .filter(|fact| !is_open || !self.unknown.contains(fact))
            .collect();
        let others = self
            .unknown
            .iter()
            .filter(|fact| !is_open && !unread.contains(fact));
        by_reason(&unread)
            .into_iter()
            .chain(others.map(ToString::to_string))
            .collect()
    }
}

/// Facts that lack for the same reason share it: `pods, services (denied: …)`, `proxies/ (not in
/// what was read)`.
pub fn by_reason(facts: &[MissingFact]) -> Vec<String> {
    let mut reasons: Vec<(Option<String>, Vec<String>)> = Vec::new();
    for fact in facts {
        let (fact, reason) = fact.parts();
        let same = reasons
            .iter_mut()
            .find(|(other, _)| reason.is_some() && *other == reason);
        match same {
            Some((_, facts)) => facts.push(fact),
            None => reasons.push((reason, vec![fact])),
        }
    }
    let told = reasons.into_iter().map(|(reason, facts)| match reason {
        Some(reason) => format!("{} ({reason})", facts.join(", ")),
        None => facts.join(", "),
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshladder_capture::Kind;
    use meshladder_capture::snapshot::{Coverage, Need, Part};

    #[test]
    fn facts_that_lack_for_one_reason_are_named_together() {
        let denied = |kind| {
            let coverage = Coverage::Denied("no right".to_owned());
            MissingFact::Unread(Need::Objects(kind), coverage)
        };
        let facts = [
            denied(Kind::Pod),
            MissingFact::Unread(Need::Part(Part::Proxies), Coverage::NotAsked),
            denied(Kind::Service),
            "what led to 503".into(),
        ];
        let told = by_reason(&facts);
        assert_eq!(
            told,
            [
                "pods, services (denied: no right)",
                "proxies/ (not in what was read)",
                "what led to 503"
            ]
        );
    }
}
