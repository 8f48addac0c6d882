//! Names that the patterns of a policy are held against.

use std::collections::BTreeSet;

/// Names by how they begin and by how they end, so that a pattern is not held against each of them.
#[derive(Default)]
pub(super) struct Names {
    forward: BTreeSet<String>,
    backward: BTreeSet<String>,
}

impl Names {
    /// These.
    pub(super) fn of(names: impl Iterator<Item = String>) -> Self {
        let forward: BTreeSet<String> = names.collect();
        let backward = forward.iter().map(|name| reversed(name)).collect();
        Self { forward, backward }
    }

    /// Whether one of them matches. "Exact match, prefix match (`abc*`), suffix match (`*abc`) and
    /// presence match (`*`)."
    pub(super) fn has(&self, pattern: &str) -> bool {
        match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
            (Some(end), _) => begins(&self.backward, &reversed(end)),
            (None, Some(start)) => begins(&self.forward, start),
            (None, None) => self.forward.contains(pattern),
        }
    }
}

fn begins(names: &BTreeSet<String>, start: &str) -> bool {
    names
        .range(start.to_owned()..)
        .next()
        .is_some_and(|name| name.starts_with(start))
}

fn reversed(name: &str) -> String {
    name.chars().rev().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_may_end_or_begin_with_a_star() {
        let names = Names::of(["shop", "tools"].into_iter().map(str::to_owned));
        for (pattern, holds) in [
            ("shop", true),
            ("sho", false),
            ("sho*", true),
            ("shop*", true),
            ("shopp*", false),
            ("*ols", true),
            ("*os", false),
            ("*", true),
            ("z*", false),
        ] {
            assert_eq!(names.has(pattern), holds, "{pattern}");
        }
        assert!(!Names::default().has("*"));
    }
}
