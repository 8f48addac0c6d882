//! What was not looked at, in as few lines as there are reasons.

use super::{Report, Verdict};

impl Report {
    /// What could not be read, and then what else is not known; a line for each reason. What leaves
    /// the answer open stands in the answer.
    pub fn gaps(&self) -> Vec<String> {
        let is_open = self.verdict == Verdict::Undecided;
        let unread = self
            .coverage
            .iter()
            .filter(|(_, coverage)| coverage.why().is_some());
        let unread = unread.map(|(need, coverage)| coverage.lack(need));
        let unread: Vec<String> = unread
            .filter(|fact| !is_open || !self.unknown.contains(fact))
            .collect();
        let others = self
            .unknown
            .iter()
            .filter(|fact| !is_open && !unread.contains(fact));
        by_reason(&unread)
            .into_iter()
            .chain(others.cloned())
            .collect()
    }
}

/// Facts that lack for the same reason share it: `pods, services (denied: …)`, `proxies/ (not in
/// what was read)`.
pub fn by_reason(facts: &[String]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for fact in facts {
        let (fact, reason) = fact.split_once(" (").unwrap_or((fact, ""));
        match reasons
            .iter_mut()
            .find(|(other, _)| !reason.is_empty() && *other == reason)
        {
            Some((_, facts)) => facts.push(fact),
            None => reasons.push((reason, vec![fact])),
        }
    }
    let told = reasons.into_iter().map(|(reason, facts)| {
        let reason = if reason.is_empty() {
            String::new()
        } else {
            format!(" ({reason}")
        };
        format!("{}{reason}", facts.join(", "))
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_that_lack_for_one_reason_are_named_together() {
        let facts = [
            "pods (denied: no right)",
            "proxies/ (not-asked)",
            "services (denied: no right)",
            "what led to 503",
        ];
        let told = by_reason(&facts.map(str::to_owned));
        assert_eq!(
            told,
            [
                "pods, services (denied: no right)",
                "proxies/ (not-asked)",
                "what led to 503"
            ]
        );
    }
}
