//! How often each matcher and each outcome was met, for and against. What was never met was not
//! tested.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{is_short, say};

/// Counters by name.
#[derive(Debug, Default)]
pub(crate) struct Coverage(BTreeMap<String, [u64; 2]>);

impl Coverage {
    /// Counts a matcher that matched or did not.
    pub(crate) fn hit(&mut self, name: &str, matched: bool) {
        if !self.0.contains_key(name) {
            self.0.insert(name.to_owned(), [0, 0]);
        }
        self.0.get_mut(name).expect("it was just put there")[usize::from(!matched)] += 1;
    }

    /// Prints the table, and fails when one of the `matchers` or `outcomes` was never met on one
    /// side. An outcome is met negatively by each other one.
    #[track_caller]
    pub(crate) fn conclude(mut self, title: &str, matchers: &[&str], outcomes: &[&str]) {
        let ends: u64 = outcomes.iter().map(|name| self.count(name)[0]).sum();
        for name in outcomes {
            let [yes, _] = self.count(name);
            self.0.insert((*name).to_owned(), [yes, ends - yes]);
        }
        let mut table = format!("{title}\n{:>10} {:>10}\n", "yes", "no");
        for (name, [yes, no]) in &self.0 {
            writeln!(table, "{yes:>10} {no:>10}  {name}").expect("a String takes all text");
        }
        say(&table);
        let never: Vec<_> = matchers
            .iter()
            .chain(outcomes)
            .filter(|name| self.count(name).contains(&0))
            .collect();
        assert!(
            never.is_empty() || is_short(),
            "{title}: never met on one side: {never:?}"
        );
    }

    fn count(&self, name: &str) -> [u64; 2] {
        self.0.get(name).copied().unwrap_or_default()
    }
}
