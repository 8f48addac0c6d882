//! Nodes that no longer answer: a port of a pod there is forwarded by nobody, and each try would
//! take all its time.

use std::collections::BTreeMap;
use std::sync::Mutex;

/// So many pods of a node that do not answer, and none that does, make it silent.
const SILENT: usize = 2;

/// How many pods of each node did not answer; none where one did.
#[derive(Debug, Default)]
pub(crate) struct Nodes(Mutex<BTreeMap<String, Option<usize>>>);

impl Nodes {
    /// Notes whether a pod of a node answered.
    pub(crate) fn note(&self, node: &str, has_answered: bool) {
        let Ok(mut nodes) = self.0.lock() else { return };
        let count = nodes.entry(node.to_owned()).or_insert(Some(0));
        *count = count.filter(|_| !has_answered).map(|count| count + 1);
    }

    /// Whether asking another pod of a node is of no use. Of a pod whose node is not known nothing
    /// is.
    pub(crate) fn is_silent(&self, node: &str) -> bool {
        let nodes = self.0.lock();
        let count = nodes
            .ok()
            .and_then(|nodes| nodes.get(node).copied().flatten());
        !node.is_empty() && count.is_some_and(|count| count >= SILENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_silent_when_nothing_on_it_has_answered() {
        let nodes = Nodes::default();
        nodes.note("a", false);
        assert!(!nodes.is_silent("a"));
        nodes.note("a", false);
        assert!(nodes.is_silent("a") && !nodes.is_silent("b"));
        nodes.note("b", true);
        (0..3).for_each(|_| nodes.note("b", false));
        assert!(!nodes.is_silent("b"));
        (0..3).for_each(|_| nodes.note("", false));
        assert!(!nodes.is_silent(""));
    }
}
